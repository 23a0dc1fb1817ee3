// SPDX-License-Identifier: Apache-2.0
//
// Segments that are added and removed.

#include <algorithm>
#include <vector>

#include "contract_cases.hpp"
#include "rig.hpp"
#include "transport/segment_table.hpp"

namespace nearfetch::test {
namespace {

constexpr std::uint64_t added_bytes = 3 * 4096;

Rank after(const Job& job) { return (job.rank() + 1) % job.ranks(); }

std::uint64_t add(Job& job, std::uint64_t bytes) {
    const AddedSegment added = job.add_segment(bytes);
    EXPECT_EQ(added.refused, "");
    return added.address;
}

void expect_zeroed(const std::span<std::byte>& memory) {
    EXPECT_EQ(memory.size(), added_bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory.data()) % 4096, 0U);
    EXPECT_TRUE(
        std::all_of(memory.begin(), memory.end(), [](std::byte byte) { return byte == std::byte{0}; }));
}

}  // namespace

void added_segments_are_as_the_first(Job& job) {
    const std::uint64_t first = add(job, added_bytes), second = add(job, added_bytes);
    for (const std::uint64_t address : {first, second}) {
        const std::span<std::byte> mine = job.segment(address);
        expect_zeroed(mine);
        job.barrier();
        EXPECT_EQ(job.segment(address + 100).data(), mine.data() + 100);
        EXPECT_TRUE(job.segment(address + added_bytes).empty());
        const auto transport = job.endpoint();
        EXPECT_EQ(transport->readable(after(job), address + 8), (ByteRange{address, address + added_bytes}));
        EXPECT_TRUE(transport->readable(after(job), address + added_bytes).empty());
        std::byte byte{};
        EXPECT_EQ(transport->start_get(after(job), address + added_bytes, 1, &byte, 1),
                  transport_status::outside);
        put_value(*transport, after(job), address + added_bytes - 8, address + 5);
        EXPECT_EQ(get_value(*transport, after(job), address + added_bytes - 8), address + 5);
        job.atomic(after(job), address + 16, AtomicOp::add, 3, 0);
        job.start_addition(after(job), address + 16, AtomicOp::add, 4);
        job.finish_additions();
        job.barrier();
        EXPECT_EQ(job.atomic(job.rank(), address + 16, AtomicOp::load, 0, 0), 7U);
        std::uint64_t last = 0;
        std::memcpy(&last, mine.data() + added_bytes - 8, 8);
        EXPECT_EQ(last, address + 5);
        job.barrier();
        EXPECT_TRUE(job.is_idle(address));
    }
    job.remove_segment(first);
    EXPECT_TRUE(job.segment(first).empty());
    EXPECT_EQ(job.segment(second).size(), added_bytes);
    EXPECT_NE(error_of([&] { job.atomic(0, first, AtomicOp::load, 0, 0); }), "");
    job.barrier();
    const std::uint64_t third = add(job, added_bytes);
    expect_zeroed(job.segment(third));
    job.barrier();
    for (const std::uint64_t address : {third, second})
        job.remove_segment(address);
    job.barrier();
}

void too_much_memory_is_refused_alike(Job& job) {
    for (const std::uint64_t bytes :
         {SegmentTable<int>::reach_bytes / 2, SegmentTable<int>::reach_bytes + 1, ~std::uint64_t{0}}) {
        const AddedSegment added = job.add_segment(bytes);
        EXPECT_NE(added.refused.find(bytes > SegmentTable<int>::reach_bytes ? "" : " bytes left"),
                  std::string::npos)
            << added.refused;
        EXPECT_FALSE(added.refused.empty());
    }
    job.barrier();
    const std::uint64_t address = add(job, added_bytes);
    expect_zeroed(job.segment(address));
    job.barrier();
    job.remove_segment(address);
    job.barrier();
}

}  // namespace nearfetch::test

// SPDX-License-Identifier: Apache-2.0

// Programs that start very many gets and complete them by one flush: each of them costs the same.

#include <gtest/gtest.h>

#include <array>

#include "../cache/refusing_new.hpp"
#include "window_fixture.hpp"

namespace nearfetch {
namespace {

using testing::allocated_bytes;
using testing::Buffer;
using testing::WindowCacheTest;

constexpr std::size_t gets = 4096;

/// 64 KiB of the target in as many runs; the memory that nearfetch and the rig take meanwhile.
struct ManyGetsTest : WindowCacheTest {
    ManyGetsTest() {
        change_setting(&Settings::index_entries, 2 * gets);
        change_setting(&Settings::read_ahead_bytes, 0);
    }
    std::uint64_t start(std::size_t stride, std::size_t size) {
        rig.transfers.reserve(gets);
        const std::uint64_t before = allocated_bytes;
        for (std::size_t i = 0; i < gets; ++i)
            rig.get(1, i * stride, size, buffer.data() + i * size);
        return allocated_bytes - before;
    }
    /// One run of each transfer is the rig's.
    static constexpr std::uint64_t most_for_each = 512;
    Buffer buffer = Buffer(gets * 16);
};

TEST_F(ManyGetsTest, OfDifferentBytes) {
    EXPECT_LE(start(16, 16), gets * most_for_each);
    EXPECT_EQ(rig.messages, gets);
    rig.flush(1);
    EXPECT_EQ(buffer, bytes(1, 0, gets * 16));
}

TEST_F(ManyGetsTest, OfBytesThatAreReadAhead) {
    change_setting(&Settings::read_ahead_bytes, 4096);
    rig.window.describe_memory(std::array<TargetMemory, 3>{
        {{.extent_bytes = 65536}, {.extent_bytes = 65536}, {.extent_bytes = 65536}}});
    EXPECT_LE(start(16, 16), gets * most_for_each);
    EXPECT_LT(rig.messages, gets / 50);
    rig.flush(1);
    EXPECT_EQ(buffer, bytes(1, 0, gets * 16));
}

TEST_F(ManyGetsTest, OfTheSameBytes) {
    EXPECT_LE(start(0, 16), gets * most_for_each);
    EXPECT_EQ(rig.messages, 1u);
    rig.flush(1);
    for (std::size_t i = 0; i < gets; ++i)
        EXPECT_EQ(Buffer(&buffer[i * 16], &buffer[i * 16] + 16), bytes(1, 0, 16));
}

TEST_F(ManyGetsTest, WithARequestEach) {
    rig.transfers.reserve(gets);
    const std::uint64_t before = allocated_bytes;
    for (std::size_t i = 0; i < gets; ++i)
        rig.get(1, i * 16, 16, buffer.data() + i * 16, i + 1);
    rig.arrive(1);
    for (std::size_t i = 0; i < gets; ++i)
        rig.window.completions().complete_request(1, i + 1, true);
    EXPECT_LE(allocated_bytes - before, gets * most_for_each);
    EXPECT_EQ(buffer, bytes(1, 0, gets * 16));
    for (std::size_t i = 0; i < gets; ++i)
        EXPECT_TRUE(rig.hits(1, i * 16, 16, buffer.data()));
}

TEST_F(ManyGetsTest, WithARequestEachOfBytesThatAreReadAhead) {
    change_setting(&Settings::read_ahead_bytes, 4096);
    rig.window.describe_memory(std::array<TargetMemory, 3>{
        {{.extent_bytes = 65536}, {.extent_bytes = 65536}, {.extent_bytes = 65536}}});
    rig.transfers.reserve(gets);
    const std::uint64_t before = allocated_bytes;
    for (std::size_t i = 0; i < gets; ++i)
        rig.get(1, i * 16, 16, buffer.data() + i * 16, i + 1);
    EXPECT_LT(rig.messages, gets / 50);
    rig.arrive(1);
    for (std::size_t i = 0; i < gets; ++i)
        rig.finish(1, i + 1);
    EXPECT_LE(allocated_bytes - before, gets * most_for_each);
    EXPECT_TRUE(rig.waiting.empty());
    EXPECT_EQ(buffer, bytes(1, 0, gets * 16));
}

TEST_F(ManyGetsTest, Prefetched) {
    const std::uint64_t before = allocated_bytes;
    for (std::size_t i = 0; i < gets; ++i)
        EXPECT_EQ(rig.window.prefetch(1, {i * 16, i * 16 + 16}), 0);
    EXPECT_LE(allocated_bytes - before, gets * most_for_each);
    EXPECT_EQ(counters().prefetches, gets);
}

}  // namespace
}  // namespace nearfetch

// SPDX-License-Identifier: Apache-2.0
//
// The memory of ranks grows with what is allocated, in segments. It shrinks again, and its end is an error.

#include <gtest/gtest.h>

#include <atomic>
#include <nearfetch/pgas.hpp>
#include <optional>
#include <string>
#include <vector>

#include "all_networks.hpp"
#include "no_more_memory.hpp"
#include "pgas/symmetric_heap.hpp"
#include "transport/segment_table.hpp"

namespace nearfetch {
namespace {

constexpr std::uint64_t first_bytes = pgas::SymmetricHeap::first_bytes;

std::uint64_t segment_of(std::uint64_t address) { return address >> SegmentTable<int>::reach_bits; }
GlobalPtr<long> next(GlobalPtr<long> p) { return p.at_rank((rank() + 1) % ranks()); }
GlobalPtr<long> allocate_bytes(std::uint64_t bytes) { return allocate<long>(bytes / sizeof(long)); }

class Growth : public ::testing::TestWithParam<std::tuple<bool, Rank>> {
  protected:
    static LaunchOptions options() {
        LaunchOptions options;
        options.ranks = std::get<1>(GetParam());
        options.cached = std::get<0>(GetParam());
        return options;
    }
};

TEST_P(Growth, MovesNothing) {
    launch_on_all_networks(options(), [] {
        struct Block {
            GlobalPtr<long> memory;
            long* here;
            long last;
        };
        std::vector<Block> blocks;
        for (long n = 1; n <= 12; ++n) {
            const long count = n * 65'536 / 2;  // of up to 3 MiB; 20 MiB in all
            const auto memory = allocate<long>(static_cast<std::size_t>(count));
            EXPECT_EQ(memory.local()[1] + memory.local()[count - 2], 0);
            put(next(memory), n);
            put(next(memory) + count - 1, -n);
            blocks.push_back({memory, memory.local(), count - 1});
        }
        barrier();
        EXPECT_GT(segment_of(blocks.back().memory.address()), segment_of(blocks.front().memory.address()));
        for (long n = 1; const Block& block : blocks) {
            EXPECT_EQ(block.memory.local(), block.here);
            EXPECT_EQ(block.here[0], n);
            EXPECT_EQ(get(next(block.memory) + block.last), -n);
            ++n;
        }
        barrier();
    });
}

TEST_P(Growth, TakesSegmentsThatLastLonger) {
    launch(options(), [] {
        std::uint64_t last = 0, total = 0;
        for (int n = 0; n < 400; ++n) {
            last = segment_of(allocate_bytes(256 << 10).address());
            total += 256 << 10;
        }
        EXPECT_EQ(total, 25 * first_bytes);
        EXPECT_LE(last, 22u) << "the size of a segment follows the total";
        barrier();
    });
}

TEST_P(Growth, EveryOperationWorksInAnAddedSegment) {
    launch_on_all_networks(options(), [] {
        allocate_bytes(first_bytes);
        const auto a = allocate<long>(1000);
        ASSERT_GT(segment_of(a.address()), 0u);
        std::vector<long> values(1000);
        for (long i = 0; i < 1000; ++i)
            values[static_cast<std::size_t>(i)] = i;
        put<long>(next(a), values);
        put_strided<long>(next(a), 2, std::vector<long>{-1, -2, -3});
        barrier();
        EXPECT_EQ(a.local()[4], -3);
        if (rank() == 0) {
            EXPECT_EQ(atomic_fetch_add(next(a) + 999, 1L), 999);
        }
        barrier();
        EXPECT_EQ(a.local()[999], rank() == 1 % ranks() ? 1000 : 999);
        std::vector<long> found(3);
        get_strided<long>(next(a) + 1, 2, found);
        EXPECT_EQ(found, (std::vector<long>{1, 3, 5}));
        unordered_add(next(a) + 10, 5L);
        barrier();
        EXPECT_EQ(a.local()[10], 15);
        Transfer transfer = start_get<long>(next(a) + 20, found);
        transfer.wait();
        EXPECT_EQ(found[2], 22);
        EXPECT_EQ(on((rank() + 1) % ranks(), [a] { return a.at_rank(rank()).local()[6]; }), 6);
        barrier();
    });
}

TEST_P(Growth, NoAccessReachesFromOneSegmentToAnother) {
    launch(options(), [] {
        allocate_bytes(first_bytes);
        const auto a = allocate_bytes(first_bytes);
        const auto last = next(a) + static_cast<std::ptrdiff_t>(first_bytes / 8) - 1;
        EXPECT_EQ(get(last), 0);
        std::vector<long> two(2);
        EXPECT_THROW(get<long>(last, two), Error);
        EXPECT_THROW(get(next(a) - 1), Error);
        EXPECT_THROW(put(next(GlobalPtr<long>(0, first_bytes)), 1L), Error);
        EXPECT_THROW(atomic_load(last + 1), Error);
        prefetch(last, 1000);
        EXPECT_EQ(get(last), 0);
        barrier();
    });
}

TEST_P(Growth, FreedMemoryIsUsedAgainAndEmptySegmentsGo) {
    launch_on_all_networks(options(), [] {
        const auto kept = allocate<long>(10);
        put(next(kept), 3);
        for (std::uint64_t bytes = first_bytes; bytes < 2 * first_bytes; bytes += first_bytes / 8) {
            // Larger than ever before: no earlier segment has room.
            const auto a = allocate_bytes(bytes + 4096);
            EXPECT_LE(segment_of(a.address()), 2u);
            EXPECT_EQ(get(next(a)), 0);
            put(next(a), 7);
            // Read ahead, and perhaps on its way while the memory goes.
            prefetch(next(a) + 1000, 5000);
            free(a);
        }
        EXPECT_EQ(get(next(kept)), 3);
        barrier();
    });
}

TEST_P(Growth, DroppedMemoryIsUsedAgain) {
    launch_on_all_networks(options(), [] {
        std::optional<std::uint64_t> before;
        for (int n = 0; n < 30; ++n) {
            const std::uint64_t address = detail::allocate_droppable(first_bytes / 4 * 3);
            const auto a = GlobalPtr<long>(rank(), address);
            EXPECT_EQ(a.local()[5], 0);
            barrier();
            put(next(a) + 5, n);
            if (before) detail::drop(*before, first_bytes / 4 * 3);
            before = address;
            EXPECT_LE(segment_of(address), 2u);
        }
        barrier();
    });
}

TEST_P(Growth, GoesOnBesideTasks) {
    launch(options(), [] {
        const auto a = allocate<long>(10'000);
        std::atomic<bool> goes_on = true;
        barrier();
        Task task = spawn([&] {
            for (long round = 0; goes_on.load(); ++round) {
                for (long i = 0; i < 10'000; i += 97)
                    put(next(a) + i, i + round);
                release();
                for (long i = 0; i < 10'000; i += 97)
                    ASSERT_EQ(get(next(a) + i), i + round);
            }
        });
        std::vector<GlobalPtr<long>> blocks;
        for (int n = 0; n < 10; ++n) {
            blocks.push_back(allocate_bytes(first_bytes + 8 * static_cast<std::uint64_t>(n)));
            put(next(blocks.back()), 5);
            if (n % 3 == 2) free(blocks[static_cast<std::size_t>(n - 1)]);
        }
        goes_on = false;
        task.join();
        EXPECT_EQ(get(next(blocks.back())), 5);
        barrier();
    });
}

std::string refusal_of(std::uint64_t bytes) {
    try {
        allocate_bytes(bytes);
    } catch (const Error& error) {
        return error.what();
    }
    return "";
}

TEST_P(Growth, WhatNoMemoryHasIsRefusedInAllRanks) {
    launch(options(), [] {
        const auto a = allocate<long>(1000);
        put(next(a) + 9, 4);
        const std::uint64_t most = ~std::uint64_t{0} / 8 * 8;
        for (const std::uint64_t bytes : {std::uint64_t{1} << 43, std::uint64_t{1} << 46, most}) {
            const std::string text = refusal_of(bytes);
            // 8000 bytes with their padding.
            EXPECT_NE(text.find("no memory for " + std::to_string(bytes) +
                                " bytes in each rank (each has 8000 bytes in use"),
                      std::string::npos)
                << text;
            EXPECT_NE(text.find("): free() allocations"), std::string::npos) << text;
        }
        EXPECT_EQ(get(next(a) + 9), 4);
        const auto b = allocate_bytes(2 * first_bytes);
        put(next(b), 6);
        barrier();
        EXPECT_EQ(b.local()[0], 6);
        barrier();
    });
}

TEST_P(Growth, TheEndOfMemoryLosesNothing) {
    if (!NoMoreMemory::is_possible) GTEST_SKIP() << "with a sanitizer";
    launch(options(), [] {
        const auto a = allocate_bytes(first_bytes / 2);
        put(next(a) + 9, 4);
        barrier();
        std::optional<NoMoreMemory> limit;
        if (rank() == 0) limit.emplace();
        barrier();
        const std::string text = refusal_of(3 * first_bytes);
        EXPECT_NE(text.find("ulimit"), std::string::npos) << text;
        EXPECT_NE(text.find(std::to_string(first_bytes / 2) + " bytes in use and "), std::string::npos)
            << text;
        put(next(a) + 8, 5);
        EXPECT_NE(refusal_of(3 * first_bytes), "");
        barrier();
        limit.reset();
        barrier();
        EXPECT_EQ(get(next(a) + 9) + get(next(a) + 8), 9);
        const auto b = allocate_bytes(3 * first_bytes);
        EXPECT_EQ(get(next(b) + 100), 0);
        barrier();
    });
}

TEST_P(Growth, DifferentSizesAreNamed) {
    if (std::get<1>(GetParam()) == 1) GTEST_SKIP() << "one rank agrees with itself";
    launch(options(), [] {
        try {
            allocate_bytes(rank() == 0 ? 2 * first_bytes : 3 * first_bytes);
            ADD_FAILURE() << "they differ";
        } catch (const CollectiveError& error) {
            EXPECT_NE(std::string(error.what()).find("allocate"), std::string::npos) << error.what();
        }
        const auto a = allocate_bytes(2 * first_bytes);
        put(next(a), 1);
        barrier();
        EXPECT_EQ(a.local()[0], 1);
        barrier();
    });
}

INSTANTIATE_TEST_SUITE_P(Caches, Growth, ::testing::Combine(::testing::Bool(), ::testing::Values(1, 2, 4)),
                         [](const auto& test) {
                             return std::string(std::get<0>(test.param) ? "cached" : "uncached") + "_" +
                                    std::to_string(std::get<1>(test.param));
                         });

}  // namespace
}  // namespace nearfetch

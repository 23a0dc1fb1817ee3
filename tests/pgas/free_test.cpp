// SPDX-License-Identifier: Apache-2.0
//
// Allocations that are freed: their memory is used again, zeroed, and nobody sees what was in it.

#include <gtest/gtest.h>

#include <nearfetch/pgas.hpp>
#include <random>

#include "all_networks.hpp"
#include "pgas/symmetric_heap.hpp"
#include "transport/segment_table.hpp"

namespace nearfetch {
namespace {

class Free : public ::testing::TestWithParam<std::tuple<bool, Rank>> {
  protected:
    static void on_all_networks(const std::function<void()>& main) {
        const auto [cached, ranks] = GetParam();
        launch_on_all_networks({.ranks = ranks, .cached = cached}, main);
    }
};

TEST_P(Free, MemoryIsUsedAgainAndZero) {
    on_all_networks([] {
        const auto before = allocate<long>(10);
        const auto a = allocate<long>(1000);
        const auto behind = allocate<long>(10);
        const auto next = [](GlobalPtr<long> p) { return p.at_rank((rank() + 1) % ranks()); };
        put(next(before) + 9, 1);
        put(next(behind), 2);
        for (long i = 0; i < 1000; ++i)
            next(a)[i] = i + 1;
        free(a);
        const auto b = allocate<long>(500);
        const auto c = allocate<long>(400);
        EXPECT_EQ(b.address(), a.address());
        EXPECT_LT(c.address(), behind.address());
        for (long i = 0; i < 500; ++i) {
            EXPECT_EQ(get(next(b) + i), 0);
            EXPECT_EQ(b.local()[i], 0);
        }
        EXPECT_EQ(get(next(before) + 9), 1);
        EXPECT_EQ(get(next(behind)), 2);
        barrier();
    });
}

// A put that follows the allocation at once is not lost, and what was read ahead of the old one is not seen.
TEST_P(Free, NothingOldIsReadUnderReadAhead) {
    on_all_networks([] {
        constexpr long count = 2000;
        for (long round = 1; round <= 6; ++round) {
            const auto a = allocate<long>(count).at_rank((rank() + 1) % ranks());
            for (long i = 0; i < count; ++i)
                a[i] = round * count + i;
            barrier();
            // Ends early, with more read ahead than was read.
            const long read = round % 2 == 0 ? count : count / 3 + round;
            for (long i = 0; i < read; ++i)
                ASSERT_EQ(get(a + i), round * count + i);
            prefetch(a + read, static_cast<std::size_t>(count - read));
            free(a);
        }
    });
}

TEST_P(Free, ManySizesInAnyOrder) {
    on_all_networks([] {
        std::mt19937 dice(7);  // the same in all ranks
        struct Block {
            GlobalPtr<long> memory;
            long value;
        };
        std::vector<Block> blocks;
        std::size_t total_bytes = 0;
        for (long n = 1; n < 150; ++n) {
            if (blocks.size() == 8 || (!blocks.empty() && dice() % 3 == 0)) {
                const std::size_t which = dice() % blocks.size();
                EXPECT_EQ(get(blocks[which].memory), blocks[which].value);
                free(blocks[which].memory);
                blocks.erase(blocks.begin() + static_cast<std::ptrdiff_t>(which));
            }
            const std::size_t count = dice() % 100'000;
            total_bytes += count * sizeof(long);
            const auto memory = allocate<long>(count + 1).at_rank((rank() + 1) % ranks());
            EXPECT_EQ(get(memory + static_cast<std::ptrdiff_t>(count)), 0);
            EXPECT_LT(memory.address(), 3 * SegmentTable<int>::reach_bytes) << "memory is used again";
            put(memory, n);
            blocks.push_back({memory, n});
        }
        EXPECT_GT(total_bytes, 3 * pgas::SymmetricHeap::first_bytes);
        barrier();
    });
}

TEST_P(Free, BadOnesAreErrors) {
    on_all_networks([] {
        const auto a = allocate<long>(10);
        const auto empty = allocate<long>(0);
        const auto b = allocate<long>(10);
        free(empty);
        const auto refused = [](GlobalPtr<long> p) {
            try {
                free(p);
            } catch (const Error& error) {
                return std::string(error.what());
            }
            return std::string();
        };
        EXPECT_EQ(refused(a + 8), "free: address " + std::to_string(a.address() + 64) +
                                      " (no allocation begins there: it was freed before, or allocate() has "
                                      "not returned it): free what allocate() has returned, once");
        EXPECT_NE(refused(empty), "");
        EXPECT_NE(refused(a + (1 << 20)), "");
        EXPECT_NE(refused(GlobalPtr<long>()), "") << "null; " << a.address();
        put(b, 5);
        free(a.at_rank(0));
        EXPECT_NE(refused(a), "");
        EXPECT_EQ(get(b), 5);
        barrier();
        if (ranks() == 1) return;
        EXPECT_THROW(free(rank() == 0 ? b : b + 1), CollectiveError);
    });
}

INSTANTIATE_TEST_SUITE_P(Caches, Free, ::testing::Combine(::testing::Bool(), ::testing::Values(1, 2, 4)),
                         [](const auto& test) {
                             return std::string(std::get<0>(test.param) ? "cached" : "uncached") + "_" +
                                    std::to_string(std::get<1>(test.param));
                         });

}  // namespace
}  // namespace nearfetch

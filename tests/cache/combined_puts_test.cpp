// SPDX-License-Identifier: Apache-2.0
#include "cache/page_cache/combined_puts.hpp"

#include <gtest/gtest.h>

#include <map>
#include <numeric>
#include <random>
#include <vector>

namespace nearfetch {
namespace {

constexpr std::uint64_t page = CombinedPuts::page_bytes;

std::vector<std::byte> bytes_from(unsigned first, std::uint64_t size) {
    std::vector<std::byte> bytes(size);
    for (std::uint64_t i = 0; i < size; ++i)
        bytes[i] = static_cast<std::byte>(first + i);
    return bytes;
}

/// A run and its expected bytes.
struct Taken {
    ByteRange range;
    std::vector<std::byte> bytes;
    friend bool operator==(const Taken&, const Taken&) = default;
};

std::vector<Taken> take(CombinedPuts& puts, Rank target, std::uint64_t room) {
    std::vector<std::byte> to(room);
    std::vector<Taken> taken;
    const std::byte* from = to.data();
    for (const ByteRange& run : puts.take(target, to)) {
        taken.push_back({run, {from, from + run.size()}});
        from += run.size();
    }
    return taken;
}

class CombinedPutsTest : public ::testing::Test {
  protected:
    void add(Rank target, std::uint64_t offset, std::uint64_t size, unsigned first) {
        puts.add(target, {offset, offset + size}, bytes_from(first, size).data());
    }
    CombinedPuts puts{3, 4 * page};
};

TEST_F(CombinedPutsTest, NeighboursBecomeOneRunAndTheLastValueWins) {
    add(1, 8, 8, 0);
    add(1, 24, 8, 16);
    add(1, 16, 8, 8);
    EXPECT_EQ(take(puts, 1, 100), (std::vector<Taken>{{{8, 32}, bytes_from(0, 24)}}));
    EXPECT_FALSE(puts.any());
    add(1, 8, 8, 0);
    add(1, 10, 2, 100);
    const auto taken = take(puts, 1, 100);
    ASSERT_EQ(taken.size(), 1u);
    EXPECT_EQ(taken[0].bytes[1], std::byte{1});
    EXPECT_EQ(taken[0].bytes[2], std::byte{100});
    EXPECT_EQ(taken[0].bytes[4], std::byte{4});
}

TEST_F(CombinedPutsTest, RunsCrossPagesAndNothingFillsHoles) {
    add(2, page - 4, 8, 0);
    add(2, page + 5, 1, 50);
    add(2, 3 * page, 2, 60);
    EXPECT_EQ(puts.free_pages(), 1u);
    EXPECT_EQ(take(puts, 2, 100), (std::vector<Taken>{{{page - 4, page + 4}, bytes_from(0, 8)},
                                                      {{page + 5, page + 6}, bytes_from(50, 1)},
                                                      {{3 * page, 3 * page + 2}, bytes_from(60, 2)}}));
    EXPECT_EQ(puts.free_pages(), 4u);
}

TEST_F(CombinedPutsTest, TargetsAreApart) {
    add(0, 0, 4, 0);
    add(2, 0, 4, 20);
    EXPECT_FALSE(puts.any(1));
    EXPECT_EQ(take(puts, 2, 100), (std::vector<Taken>{{{0, 4}, bytes_from(20, 4)}}));
    EXPECT_TRUE(puts.any());
    EXPECT_TRUE(puts.any(0));
    EXPECT_FALSE(puts.any(2));
}

TEST_F(CombinedPutsTest, WhatHasNoRoomStays) {
    add(1, 0, 10, 0);
    add(1, 2 * page, 10, 100);
    EXPECT_EQ(take(puts, 1, 4), (std::vector<Taken>{{{0, 4}, bytes_from(0, 4)}}));
    EXPECT_EQ(take(puts, 1, 8), (std::vector<Taken>{{{4, 10}, bytes_from(4, 6)},
                                                    {{2 * page, 2 * page + 2}, bytes_from(100, 2)}}));
    EXPECT_EQ(take(puts, 1, 100), (std::vector<Taken>{{{2 * page + 2, 2 * page + 10}, bytes_from(102, 8)}}));
    EXPECT_EQ(puts.free_pages(), 4u);
}

TEST_F(CombinedPutsTest, AMessageHasABoundedNumberOfRuns) {
    for (std::uint64_t i = 0; i < 2 * page; ++i)
        add(1, 2 * i, 1, static_cast<unsigned>(i));
    std::size_t runs = 0, messages = 0;
    for (; puts.any(1); ++messages) {
        const auto taken = take(puts, 1, 8 * page);
        EXPECT_LE(taken.size(), CombinedPuts::most_runs);
        for (const Taken& run : taken) {
            EXPECT_EQ(run.range, (ByteRange{2 * runs, 2 * runs + 1}));
            EXPECT_EQ(run.bytes[0], static_cast<std::byte>(runs));
            ++runs;
        }
    }
    EXPECT_EQ(runs, 2 * page);
    EXPECT_EQ(messages, 2u);
}

TEST_F(CombinedPutsTest, ReadsWhatIsThereWhole) {
    add(1, page - 2, 4, 7);
    std::vector<std::byte> to(4);
    EXPECT_TRUE(puts.read(1, {page - 2, page + 2}, to.data()));
    EXPECT_EQ(to, bytes_from(7, 4));
    EXPECT_TRUE(puts.read(1, {page - 1, page + 1}, to.data()));
    EXPECT_EQ(to[0], std::byte{8});
    EXPECT_FALSE(puts.read(1, {page - 3, page + 1}, to.data()));
    EXPECT_FALSE(puts.read(1, {page + 1, page + 3}, to.data()));
    EXPECT_FALSE(puts.read(0, {page - 2, page + 2}, to.data()));
}

TEST_F(CombinedPutsTest, OverlapIsKnownToTheByte) {
    add(1, 100, 4, 0);
    EXPECT_TRUE(puts.any(1, {103, 104}));
    EXPECT_FALSE(puts.any(1, {104, 200}));
    EXPECT_FALSE(puts.any(1, {0, 100}));
    EXPECT_TRUE(puts.any(1, {0, ~std::uint64_t{0}}));
    EXPECT_FALSE(puts.any(1, {104, ~std::uint64_t{0}}));
    EXPECT_FALSE(puts.any(2, {0, ~std::uint64_t{0}}));
}

TEST_F(CombinedPutsTest, WhatIsDiscardedDoesNotLeave) {
    add(1, 0, 8, 0);
    puts.discard(1, {2, 4});
    EXPECT_EQ(take(puts, 1, 100),
              (std::vector<Taken>{{{0, 2}, bytes_from(0, 2)}, {{4, 8}, bytes_from(4, 4)}}));
    add(1, 0, 8, 0);
    puts.discard(1, {0, ~std::uint64_t{0}});
    EXPECT_EQ(take(puts, 1, 100), std::vector<Taken>());
    EXPECT_FALSE(puts.any(1));
}

/// Against a map of bytes.
TEST(CombinedPutsRandom, EveryByteLeavesOnceWithItsLastValue) {
    for (std::uint64_t seed = 1; seed <= 200; ++seed) {
        std::mt19937_64 random(seed);
        CombinedPuts puts(3, 8 * page);
        std::vector<std::map<std::uint64_t, std::byte>> wanted(3);
        for (int step = 0; step < 300; ++step) {
            const auto target = static_cast<Rank>(random() % 3);
            auto& bytes = wanted[static_cast<std::size_t>(target)];
            const std::uint64_t size = 1 + random() % (random() % 8 == 0 ? 2500 : 40);
            const std::uint64_t offset = random() % (16 * page);
            const ByteRange range{offset, offset + size};
            const auto here = static_cast<std::uint64_t>(
                std::distance(bytes.lower_bound(range.begin), bytes.lower_bound(range.end)));
            if (random() % 12 == 0) {
                puts.discard(target, range);
                bytes.erase(bytes.lower_bound(range.begin), bytes.lower_bound(range.end));
            } else if (CombinedPuts::pages_of(range) <= puts.free_pages()) {
                const auto from = bytes_from(static_cast<unsigned>(random()), size);
                puts.add(target, range, from.data());
                for (std::uint64_t i = 0; i < size; ++i)
                    bytes[offset + i] = from[i];
            } else {
                ASSERT_EQ(puts.any(target, range), here != 0) << "seed " << seed;
                std::vector<std::byte> seen(size);
                const bool all = puts.read(target, range, seen.data());
                ASSERT_EQ(all, here == size) << "seed " << seed;
                for (std::uint64_t i = 0; all && i < size; ++i)
                    ASSERT_EQ(seen[i], bytes.at(offset + i)) << "seed " << seed;
                std::uint64_t last_end = 0;
                for (const Taken& run : take(puts, target, 1 + random() % (4 * page))) {
                    ASSERT_TRUE(last_end == 0 || run.range.begin > last_end) << "seed " << seed;
                    last_end = run.range.end;
                    for (std::uint64_t at = run.range.begin; at < run.range.end; ++at) {
                        ASSERT_EQ(run.bytes[at - run.range.begin], bytes.at(at)) << "seed " << seed;
                        bytes.erase(at);
                    }
                }
            }
        }
        for (Rank target = 0; target < 3; ++target) {
            std::size_t left = 0;
            while (puts.any(target))
                for (const Taken& run : take(puts, target, 8 * page))
                    left += run.range.size();
            ASSERT_EQ(left, wanted[static_cast<std::size_t>(target)].size()) << "seed " << seed;
        }
        ASSERT_EQ(puts.free_pages(), 8u);
    }
}

}  // namespace
}  // namespace nearfetch

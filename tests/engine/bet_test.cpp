// SPDX-License-Identifier: Apache-2.0
#include "engine/bet.hpp"

#include <gtest/gtest.h>

#include "engine/clock.hpp"

namespace nearfetch {
namespace {

std::uint64_t ticks_of(double ns) { return static_cast<std::uint64_t>(ns / ns_per_tick()); }

/// One round in which each miss took `network_ns` plus `own_ns` of ours, beside `hits` of `hit_bytes` in all.
void play(Bet& bet, double network_ns, double own_ns, std::uint64_t hits, std::uint64_t hit_bytes = 0) {
    while (!bet.round_over())
        bet.missed(ticks_of(network_ns), ticks_of(own_ns));
    bet.settle(hits, hit_bytes);
}

TEST(Bet, SlowNetworkIsWorthAColdCache) {
    Bet bet;
    for (int round = 0; round < 60; ++round) {
        play(bet, 20'000, 1'000, 0);
        EXPECT_TRUE(bet.caching()) << round;
    }
}

TEST(Bet, AStreamWithoutReuseIsLeftAloneInTheEnd) {
    Bet bet;
    int rounds = 0;
    for (; bet.caching() && rounds < 1000; ++rounds)
        play(bet, 20'000, 1'000, 0);
    EXPECT_GT(rounds, 60);
    EXPECT_LT(rounds, 70);
    EXPECT_TRUE(bet.paused());
}

TEST(Bet, SomebodyElsesTimeSliceIsNotOurWork) {
    Bet bet;
    // A miss in thirty is interrupted for 4 ms: uncapped that would be four times what the network takes.
    for (int i = 0; !bet.round_over(); ++i)
        bet.missed(ticks_of(30'000), ticks_of(i % 30 == 7 ? 4'000'000 : 500));
    bet.settle(0, 0);
    EXPECT_TRUE(bet.caching());
}

TEST(Bet, SharedMemoryNeighbourWithoutReuseIsLeftAlone) {
    Bet bet;
    play(bet, 60, 200, 0);
    EXPECT_TRUE(bet.paused());
    std::uint64_t left_alone = 0;
    while (!bet.caching())
        ++left_alone;
    EXPECT_EQ(left_alone, 8192u);
    play(bet, 60, 200, 0);
    left_alone = 0;
    while (!bet.caching())
        ++left_alone;
    EXPECT_EQ(left_alone, 32768u) << "a bet that is lost again costs a longer pause";
}

TEST(Bet, ASlowTargetIsNotLeftAloneForLong) {
    Bet bet;
    for (int round = 0; round < 100; ++round) {
        play(bet, 1'000'000, 200'000, 0);
        std::uint64_t left_alone = 0;
        while (!bet.caching())
            ++left_alone;
        ASSERT_LE(left_alone, 510u) << "half a second of gets that take a millisecond each";
    }
}

TEST(Bet, HitsThatPayKeepEvenACheapTarget) {
    Bet bet;
    play(bet, 600, 200, 10'000);
    EXPECT_TRUE(bet.caching());
}

TEST(Bet, LongCopiesCountAgainstHits) {
    Bet bet;
    const double copy_ns = 1e6 * hit_cost().copy_ticks_per_byte * ns_per_tick();
    // Each hit saves less network time than its own copy takes.
    play(bet, copy_ns / 2, copy_ns, 1000, 1000u * 1'000'000u);
    EXPECT_TRUE(bet.paused());
}

TEST(Bet, AWonRoundForgetsEarlierLosses) {
    Bet bet;
    play(bet, 60, 200, 0);
    while (!bet.caching()) {
    }
    play(bet, 20'000, 200, 1000);
    play(bet, 60, 200, 0);
    std::uint64_t left_alone = 0;
    while (!bet.caching())
        ++left_alone;
    EXPECT_EQ(left_alone, 8192u);
}

TEST(Bet, ACopyIsFeltBySizeAndNetwork) {
    Bet bet;
    EXPECT_FALSE(bet.copy_is_felt(1 << 20)) << "nothing is known yet";
    const auto copy_ticks = static_cast<std::uint64_t>(65536 * hit_cost().copy_ticks_per_byte);
    for (int i = 0; i < 100; ++i)
        bet.observed(65536, copy_ticks * 10);
    EXPECT_TRUE(bet.copy_is_felt(65536));
    for (int i = 0; i < 100; ++i)
        bet.observed(65536, copy_ticks * 1000);
    EXPECT_FALSE(bet.copy_is_felt(65536));
}

}  // namespace
}  // namespace nearfetch

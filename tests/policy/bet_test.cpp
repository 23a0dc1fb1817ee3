// SPDX-License-Identifier: Apache-2.0
#include "policy/bet.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "base/ticks.hpp"

namespace nearfetch {
namespace {

std::uint64_t ticks_of(double ns) { return static_cast<std::uint64_t>(ns / ns_per_tick()); }

/// One round in which each miss took `network_ns` plus `own_ns` of ours, beside `hits` of `hit_bytes` in all.
void play(Bet& bet, double network_ns, double own_ns, std::uint64_t hits, std::uint64_t hit_bytes = 0,
          std::uint64_t forgotten = 0) {
    while (!bet.round_over())
        bet.missed(ticks_of(network_ns), ticks_of(own_ns));
    bet.settle(hits, hit_bytes, forgotten);
}

TEST(Bet, SlowNetworkIsWorthAColdCache) {
    Bet bet;
    for (int round = 0; round < 6; ++round) {
        play(bet, 20'000, 1'000, 0);
        EXPECT_TRUE(bet.caching()) << round;
    }
}

TEST(Bet, AStreamWithoutReuseIsLeftAloneInTheEnd) {
    Bet bet;
    int rounds = 0;
    for (; bet.caching() && rounds < 1000; ++rounds)
        play(bet, 20'000, 1'000, 0);
    EXPECT_EQ(rounds, 7);
    EXPECT_TRUE(bet.watching());
}

TEST(Bet, WatchingIsForSlowNetworksOnly) {
    Bet slow, fast, nothing_to_find;
    play(slow, 20'000, 12'000, 0);
    EXPECT_TRUE(slow.watching());
    play(fast, 600, 300, 0);
    EXPECT_TRUE(fast.asleep());
    play(nothing_to_find, 20'000, 12'000, 0, 0, Bet::each_epoch);
    EXPECT_TRUE(nothing_to_find.asleep());
}

// A loss of 5 %, which is none of a cold cache if each epoch begins with one.
TEST(Bet, WhereNothingOutlivesItsEpochOneLostRoundIsEnough) {
    Bet bet;
    play(bet, 20'000, 1'000, 0, 0, Bet::each_epoch);
    EXPECT_TRUE(bet.asleep());
    Bet hardly_felt;
    for (int round = 0; round < 20; ++round)
        play(hardly_felt, 20'000, 100, 0, 0, Bet::each_epoch);
    EXPECT_TRUE(hardly_felt.caching());
}

TEST(Bet, WhereAllIsForgottenBeforeEachGetOneLostRoundIsEnoughToo) {
    Bet before_each, before_most;
    play(before_each, 20'000, 1'000, 0, 0, 32);
    EXPECT_TRUE(before_each.asleep());
    play(before_most, 20'000, 1'000, 0, 0, 31);
    EXPECT_TRUE(before_most.caching());
    // A hit is a get, too.
    Bet with_hits;
    play(with_hits, 20'000, 12'000, 1, 8, 32);
    EXPECT_TRUE(with_hits.watching());
}

TEST(Bet, WhereARoundWasWonEpochsWithoutReuseAreToBeMany) {
    Bet bet;
    play(bet, 20'000, 1'000, 100, 800, Bet::each_epoch);
    int rounds = 0;
    for (; bet.caching() && rounds < 1000; ++rounds)
        play(bet, 20'000, 1'000, 0, 0, Bet::each_epoch);
    EXPECT_EQ(rounds, 7);
}

TEST(Bet, GetsOfWhichNothingCanBeKeptRestTwiceAsLongEachTime) {
    Bet bet;
    const auto in_vain = [&](int gets) {
        bet.wake();
        for (int i = 0; i < gets; ++i)
            bet.missed_in_vain(ticks_of(5'000));
        bet.completed(ticks_of(1'000) * static_cast<std::uint64_t>(gets), 0);
        return bet.rests_from_vain();
    };
    const auto pause = [&] {
        std::uint64_t gets = 0;
        while (bet.passes())
            ++gets;
        return gets;
    };
    EXPECT_FALSE(in_vain(127));
    bet.missed(ticks_of(20'000), 0);
    EXPECT_FALSE(in_vain(127)) << "not in a row";
    EXPECT_TRUE(bet.caching());
    EXPECT_TRUE(in_vain(1));
    EXPECT_TRUE(bet.asleep());
    EXPECT_NEAR(bet.network_per_get_ticks(), static_cast<double>(ticks_of(6'000)), 10);
    EXPECT_EQ(pause(), 128u);
    EXPECT_TRUE(in_vain(1000));
    EXPECT_EQ(pause(), 1000u);
    EXPECT_TRUE(in_vain(128));
    EXPECT_EQ(pause(), 2000u);
    for (int i = 0; i < 20; ++i)
        EXPECT_TRUE(in_vain(128));
    EXPECT_EQ(pause(), 65536u);
    bet.wake();
    play(bet, 20'000, 100, 1000, 8000);
    EXPECT_TRUE(in_vain(128));
    EXPECT_EQ(pause(), 128u) << "hits have been of use since";
}

TEST(Bet, GivingUpIsForGood) {
    Bet bet;
    bet.give_up();
    for (int i = 0; i < 100'000; ++i)
        ASSERT_TRUE(bet.passes());
    EXPECT_TRUE(bet.asleep());
}

TEST(Bet, SomebodyElsesTimeSliceIsNotOurWork) {
    Bet bet;
    // A miss in thirty is interrupted for 4 ms: uncapped that would be four times what the network takes.
    for (int i = 0; !bet.round_over(); ++i)
        bet.missed(ticks_of(30'000), ticks_of(i % 30 == 7 ? 4'000'000 : 500));
    bet.settle(0, 0, 0);
    EXPECT_TRUE(bet.caching());
}

/// How many gets pass until the target is looked at again.
std::uint64_t pause_of(Bet& bet) {
    std::uint64_t gets = 0;
    while (bet.passes())
        ++gets;
    bet.wake();
    EXPECT_TRUE(bet.caching());
    return gets;
}

TEST(Bet, SharedMemoryNeighbourWithoutReuseIsLeftAlone) {
    Bet bet;
    play(bet, 60, 200, 0);
    EXPECT_FALSE(bet.caching());
    // 32 misses cost 32 x 200 ns; that is to be half a percent of what the gets of the pause take: 21,333 x
    // 60 ns.
    const std::uint64_t gets = pause_of(bet);
    EXPECT_GT(gets, 20'000u);
    EXPECT_LT(gets, 23'000u);
}

TEST(Bet, ASlowTargetIsNotLeftAloneForLong) {
    Bet bet;
    play(bet, 100'000, 12'000, 0);
    // 32 x 12 us are half a percent of 768 x 100 us.
    const std::uint64_t gets = pause_of(bet);
    EXPECT_GT(gets, 740u);
    EXPECT_LT(gets, 800u);
}

TEST(Bet, WhereAllIsForgottenBeforeEachGetPausesGetTwiceAsLong) {
    Bet each_get, each_epoch;
    std::vector<std::uint64_t> pauses;
    for (int i = 0; i < 10; ++i) {
        play(each_get, 20'000, 1'000, 0, 0, 32);
        pauses.push_back(pause_of(each_get));
        play(each_epoch, 20'000, 1'000, 0, 0, Bet::each_epoch);
        // 32 us are half a percent of 320 x 20 us.
        EXPECT_NEAR(static_cast<double>(pause_of(each_epoch)), 320, 5) << "hits are possible";
    }
    EXPECT_NEAR(static_cast<double>(pauses[0]), 320, 5);
    for (std::size_t i = 1; i < 8; ++i)
        EXPECT_EQ(pauses[i], 2 * pauses[i - 1]);
    EXPECT_EQ(pauses[8], 65536u);
    EXPECT_EQ(pauses[9], 65536u);
    play(each_get, 20'000, 1'000, 100, 800);
    play(each_get, 20'000, 12'000, 0, 0, 32);
    EXPECT_LT(pause_of(each_get), 5000u) << "hits have been of use since";
}

TEST(Bet, WatchingAdmitsTwoRoundsAtOnceAndThenWhatIsPaidFor) {
    Bet bet;
    play(bet, 100'000, 12'000, 0);
    ASSERT_TRUE(bet.watching());
    const auto admitted = [&bet](std::uint64_t passed, std::uint64_t hits) {
        int count = 0;
        while (bet.may_admit(passed, hits))
            ++count;
        return count;
    };
    EXPECT_EQ(admitted(0, 0), 64);
    // A 32nd of what a round costs is half a percent of what 768 / 32 gets take, and a hit saves one get.
    EXPECT_NEAR(admitted(240, 0), 10, 1);
    EXPECT_NEAR(admitted(240, 1), 200 / 24, 1);
    EXPECT_EQ(admitted(1'000'000, 1), 64) << "no more than that is saved up";
}

TEST(Bet, HitsThatPayKeepEvenACheapTarget) {
    Bet bet;
    play(bet, 600, 200, 10'000);
    EXPECT_TRUE(bet.caching());
}

TEST(Bet, HitsThatAreLookedForCostWhatTheyTake) {
    Bet mru, looked_for;
    for (int i = 0; i < 10'000; ++i)
        looked_for.hit_further(looked_for.looks_further() ? ticks_of(900) : 0);
    play(mru, 600, 200, 10'000);
    play(looked_for, 600, 200, 10'000);
    EXPECT_TRUE(mru.caching());
    EXPECT_FALSE(looked_for.caching()) << "the network is faster";
    pause_of(looked_for);
    play(looked_for, 600, 200, 10'000);
    EXPECT_TRUE(looked_for.caching()) << "these were at hand";
}

TEST(Bet, HitsSaveWhatGetsOfTheirSizeTake) {
    Bet bet;
    for (int i = 0; i < 100; ++i)
        bet.observed(8, ticks_of(10));
    // Misses read ahead, and take 100 times as long.
    play(bet, 1'000, 300, 1'000, 8'000);
    EXPECT_FALSE(bet.caching());
}

TEST(Bet, WhatReadingAheadTakesLongerIsLost) {
    Bet bet;
    const auto miss_ahead = [&] {
        bet.observed(4096, ticks_of(15'000));
        bet.missed_read_ahead(8, 4096, ticks_of(15'000), 0);
    };
    while (!bet.round_over())
        miss_ahead();
    bet.settle(0, 0, 0);
    EXPECT_TRUE(bet.caching()) << "what a plain get takes is not known";
    for (int i = 0; i < 100; ++i)
        bet.observed(8, ticks_of(10'000));
    while (!bet.round_over())
        miss_ahead();
    bet.settle(0, 0, 0);
    EXPECT_TRUE(bet.watching());
    // A third of 15 us is lost, of plain gets of 10 us.
    EXPECT_NEAR(bet.plain_per_get_ticks() * ns_per_tick(), 10'000, 100);
    EXPECT_NEAR(bet.ours_per_get_ticks() * ns_per_tick(), 15'000, 100);
    // Half a percent of what the gets of the pause take.
    EXPECT_NEAR(static_cast<double>(pause_of(bet)), 32 * 5'000 / (0.005 * 10'000), 100);
}

TEST(Bet, NowAndThenNothingIsReadAheadEverMoreRarely) {
    Bet bet;
    std::vector<int> plain;
    for (int i = 1; i <= 1100; ++i)
        if (!bet.may_read_ahead()) plain.push_back(i);
    EXPECT_EQ(plain, (std::vector{16, 48, 112, 240, 496, 752, 1008}));
}

TEST(Bet, HitsInPiecesAreSettledWithoutMisses) {
    Bet quick, slow;
    for (int i = 0; i < 100; ++i) {
        quick.observed(128, ticks_of(600));
        slow.observed(128, ticks_of(20'000));
    }
    for (Bet* const bet : {&quick, &slow}) {
        while (!bet->round_over())
            bet->hit_in_runs(128, ticks_of(1'500));
        bet->settle(0, 0, 0);
    }
    EXPECT_TRUE(quick.asleep()) << "the network is faster";
    EXPECT_TRUE(slow.caching());
}

TEST(Bet, BytesOnTheirWaySaveWhatOneGetMoreTakes) {
    // Blocks of 4 KiB for 8 bytes each: a start of 500 ns, and 100 hits on the way that take 120 ns of ours
    // each. Plain gets take 30 ns to start; on the quick network no more, on the slow one 20 us for each
    // message.
    for (const double message_ns : {0.0, 20'000.0}) {
        Bet bet;
        bet.missed(ticks_of(30), ticks_of(100), 8);
        while (!bet.round_over()) {
            bet.missed(ticks_of(500), ticks_of(200));
            for (int i = 0; i < 100; ++i)
                bet.hit_pending(8, ticks_of(120));
            bet.completed(ticks_of(message_ns), 0);
        }
        bet.settle(0, 0, 0);
        EXPECT_EQ(bet.caching(), message_ns != 0);
    }
}

TEST(Bet, ManyQuickGetsGoByUntilSomeAreComplete) {
    constexpr std::uint64_t many = 64;
    const auto start_many = [](Bet& bet, double start_ns) {
        for (std::uint64_t i = 0; i < many; ++i) {
            EXPECT_FALSE(bet.lets_go_by()) << i;
            bet.missed(ticks_of(start_ns), ticks_of(100));
        }
    };
    Bet quick;
    start_many(quick, 40);
    EXPECT_TRUE(quick.lets_go_by()) << "what completing them takes is not known";
    for (std::uint64_t i = 0; i < many; ++i)
        quick.went_by();
    quick.completed(ticks_of(2 * many * 20), 0);
    start_many(quick, 40);
    EXPECT_TRUE(quick.lets_go_by()) << "40 and 20 ns are less than four hits take";
    quick.completed(ticks_of(many * 20), 0);
    quick.settle(0, 0, 0);
    EXPECT_NEAR(quick.network_per_get_ticks() * ns_per_tick(), 60, 2) << "without those that went by";

    Bet slow_to_complete;
    start_many(slow_to_complete, 40);
    slow_to_complete.completed(ticks_of(many * 1000), 0);
    start_many(slow_to_complete, 40);
    EXPECT_FALSE(slow_to_complete.lets_go_by());

    Bet slow_to_start;
    start_many(slow_to_start, 400);
    EXPECT_FALSE(slow_to_start.lets_go_by());

    Bet with_requests;
    start_many(with_requests, 40);
    with_requests.request_completed(ticks_of(20), 0);
    EXPECT_FALSE(with_requests.lets_go_by()) << "one of them is complete";
}

TEST(Bet, WhatStartsTakeInALoopIsTriedNowAndThen) {
    Bet bet;
    std::vector<int> rounds_with_tries;
    for (int round = 0; round < 40; ++round) {
        int tries = 0;
        while (bet.tries_start()) {
            ++tries;
            bet.started(8, ticks_of(90));
        }
        if (tries != 0) {
            EXPECT_EQ(tries, 32);
            rounds_with_tries.push_back(round);
        }
        // Misses that start in 1 us each say nothing of those.
        for (int i = 0; i < 4; ++i)
            bet.missed(ticks_of(1'000), 0, 8);
        for (int i = 0; i < 100; ++i)
            bet.hit_pending(8, ticks_of(60));
        bet.completed(ticks_of(100), 0);
        bet.settle(0, 0, 0);
        EXPECT_NEAR(bet.plain_per_get_ticks() * ns_per_tick(), round == 0 ? 1'000 : 150, 30);
    }
    EXPECT_EQ(rounds_with_tries, (std::vector{1, 3, 7, 15, 31}));
}

TEST(Bet, StartsAreNotTriedWhereTheNetworkIsSlow) {
    Bet bet;
    for (int round = 0; round < 40; ++round) {
        for (int i = 0; i < 4; ++i)
            bet.missed(ticks_of(1'000), 0, 8);
        for (int i = 0; i < 100; ++i)
            bet.hit_pending(8, ticks_of(60));
        bet.completed(ticks_of(20'000), 0);
        bet.settle(0, 0, 0);
        EXPECT_FALSE(bet.tries_start());
    }
}

TEST(Bet, ManyRangesTakeTheirTime) {
    Bet few, many;
    for (Bet* const bet : {&few, &many}) {
        while (!bet->round_over())
            bet->missed(ticks_of(600), 0);
        bet->completed(0, ticks_of(400'000), bet == &many ? 10'000 : 0);
        bet->settle(0, 0, 0);
    }
    const auto own_ns = [](const Bet& bet) { return 32 * (bet.ours_per_get_ticks() * ns_per_tick() - 600); };
    EXPECT_NEAR(own_ns(few), 50'000, 1'000) << "most of it was somebody else's time slice";
    EXPECT_NEAR(own_ns(many), 400'000, 1'000);
}

TEST(Bet, LongCopiesTakeWhatWasMeasured) {
    constexpr std::uint64_t size = 65'536;
    Bet bet;
    // Of three copies' time, at the rate that copies in the processor's cache have here, a hit saves two.
    const double network_ns = 3 * static_cast<double>(size) * hit_cost().copy_ticks_per_byte * ns_per_tick();
    const auto play_long = [&] { play(bet, network_ns, 100, 1'000, 1'000 * size); };
    EXPECT_TRUE(bet.caching());
    play_long();
    EXPECT_TRUE(bet.caching());
    for (int i = 0; i < 100; ++i)
        bet.copied(size, ticks_of(1.2 * network_ns));
    EXPECT_FALSE(bet.hits_pay(1, size));
    EXPECT_TRUE(bet.hits_pay(1, 64));
    play_long();
    EXPECT_TRUE(bet.asleep());
}

TEST(Bet, LongCopiesCountAgainstHits) {
    Bet bet;
    const double copy_ns = 1e6 * hit_cost().copy_ticks_per_byte * ns_per_tick();
    // Each hit saves less network time than its own copy takes.
    play(bet, copy_ns / 2, copy_ns, 1000, 1000u * 1'000'000u);
    EXPECT_FALSE(bet.caching());
}

TEST(Bet, AWonRoundForgetsEarlierLosses) {
    Bet bet;
    while (bet.caching())
        play(bet, 20'000, 1'000, 0);
    pause_of(bet);
    play(bet, 20'000, 1'000, 1000);
    for (int round = 0; round < 6; ++round) {
        play(bet, 20'000, 1'000, 0);
        ASSERT_TRUE(bet.caching()) << round;
    }
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

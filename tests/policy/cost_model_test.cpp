// SPDX-License-Identifier: Apache-2.0
#include "policy/cost_model.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "base/ticks.hpp"
#include "policy/put_cost_model.hpp"

namespace nearfetch {
namespace {

/// A tick is a nanosecond; a hit takes 20, and its copy 0.03 a byte.
class CostModelTest : public ::testing::Test {
  protected:
    CostModelTest() { simulated_ticks = &clock_; }
    ~CostModelTest() override { simulated_ticks = nullptr; }

    /// An interval in which each miss took `network` plus `own` ticks, beside `hits` of `hit_bytes` in all.
    static Balance play(CostModel& cost, std::uint64_t network, std::uint64_t own, std::uint64_t hits = 0,
                        std::uint64_t hit_bytes = 0) {
        while (!cost.is_interval_over())
            cost.record_miss(8, network, own);
        return cost.end_interval(hits, hit_bytes);
    }

  private:
    SimulatedTicks clock_{};
};

TEST_F(CostModelTest, MissesCostOurWork) {
    CostModel cost;
    const Balance balance = play(cost, 1000, 300);
    EXPECT_EQ(balance.accesses, 32);
    EXPECT_EQ(balance.plain, 32'000);
    EXPECT_EQ(balance.saved, 0);
    EXPECT_EQ(balance.spent, 32 * 300);
    EXPECT_EQ(cost.network_per_get(), 1000);
    EXPECT_EQ(cost.plain_per_get(), 1000);
    EXPECT_EQ(cost.cached_per_get(), 1300);
}

TEST_F(CostModelTest, HitsSaveTheNetworksTime) {
    CostModel cost;
    const Balance balance = play(cost, 1000, 300, 68, 68 * 100);
    EXPECT_EQ(balance.accesses, 100);
    EXPECT_EQ(balance.saved, 68'000);
    EXPECT_NEAR(balance.spent, 32 * 300 + 68 * 23, 1e-6);
    EXPECT_EQ(cost.plain_per_get(), 1000);
}

TEST_F(CostModelTest, CompletionsCountForWhatTheyComplete) {
    CostModel cost;
    for (int i = 0; i < 32; ++i)
        cost.record_miss(8, 100, 0);
    for (int i = 0; i < 32; ++i)
        cost.record_bypassed();
    cost.record_completion(6400, 640, 0, 0);
    const Balance balance = cost.end_interval(0, 0);
    EXPECT_EQ(balance.plain, 32 * 100 + 3200) << "half of it was of bypassed gets";
    EXPECT_EQ(balance.spent, 640);
}

TEST_F(CostModelTest, AHitSavesNoMoreThanALoneGetOfItsSizeTook) {
    CostModel cost;
    for (int i = 0; i < 100; ++i)
        cost.record_lone_get(8, 100);
    const Balance balance = play(cost, 1000, 300, 100, 800);
    EXPECT_NEAR(balance.saved, 100 * 100, 1);
}

TEST_F(CostModelTest, LargerHitsThanMissesSaveWhatTheirSizeTakes) {
    CostModel cost;
    for (int i = 0; i < 100; ++i) {
        cost.record_lone_get(8, 1000);
        cost.record_lone_get(8192, 3000);
    }
    EXPECT_NEAR(play(cost, 1000, 300, 10, 10 * 8192).saved, 10 * 3000, 1);
    EXPECT_NEAR(play(cost, 500, 300, 10, 10 * 8192).saved, 10 * 1500, 1) << "gets travel two by two";
    EXPECT_NEAR(play(cost, 1000, 300, 10, 10 * 20'000).saved, 10 * 3000, 1) << "as the next smaller size";
}

TEST_F(CostModelTest, WhatGetsOutsideOfTheSampleCostIsNotTheSamples) {
    CostModel cost;
    play(cost, 1000, 300);
    cost.record_completion(0, 0, 0, 0);
    for (int i = 0; i < 100; ++i) {
        cost.record_left_out(30);
        cost.record_completion(1000, 50, 0, 0);
    }
    const Balance balance = cost.end_interval(0, 0);
    EXPECT_EQ(balance.spent, 0);
    EXPECT_EQ(balance.spent_on_them, 100 * 80);
}

TEST_F(CostModelTest, GetsOutsideOfTheSampleEndAnInterval) {
    CostModel cost;
    play(cost, 1000, 300);
    for (int i = 0; i < 512; ++i) {
        EXPECT_FALSE(cost.is_interval_over());
        cost.record_left_out(30);
    }
    ASSERT_TRUE(cost.is_interval_over());
    const Balance balance = cost.end_interval(0, 0);
    EXPECT_EQ(balance.accesses, 0);
    EXPECT_EQ(balance.left_out, 512);
    EXPECT_EQ(balance.loss(), 512 * 30);
    EXPECT_EQ(balance.plain_each(), 1000) << "as seen before";
    Balance all;
    all.add(balance);
    EXPECT_EQ(all.accesses, 512);
    EXPECT_EQ(all.plain, 512'000);
}

TEST_F(CostModelTest, WhatARegionTakesLongerIsSpent) {
    CostModel cost;
    for (int i = 0; i < 100; ++i) {
        cost.record_lone_get(8, 10'000);
        cost.record_lone_get(4096, 15'000);
    }
    while (!cost.is_interval_over())
        cost.record_region_miss(8, 4096, 15'000, 0);
    const Balance balance = cost.end_interval(0, 0);
    EXPECT_NEAR(balance.spent, 32 * 5000, 100);
    EXPECT_NEAR(cost.plain_per_get(), 10'000, 10);
    EXPECT_NEAR(cost.cached_per_get(), 15'000, 10);
}

TEST_F(CostModelTest, OneOf64MissesFetchesNoRegion) {
    CostModel cost;
    std::vector<int> plain;
    for (int i = 1; i <= 200; ++i)
        if (!cost.may_fetch_region()) plain.push_back(i);
    EXPECT_EQ(plain, (std::vector{64, 128, 192}));
}

TEST_F(CostModelTest, SlowAndPendingHitsEndAnIntervalToo) {
    CostModel cost;
    for (int i = 0; i < 100; ++i)
        cost.record_lone_get(128, 600);
    for (int i = 0; i < 16; ++i) {
        EXPECT_FALSE(cost.is_interval_over());
        cost.record_slow_hit(128, 1500);
        cost.record_pending_hit(128, 100);
    }
    ASSERT_TRUE(cost.is_interval_over());
    const Balance balance = cost.end_interval(0, 0);
    EXPECT_EQ(balance.accesses, 32);
    EXPECT_NEAR(balance.saved, 32 * 600, 1);
    EXPECT_EQ(balance.spent, 16 * 1600);
}

TEST_F(CostModelTest, SomebodyElsesTimeSliceIsNotOurWork) {
    CostModel cost;
    while (!cost.is_interval_over())
        cost.record_miss(8, 30'000, 4'000'000);
    EXPECT_EQ(cost.end_interval(0, 0).spent, 32 * 50'000);
    for (int i = 0; i < 32; ++i)
        cost.record_miss(8, 600, 0);
    cost.record_completion(0, 400'000, 10'000, 0);
    EXPECT_EQ(cost.end_interval(0, 0).spent, 400'000) << "many ranges take their time";
}

TEST_F(CostModelTest, SizesThatWereNotMeasuredAreLikeTheNextSmallerOne) {
    CostModel cost;
    EXPECT_EQ(cost.network_ticks(8), 0);
    cost.record_lone_get(1024, 40'000);
    cost.record_lone_get(64, 20'000);
    EXPECT_EQ(cost.network_ticks(500), 20'000);
    EXPECT_EQ(cost.network_ticks(4000), 40'000);
    EXPECT_EQ(cost.network_ticks(8), 20'000) << "there is no smaller one";
}

TEST_F(CostModelTest, ACopyIsExpensiveByTheNetworksTime) {
    CostModel cost;
    EXPECT_FALSE(cost.is_copy_expensive(65536)) << "nothing is known yet";
    for (int i = 0; i < 100; ++i)
        cost.record_lone_get(65536, 20'000);
    EXPECT_TRUE(cost.is_copy_expensive(65536)) << "1,966 of 20,000 ticks";
    for (int i = 0; i < 100; ++i)
        cost.record_lone_get(65536, 2'000'000);
    EXPECT_FALSE(cost.is_copy_expensive(65536));
}

TEST_F(CostModelTest, LongCopiesTakeWhatWasMeasured) {
    CostModel cost;
    EXPECT_NEAR(cost.hit_ticks(65536), 20 + 0.03 * 65536, 1e-6);
    for (int i = 0; i < 100; ++i)
        cost.record_copy(65536, 40'000);
    EXPECT_NEAR(cost.hit_ticks(65536), 20 + 40'000, 100);
    EXPECT_NEAR(cost.hit_ticks(64), 20 + 0.03 * 64, 1e-6);
}

/// What 32 combined puts save, less what they cost, where a put alone takes `alone` ticks, a copy `copy`, and
/// sending them `send`.
double put_gain(std::uint64_t alone, std::uint64_t copy, std::uint64_t send) {
    PutCostModel cost;
    while (!cost.is_known())
        cost.record_alone(alone);
    while (!cost.is_interval_over())
        cost.record_combined(copy);
    cost.record_sent(send);
    const Balance balance = cost.end_interval();
    return balance.saved - balance.spent;
}

TEST_F(CostModelTest, CombiningSavesCallsAndCostsCopiesAndMessages) {
    EXPECT_EQ(put_gain(3000, 30, 3000), 32 * 3000 - 32 * (20 + 30) - 3000) << "one message for 32 puts";
    EXPECT_LT(put_gain(3000, 30, 96'000), 0) << "as many messages as puts";
    EXPECT_LT(put_gain(30, 30, 30), 0) << "a put is no more than a copy";
}

TEST_F(CostModelTest, ColdMemoryIsNoMeasureOfCopies) {
    PutCostModel cost;
    while (!cost.is_known())
        cost.record_alone(180);
    for (int n = 0; n < 8; ++n) {
        for (int i = 0; i < 64; ++i) {
            const std::uint64_t takes = i != 0 ? 50 : n == 0 ? 2200 : 150;
            cost.record_combined(cost.should_time() ? takes : 0);
        }
        cost.record_sent(1000);
        const Balance balance = cost.end_interval();
        EXPECT_GT(balance.saved, balance.spent) << n;
    }
}

TEST_F(CostModelTest, ASlowMinuteIsNoMeasureOfPuts) {
    PutCostModel cost;
    for (int n = 1; n <= 48; ++n)
        cost.record_alone(n % 8 != 0 ? 300 : 30);
    EXPECT_EQ(cost.alone_ticks(), 30);
}

TEST_F(CostModelTest, CopiesAtAllPlacesOfABatchAreTimed) {
    PutCostModel cost;
    std::vector<int> timed(8);
    for (int put = 0; put < 8 * 8 * 31; ++put) {
        const bool is_timed = cost.should_time();
        if (is_timed) ++timed[static_cast<std::size_t>(put % 8)];
        cost.record_combined(is_timed ? 50 : 0);
    }
    EXPECT_EQ(timed, std::vector<int>(8, 8));
}

}  // namespace
}  // namespace nearfetch

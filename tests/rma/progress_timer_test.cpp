// SPDX-License-Identifier: Apache-2.0
#include "rma/progress_timer.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

namespace nearfetch {
namespace {

TEST(ProgressTimer, ARankThatSpinsEntersTheLibrary) {
    ProgressTimer timer(100, 100);
    std::uint64_t entries = 0;
    const std::uint64_t begin = steady_ns();
    while (steady_ns() < begin + 20'000'000)
        entries += timer.step();
    EXPECT_GE(entries, 2u);
    EXPECT_LE(entries, (steady_ns() - begin) / 99'000 + 1) << "at most one per interval";
}

TEST(ProgressTimer, SlowStepsAreAllLookedAt) {
    ProgressTimer timer(100, 100);
    timer.step();
    std::uint64_t entries = 0;
    for (int i = 0; i < 40; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        entries += timer.step();
    }
    // The first looks find out that the steps are slow; from then on each step enters.
    EXPECT_GE(entries, 40u - 17u);
}

TEST(ProgressTimer, NothingToDoRightAfterAnotherEntry) {
    ProgressTimer timer(1'000'000, 1'000'000);
    timer.entered();
    std::uint64_t entries = 0;
    for (int i = 0; i < 1000; ++i)
        entries += timer.step();
    EXPECT_EQ(entries, 0u);
}

/// Time that only goes on when it is told to.
class ProgressTimerThatWaits : public testing::Test {
  protected:
    ~ProgressTimerThatWaits() override { simulated_ticks = nullptr; }
    /// How long the program goes on by steps of 100 ns until it is time.
    std::uint64_t next_entry() {
        const std::uint64_t begin = clock_.now;
        do
            clock_.now += 100;
        while (!timer_.step());
        return clock_.now - begin;
    }
    void enter(std::uint64_t took) {
        if (timer_.entered_for_others(took)) timer_.found_nothing(700);
    }
    /// Many intervals, in which nobody asks for anything.
    void be_quiet(int intervals) {
        for (int i = 0; i < intervals; ++i) {
            next_entry();
            enter(720);
        }
    }

  private:
    SimulatedTicks clock_{1'000'000, 0};
    SimulatedTicks* const installed_ = simulated_ticks = &clock_;

  protected:
    ProgressTimer timer_{20, 500};
};

TEST_F(ProgressTimerThatWaits, IntervalsGrowToAShareOfTheTimeInWhichNobodyAsks) {
    next_entry();
    enter(9000);  // the first one, of which nothing is known
    be_quiet(30);
    EXPECT_LT(next_entry(), 30'000u) << "not before 32 of them";
    be_quiet(100);
    const std::uint64_t later = next_entry();
    EXPECT_GT(later, 50'000u);
    be_quiet(500);
    EXPECT_LE(next_entry(), 500'000u + 6400);
    EXPECT_GE(next_entry(), 500'000u);
    enter(3000);
    EXPECT_LT(next_entry(), 30'000u) << "somebody has asked";
}

TEST_F(ProgressTimerThatWaits, OnlyTheFirstEntriesAreDoubled) {
    std::uint32_t doubled = 0;
    for (int i = 0; i < 100; ++i) {
        next_entry();
        if (!timer_.entered_for_others(9000)) continue;
        ++doubled;
        timer_.found_nothing(700);
    }
    EXPECT_EQ(doubled, ProgressTimer::entries_to_learn);
}

TEST_F(ProgressTimerThatWaits, OthersAreServedWhereWhatFindsNothingGivesTheProcessorAway) {
    for (int i = 0; i < 1000; ++i) {
        EXPECT_LT(next_entry(), 30'000u);
        const std::uint64_t took = i % 2 == 0 ? 1'000'000 : 3000;
        if (timer_.entered_for_others(took)) timer_.found_nothing(1'000'000);
    }
}

TEST_F(ProgressTimerThatWaits, OthersThatAskAllTheTimeAreServedAllTheTime) {
    for (int i = 0; i < 1000; ++i) {
        EXPECT_LT(next_entry(), 30'000u);
        enter(9000);  // no entry but the second one of each pair finds nothing
    }
}

}  // namespace
}  // namespace nearfetch

// SPDX-License-Identifier: Apache-2.0
#include "policy/circuit_breaker.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "base/ticks.hpp"

namespace nearfetch {
namespace {

using State = CircuitBreaker::State;

/// An interval of 32 accesses that take `plain` ticks each without a cache, of which caching loses `loss`
/// each (or gains, if that is negative).
Balance interval(double plain, double loss) {
    return {.accesses = 32, .plain = 32 * plain, .saved = 0, .spent = 32 * loss};
}
Balance gain(double plain) { return {.accesses = 32, .plain = 32 * plain, .saved = 32 * plain, .spent = 32}; }

/// A tick is a nanosecond: 10 of them go unnoticed.
class CircuitBreakerTest : public ::testing::Test {
  protected:
    CircuitBreakerTest() { simulated_ticks = &clock_; }
    ~CircuitBreakerTest() override { simulated_ticks = nullptr; }

    static CircuitBreaker closed() {
        CircuitBreaker breaker;
        breaker.resume();
        return breaker;
    }
    /// Intervals until it opens.
    static int intervals_to_open(double plain, double loss) {
        CircuitBreaker breaker = closed();
        for (int n = 1; n <= 1000; ++n) {
            breaker.record(interval(plain, loss));
            if (breaker.is_open()) return n;
        }
        return 0;
    }
    /// Accesses that are bypassed until it is time to resume.
    static std::uint64_t backoff(CircuitBreaker& breaker) {
        std::uint64_t accesses = 0;
        while (breaker.bypass())
            ++accesses;
        breaker.resume();
        return accesses;
    }

  private:
    SimulatedTicks clock_{};
};

TEST_F(CircuitBreakerTest, ClosesAtTheFirstAccess) {
    CircuitBreaker breaker;
    EXPECT_EQ(breaker.state(), State::untried);
    EXPECT_FALSE(breaker.bypass());
    breaker.resume();
    EXPECT_EQ(breaker.state(), State::closed);
}

TEST_F(CircuitBreakerTest, OpensWhenTheLossOf64AccessesIsSpent) {
    EXPECT_EQ(intervals_to_open(100, 300), 1) << "shared memory: 96 of 64 accesses' time";
    EXPECT_EQ(intervals_to_open(1000, 300), 7) << "32 x 300 ticks each, of 64 x 1000";
    EXPECT_EQ(intervals_to_open(4000, 400), 21);
}

TEST_F(CircuitBreakerTest, WhatNobodyNoticesDecidesNothing) {
    EXPECT_EQ(intervals_to_open(50, 10), 0) << "10 ns an access";
    EXPECT_NE(intervals_to_open(50, 11), 0);
    EXPECT_EQ(intervals_to_open(20'000, 600), 0) << "3 %";
    EXPECT_NE(intervals_to_open(20'000, 601), 0);
}

TEST_F(CircuitBreakerTest, AGainRefillsTheBudget) {
    CircuitBreaker breaker = closed();
    for (int n = 0; n < 100; ++n) {
        for (int lost = 0; lost < 6; ++lost)
            breaker.record(interval(1000, 300));
        ASSERT_EQ(breaker.state(), State::closed);
        breaker.record(gain(1000));
    }
}

TEST_F(CircuitBreakerTest, BacksOffUntilSamplingTakesASmallShare) {
    CircuitBreaker breaker = closed();
    breaker.record(interval(100, 300));
    ASSERT_TRUE(breaker.is_open());
    EXPECT_EQ(backoff(breaker), 256u) << "what it lost was in its budget";
    const auto backoff_after = [&](const Balance& balance) {
        EXPECT_TRUE(breaker.is_half_open());
        breaker.record(balance);
        EXPECT_TRUE(breaker.is_open());
        return backoff(breaker);
    };
    EXPECT_EQ(backoff_after(interval(100, 300)), 4800u) << "32 x 300 ticks are 2 % of what 4,800 x 100 take";
    EXPECT_EQ(backoff_after(interval(1000, 100)), 9600u) << "twice as long as the last one";
    Balance left_out = interval(100, 300);
    left_out.left_out = 200;
    left_out.spent_on_them = 200 * 200;
    EXPECT_EQ(backoff_after(left_out), 24'800u);
    EXPECT_EQ(backoff_after(interval(100, 30'000)), 65'536u);
    EXPECT_EQ(backoff_after(interval(1000, 100)), 65'536u);
    breaker.record(gain(1000));
    while (!breaker.is_open())
        breaker.record(interval(100, 300));
    EXPECT_EQ(backoff(breaker), 256u) << "a gain begins anew";
}

TEST_F(CircuitBreakerTest, AfterAGainOfTheSampleTheOtherRangesMayCostAsMuch) {
    CircuitBreaker breaker = closed();
    breaker.record(interval(100, 300));
    backoff(breaker);
    for (int n = 0; n < 3; ++n) {
        breaker.record(interval(1000, 300));
        backoff(breaker);
    }
    breaker.record(gain(1000));
    ASSERT_EQ(breaker.state(), State::closed);
    int intervals = 0;
    while (!breaker.is_open()) {
        breaker.record(interval(1000, 300));
        if (++intervals == 5) breaker.record(gain(1000));
    }
    EXPECT_EQ(intervals, 3 * 8 + 7) << "eight times what the sample cost, and 64 accesses' time";
}

TEST_F(CircuitBreakerTest, WhatIsReadComesIntoTheSample) {
    CircuitBreaker breaker = closed();
    breaker.record(interval(100, 300));
    backoff(breaker);
    int sampled = 0;
    for (std::uint64_t line = 0; line < 8000; ++line) {
        sampled += breaker.samples(64 * line) ? 1 : 0;
        EXPECT_EQ(breaker.samples(64 * line), breaker.samples(64 * line + 63));
    }
    EXPECT_NEAR(sampled, 1000, 100);
    for (std::uint64_t line = 0; line < 100; ++line) {
        int rounds = 0;
        for (; !breaker.samples(64 * line); ++rounds) {
            ASSERT_LT(rounds, 8);
            breaker.record({.left_out = 512, .spent_on_them = 10, .known_each = 1000});
            ASSERT_TRUE(breaker.is_half_open()) << "nobody notices that";
        }
    }
}

TEST_F(CircuitBreakerTest, AnOpenOneFollowsOneThatHasGained) {
    CircuitBreaker gained = closed(), other = closed();
    for (CircuitBreaker* each : {&gained, &other})
        each->record(interval(100, 300));
    backoff(gained);
    gained.record(interval(1000, 300));
    backoff(gained);
    gained.record(gain(1000));
    ASSERT_EQ(other.state(), State::open);
    other.follow(gained);
    int intervals = 0;
    for (; !other.is_open(); ++intervals)
        other.record(interval(1000, 300));
    EXPECT_EQ(intervals, 8 + 7) << "it may cost as much as the one that has gained";
    EXPECT_EQ(backoff(other), 512u) << "it goes on as it was";
}

TEST_F(CircuitBreakerTest, HalfOpenHasNoBudget) {
    CircuitBreaker breaker = closed();
    breaker.record(interval(100, 300));
    backoff(breaker);
    breaker.record(interval(10'000, 200));
    EXPECT_TRUE(breaker.is_half_open()) << "2 %";
    breaker.record(interval(10'000, 400));
    EXPECT_TRUE(breaker.is_open());
}

TEST_F(CircuitBreakerTest, AccessesAreCountedAtOnceToo) {
    CircuitBreaker breaker = closed();
    breaker.record(interval(100, 300));
    breaker.bypass(200);
    EXPECT_EQ(breaker.remaining(), 56u);
    breaker.bypass(1000);
    EXPECT_EQ(breaker.remaining(), 0u);
}

TEST_F(CircuitBreakerTest, AnUntriedOneMayBePostponed) {
    CircuitBreaker breaker;
    breaker.postpone(3);
    EXPECT_EQ(backoff(breaker), 3u);
    EXPECT_EQ(breaker.state(), State::closed);
}

TEST_F(CircuitBreakerTest, AHeldOneStays) {
    CircuitBreaker breaker;
    breaker.hold(State::open);
    breaker.bypass(~std::uint64_t{0});
    for (int i = 0; i < 100'000; ++i)
        ASSERT_TRUE(breaker.bypass());
    EXPECT_TRUE(breaker.is_open());
    EXPECT_TRUE(breaker.is_held());
}

}  // namespace
}  // namespace nearfetch

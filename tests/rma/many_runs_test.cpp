// SPDX-License-Identifier: Apache-2.0

// Gets in many runs, and windows that have begun late: what is not looked at where it cannot pay.

#include <gtest/gtest.h>

#include "window_fixture.hpp"

namespace nearfetch {
namespace {

using testing::Buffer;
using testing::WindowCacheTest;

constexpr std::uint64_t column = 42;  ///< names a get

struct ManyRunsTest : WindowCacheTest {
    ManyRunsTest() : WindowCacheTest(Mode::acquire) {
        change_setting(&Settings::bypass, Bypass::on);
        rig.flush_all();
    }
};

TEST_F(ManyRunsTest, AreWorthALookIfTheyAreAskedForAgainBeforeTheyAreOld) {
    EXPECT_FALSE(rig.window.gets().is_asked_again(1, column));
    EXPECT_TRUE(rig.window.gets().is_asked_again(1, column));
    EXPECT_FALSE(rig.window.gets().is_asked_again(2, column)) << "of another target";
    EXPECT_FALSE(rig.window.gets().is_asked_again(1, column + 1));
    testing::process.acquires.acquire();
    EXPECT_FALSE(rig.window.gets().is_asked_again(1, column)) << "what it brought then would be old";
    EXPECT_TRUE(rig.window.gets().is_asked_again(1, column));
    EXPECT_EQ(counters().deferred, 4U);
}

TEST_F(WindowCacheTest, EveryGetIsWorthALookWithoutBypass) {
    EXPECT_TRUE(rig.window.gets().is_asked_again(1, column));
    EXPECT_TRUE(rig.window.gets().do_runs_pay(1, ~std::uint64_t{0}, 8));
}

TEST_F(ManyRunsTest, PayOnlyIfAHitTakesLessThanTheNetwork) {
    EXPECT_TRUE(rig.window.gets().do_runs_pay(1, 1'000'000, 4096)) << "nothing is known of the network";
    Buffer buffer(4096);
    const ByteRun origins{0, buffer.size(), reinterpret_cast<std::byte*>(buffer.data())};
    const double hit_ticks = hit_cost().hit_ticks;
    rig.window.gets().record_uncached_get({.target = 1, .size = buffer.size()}, origins, 0);
    const Moment since = rig.window.completions().now();
    rig.window.completions().complete(1, since, FlushKind::full, 0,
                                      static_cast<std::uint64_t>(1000 * hit_ticks));
    EXPECT_TRUE(rig.window.gets().do_runs_pay(1, 400, buffer.size()));
    EXPECT_FALSE(rig.window.gets().do_runs_pay(1, 600, buffer.size()));
}

TEST_F(ManyRunsTest, WhatIsNotLookedAtSharesOnlyTheOriginsThatItHas) {
    Buffer kept(64), other(64);
    EXPECT_EQ(rig.get(1, 0, 64, kept.data()), 0);
    rig.window.gets().record_uncached_get({.target = 1, .size = 64},
                                          {0, 64, reinterpret_cast<std::byte*>(other.data())}, 0);
    rig.flush(1);
    fetched(2, 0, 64);  // so that the next one is no poll
    EXPECT_TRUE(rig.hits(1, 0, 64, other.data()));
    EXPECT_EQ(rig.get(1, 8192, 64, kept.data()), 0);
    rig.window.gets().record_uncached_get({.target = 1, .size = 64},
                                          {0, 64, reinterpret_cast<std::byte*>(kept.data())}, 0);
    rig.flush(1);
    fetched(2, 0, 64);
    EXPECT_FALSE(rig.hits(1, 8192, 64, other.data())) << "it may be the other get's bytes";
}

TEST_F(ManyRunsTest, TheFirstGetsOfAWindowAreBypassedIfItBeginsLate) {
    rig.window.bypass().postpone_caching(3);
    for (int i = 0; i < 3; ++i) {
        EXPECT_TRUE(rig.window.bypass().is_bypassed(1));
        EXPECT_EQ(fetched(1, 0, 64), bytes(1, 0, 64));
    }
    EXPECT_EQ(counters().bypassed, 3U);
    EXPECT_EQ(fetched(1, 0, 64), bytes(1, 0, 64));
    EXPECT_EQ(counters().bypassed, 3U) << "and then caching begins";
    EXPECT_TRUE(rig.window.bypass().is_bypassed(2)) << "of each target by itself";
    EXPECT_EQ(fetched(1, 128, 64), bytes(1, 128, 64));
    EXPECT_EQ(fetched(1, 0, 64), bytes(1, 0, 64));
    EXPECT_GE(counters().hits, 1U);
}

TEST_F(ManyRunsTest, GetsInPiecesArePostponed) {
    rig.window.bypass().postpone_caching(1);
    Buffer buffer(64);
    EXPECT_TRUE(rig.window.gets().try_bypass(1, 64))
        << "the very first one, which the target is not listed for";
    EXPECT_FALSE(rig.window.gets().try_bypass(1, 64));
    EXPECT_EQ(counters().bypassed, 1U);
}

TEST_F(ManyRunsTest, AWindowKnowsItsGetsWithoutGain) {
    EXPECT_EQ(rig.window.bypass().gets_without_gain(), 0U);
    fetched(1, 0, 64);
    EXPECT_EQ(rig.window.bypass().gets_without_gain(), 1U);
    fetched(1, 8192, 64);
    fetched(2, 0, 64);
    EXPECT_EQ(rig.window.bypass().gets_without_gain(), 2U) << "three of two targets";
    fetched(1, 0, 64);
    EXPECT_GT(rig.window.bypass().gets_without_gain(), 1'000'000U) << "a hit";
}

}  // namespace
}  // namespace nearfetch

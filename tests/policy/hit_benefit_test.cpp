// SPDX-License-Identifier: Apache-2.0
#include "policy/hit_benefit.hpp"

#include <gtest/gtest.h>

#include "base/ticks.hpp"

namespace nearfetch {
namespace {

std::uint64_t ticks_of(double ns) { return static_cast<std::uint64_t>(ns / ns_per_tick()); }

/// Gets of `size_bytes` have been seen to take so long.
Bet measured(std::uint64_t size_bytes, double network_ns) {
    Bet bet;
    bet.observed(size_bytes, ticks_of(network_ns));
    return bet;
}

/// Ordinary gets take 20 us.
HitBenefit known() {
    HitBenefit worth;
    worth.round_over(static_cast<double>(ticks_of(5e6)));  // connections are set up
    worth.round_over(static_cast<double>(ticks_of(20e3)));
    return worth;
}

TEST(HitBenefit, IsTheSameForAllUntilItIsKnown) {
    HitBenefit worth;
    const Bet far = measured(64, 20e3);
    EXPECT_EQ(worth.of(far, 64), 1);
    worth.round_over(static_cast<double>(ticks_of(5e6)));
    EXPECT_EQ(worth.of(far, 64), 1) << "the first round is no measure";
    EXPECT_EQ(known().of(Bet(), 64), 1) << "nothing was measured of this target";
}

TEST(HitBenefit, IsWhatTheNetworkTakesAgainstAnOrdinaryGet) {
    Bet far = measured(64, 20e3);
    far.observed(16384, ticks_of(60e3));
    EXPECT_NEAR(known().of(far, 64), 1, 0.02);
    // Less the copy.
    EXPECT_LT(known().of(far, 16384), 3);
    EXPECT_GT(known().of(far, 16384), 2.5);
}

TEST(HitBenefit, SizesThatWereNotMeasuredAreLikeTheNextSmallerOne) {
    Bet bet = measured(1024, 40e3);
    bet.observed(64, ticks_of(20e3));
    EXPECT_EQ(bet.network_ticks(500), bet.network_ticks(64));
    EXPECT_EQ(bet.network_ticks(4000), bet.network_ticks(1024));
    EXPECT_EQ(bet.network_ticks(8), bet.network_ticks(64)) << "there is no smaller one";
    EXPECT_EQ(Bet().network_ticks(8), 0);
}

TEST(HitBenefit, OfACloseTargetIsLittle) {
    const Bet near = measured(64, 200);
    EXPECT_LT(known().of(near, 64), 0.02);
    EXPECT_GT(known().of(near, 64), 0) << "something always is";
    EXPECT_LE(known().of(measured(64, 1e9), 64), 64) << "one measurement may be far off";
}

}  // namespace
}  // namespace nearfetch

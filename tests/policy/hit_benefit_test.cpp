// SPDX-License-Identifier: Apache-2.0
#include "policy/hit_benefit.hpp"

#include <gtest/gtest.h>

#include "base/ticks.hpp"

namespace nearfetch {
namespace {

std::uint64_t ticks_of(double ns) { return static_cast<std::uint64_t>(ns / ns_per_tick()); }

/// Gets of `size_bytes` have been seen to take so long.
CostModel measured(std::uint64_t size_bytes, double network_ns) {
    CostModel cost;
    cost.record_lone_get(size_bytes, ticks_of(network_ns));
    return cost;
}

/// Ordinary gets take 20 us.
HitBenefit known() {
    HitBenefit benefit;
    benefit.record_interval(static_cast<double>(ticks_of(5e6)));  // connections are set up
    benefit.record_interval(static_cast<double>(ticks_of(20e3)));
    return benefit;
}

TEST(HitBenefit, IsTheSameForAllUntilItIsKnown) {
    HitBenefit benefit;
    const CostModel far = measured(64, 20e3);
    EXPECT_EQ(benefit.of(far, 64), 1);
    benefit.record_interval(static_cast<double>(ticks_of(5e6)));
    EXPECT_EQ(benefit.of(far, 64), 1) << "the first interval is no measure";
    EXPECT_EQ(known().of(CostModel(), 64), 1) << "nothing was measured of this target";
}

TEST(HitBenefit, IsWhatTheNetworkTakesAgainstAnOrdinaryGet) {
    CostModel far = measured(64, 20e3);
    far.record_lone_get(16384, ticks_of(60e3));
    EXPECT_NEAR(known().of(far, 64), 1, 0.02);
    // Less the copy.
    EXPECT_LT(known().of(far, 16384), 3);
    EXPECT_GT(known().of(far, 16384), 2.5);
}

TEST(HitBenefit, OfACloseTargetIsLittle) {
    const CostModel close = measured(64, 200);
    EXPECT_LT(known().of(close, 64), 0.02);
    EXPECT_GT(known().of(close, 64), 0) << "something always is";
    EXPECT_LE(known().of(measured(64, 1e9), 64), 64) << "one measurement may be far off";
}

}  // namespace
}  // namespace nearfetch

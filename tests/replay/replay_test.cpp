// SPDX-License-Identifier: Apache-2.0
//
// Traces by hand: what hits, and what the network takes.
#include "replay/replay.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "base/ticks.hpp"

namespace nearfetch {
namespace {

RangeCacheConfig small(std::uint64_t buffer_bytes) {
    RangeCacheConfig config;
    config.buffer_bytes = config.buffer_bytes_max = buffer_bytes;
    config.adaptive = false;
    return config;
}

TEST(Replay, CountsByAccessType) {
    const Trace trace{{{0, 64, 0}, {0, 64, 0}, {0, 64, 1}, {32, 64, 0}, {200, 8, 0}, {16, 8, 0}}, 2};
    Replay run(small(1 << 20), network_model("aries"), trace);
    const AccessType expected[] = {AccessType::direct,      AccessType::hit,    AccessType::direct,
                                   AccessType::partial_hit, AccessType::direct, AccessType::hit};
    for (const AccessType type : expected)
        EXPECT_EQ(run.step(), type);
    EXPECT_EQ(run.step(), std::nullopt);
    const RangeCacheCounters counters = run.counters();
    EXPECT_EQ(counters.gets, 6U);
    EXPECT_EQ(counters.hits, 2U);
    EXPECT_EQ(counters.committed, 4U);
}

TEST(Replay, TheNetworkIsWaitedForByMissesAlone) {
    const NetworkModel aries = network_model("aries");
    // The last but one lacks two parts, which are fetched side by side.
    const Trace trace{{{0, 64, 0}, {0, 64, 0}, {256, 64, 0}, {0, 1024, 0}, {0, 8, 0}}, 1};
    Replay run(small(1 << 20), aries, trace);
    run.finish();
    EXPECT_EQ(run.network_ns(), 2 * aries.get_ns(64) + aries.get_ns(1024 - 320));
    Replay none(small(1 << 20), NetworkModel{}, trace);
    none.finish();
    EXPECT_EQ(none.network_ns(), 0U);
    EXPECT_EQ(none.counters(), run.counters());
}

TEST(Replay, TimesAreThoseOfTheSoftware) {
    SimulatedTicks clock{0, 10};
    simulated_ticks = &clock;
    const Trace trace{{{0, 64, 0}, {0, 64, 0}, {64, 64, 0}, {0, 64, 0}}, 1};
    Replay run(small(1 << 20), network_model("aries"), trace);
    run.finish();
    const SoftwareTimes times = run.times();
    simulated_ticks = nullptr;
    // Each get is two readings of a clock that is read by nobody else.
    EXPECT_EQ(times.hit_ns, 10);
    EXPECT_EQ(times.miss_ns, 10);
    EXPECT_EQ(times.get_ns, 10);
    EXPECT_EQ(times.miss_p99_ns, 10);
}

TEST(Replay, WhatTakesTheNetworkLongerIsWorthMore) {
    const NetworkModel aries = network_model("aries");
    const BenefitFunction benefit = benefit_of(aries);
    EXPECT_EQ(benefit(0, 8), 1);
    EXPECT_GT(benefit(0, 65536), benefit(0, 1024));
    EXPECT_FALSE(benefit_of(NetworkModel{}));
}

TEST(Replay, WithoutGetsThereIsNothing) {
    const Trace trace;
    Replay run(small(4096), NetworkModel{}, trace);
    run.finish();
    EXPECT_EQ(run.counters(), RangeCacheCounters{});
    EXPECT_EQ(run.times().get_ns, 0);
}

TEST(Replay, BadSettingsAreErrors) {
    RangeCacheConfig config;
    config.policy = "nothing";
    const Trace trace;
    EXPECT_THROW(Replay(config, NetworkModel{}, trace), Error);
}

}  // namespace
}  // namespace nearfetch

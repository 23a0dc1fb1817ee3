// SPDX-License-Identifier: Apache-2.0
//
// Traces by hand through a window: what hits, what is read ahead, and what the network takes.
#include "replay/window_replay.hpp"

#include <gtest/gtest.h>

#include <random>

#include "base/error.hpp"
#include "replay/replay.hpp"

namespace nearfetch {
namespace {

Settings exact(std::uint64_t read_ahead_bytes) {
    Settings settings;
    settings.mode = Mode::always_cache;
    settings.bypass = Bypass::off;
    settings.adaptive = false;
    settings.buffer_bytes = 1 << 20;
    settings.index_entries = 1024;
    settings.read_ahead_bytes = read_ahead_bytes;
    return settings;
}

TEST(WindowReplay, CountsWhatAProgramGets) {
    const NetworkModel aries = network_model("aries");
    // The second partial hit of a neighbour is all resident.
    const Trace trace{{{0, 64, 0}, {0, 64, 0}, {0, 64, 1}, {32, 64, 0}, {16, 8, 0}, {0, 96, 0}}, 2};
    WindowReplay run(exact(0), aries, trace);
    run.run();
    const RangeCacheCounters counters = run.counters();
    EXPECT_EQ(counters.gets, 6U);
    EXPECT_EQ(counters.direct, 2U);
    EXPECT_EQ(counters.partial_hits, 1U);
    EXPECT_EQ(counters.hits, 3U);
    EXPECT_EQ(counters.bytes_from_network, 64U + 64 + 32);
    EXPECT_EQ(counters.bytes_requested, 5U * 64 - 56 + 96);
    EXPECT_EQ(counters.flushes, 6U);
    EXPECT_EQ(counters.flushes_elided, 3U);
    EXPECT_EQ(run.network_ns(), 2 * aries.get_ns(64) + aries.get_ns(32));
}

TEST(WindowReplay, ReadAheadIsPartOfIt) {
    const NetworkModel aries = network_model("aries");
    // Rank 0 has blocks of 1024 bytes up to 4096, as the last get of it says; of rank 1 there is one get.
    const Trace trace{{{1100, 8, 0},
                       {1200, 8, 0},   // the second miss of its block: all of it
                       {1300, 8, 0},   // hit
                       {2040, 16, 0},  // half of it lies in the block; the first miss of the next one
                       {3000, 8, 0},   // the second
                       {2050, 64, 0},  // hit
                       {4088, 8, 0},
                       {1024, 8, 1}},
                      2};
    WindowReplay run(exact(1024), aries, trace);
    run.run();
    const RangeCacheCounters counters = run.counters();
    EXPECT_EQ(counters.hits, 2U);
    EXPECT_EQ(counters.partial_hits, 1U);
    EXPECT_EQ(counters.direct, 5U);
    EXPECT_EQ(counters.read_aheads, 2U);
    EXPECT_EQ(counters.bytes_read_ahead, 2U * (1024 - 8));
    EXPECT_EQ(counters.bytes_from_network, 6U * 8);
    EXPECT_EQ(run.network_ns(), 4 * aries.get_ns(8) + 2 * aries.get_ns(1024));
}

TEST(WindowReplay, NothingIsReadBeyondTheMemory) {
    const NetworkModel aries = network_model("aries");
    const Trace trace{{{4096, 4, 0}, {4192, 8, 0}, {4112, 64, 0}}, 1};
    WindowReplay run(exact(1024), aries, trace);
    run.run();
    EXPECT_EQ(run.counters().hits, 1U);
    EXPECT_EQ(run.counters().bytes_read_ahead, 4200U - 4096 - 8);
}

TEST(WindowReplay, WithoutACacheAllOfItIsTheNetworks) {
    const NetworkModel aries = network_model("aries");
    const Trace trace{{{0, 64, 0}, {0, 64, 0}, {0, 2048, 0}}, 1};
    Settings settings = exact(0);
    settings.mode = Mode::off;
    WindowReplay run(settings, aries, trace);
    run.run();
    EXPECT_EQ(run.counters().bypassed, 3U);
    EXPECT_EQ(run.network_ns(), 2 * aries.get_ns(64) + aries.get_ns(2048));
}

/// Gets of items that two ranks have; more than a small cache has room for. (A window joins what a get has
/// read of neighbours, and Replay does not: so there are no parts of items.)
Trace random_trace(std::uint64_t seed) {
    constexpr std::uint64_t items = 600, item_bytes = 512;
    std::mt19937_64 random(seed);
    std::vector<std::uint32_t> sizes;
    for (std::uint64_t item = 0; item < items; ++item)
        sizes.push_back(static_cast<std::uint32_t>(1 + random() % item_bytes));
    Trace trace;
    trace.ranks = 2;
    for (int n = 0; n < 20000; ++n) {
        const std::uint64_t item = std::min(random() % items, random() % items);
        trace.gets.push_back({item * item_bytes, sizes[item], static_cast<Rank>(item % 2)});
    }
    return trace;
}

void expect_equal(const RangeCacheCounters& found, const RangeCacheCounters& expected) {
    for (const auto counter :
         {&RangeCacheCounters::gets, &RangeCacheCounters::hits, &RangeCacheCounters::partial_hits,
          &RangeCacheCounters::pending_hits, &RangeCacheCounters::direct, &RangeCacheCounters::conflicting,
          &RangeCacheCounters::capacity, &RangeCacheCounters::failing, &RangeCacheCounters::bypassed,
          &RangeCacheCounters::evictions, &RangeCacheCounters::index_resizes,
          &RangeCacheCounters::buffer_resizes, &RangeCacheCounters::committed})
        EXPECT_EQ(found.*counter, expected.*counter);
}

TEST(WindowReplay, WithoutReadAheadItCountsAsTheCacheAlone) {
    const Trace trace = random_trace(5);
    for (const char* storage : {"log", "best_fit"}) {
        for (const bool adaptive : {false, true}) {
            SCOPED_TRACE(testing::Message() << storage << (adaptive ? ", adaptive" : ", fixed"));
            Settings settings = exact(0);
            settings.storage = storage;
            settings.adaptive = adaptive;
            settings.buffer_bytes = 32 << 10;
            settings.index_entries = 64;
            // To a network that takes no time all hits are worth the same.
            const NetworkModel none;
            Replay alone(range_cache_config(settings), none, trace);
            alone.finish();
            WindowReplay run(settings, none, trace);
            run.run();
            EXPECT_GT(alone.counters().capacity + alone.counters().conflicting, 0U);
            expect_equal(run.counters(), alone.counters());
        }
    }
}

TEST(WindowReplay, WithRoomForAllItTakesTheNetworkAsLongAsTheCacheAlone) {
    const Trace trace = random_trace(5);
    const NetworkModel aries = network_model("aries");
    Replay alone(range_cache_config(exact(0)), aries, trace);
    alone.finish();
    WindowReplay run(exact(0), aries, trace);
    run.run();
    expect_equal(run.counters(), alone.counters());
    EXPECT_EQ(run.network_ns(), alone.network_ns());
}

TEST(WindowReplay, WhatTakesTheNetworkLongerIsWorthMore) {
    // Items of two sizes, in turn; there is room for few of them.
    Trace trace;
    for (std::uint64_t round = 0; round < 40; ++round)
        for (std::uint64_t item = 0; item < 64; ++item)
            trace.gets.push_back({item * 65536, item % 2 == 0 ? 64U : 128U, 0});
    Settings settings = exact(0);
    settings.buffer_bytes = 4096;
    const auto hits = [&](double long_ns) {
        NetworkModel network;
        network.get = {1000, long_ns, 0};
        WindowReplay run(settings, network, trace);
        run.run();
        return std::pair{run.counters().hits, run.network_ns()};
    };
    EXPECT_NE(hits(1000).first, hits(100000).first);
    EXPECT_EQ(hits(100000), hits(100000)) << "no clock of this machine is asked";
}

TEST(WindowReplay, BadSettingsAreErrors) {
    Settings settings = exact(0);
    settings.policy = "nothing";
    const Trace trace;
    EXPECT_THROW(WindowReplay(settings, NetworkModel{}, trace), Error);
}

}  // namespace
}  // namespace nearfetch

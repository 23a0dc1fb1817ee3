// SPDX-License-Identifier: Apache-2.0
// Recordings by hand, replayed with other settings: what hits, what acquires forget, which locks are elided.
#include "replay/process_replay.hpp"

#include <gtest/gtest.h>

#include <random>

#include "base/error.hpp"
#include "recording/sampling.hpp"
#include "temporary_recording.hpp"

namespace nearfetch {
namespace {

constexpr std::uint64_t call_ns = TemporaryRecording::call_ns;

Settings settings(const char* mode, const char* locks = "auto") {
    Settings settings;
    apply_setting(settings, "mode", mode);
    apply_setting(settings, "locks", locks);
    settings.bypass = Bypass::off;
    settings.read_ahead_bytes = 0;
    return settings;
}

ProcessOutcome replay(const RecordedProcess& process, const Settings& with,
                      const WriteIntervals& writes = {}) {
    return ProcessReplay(with, process, writes).run();
}

TEST(ProcessReplay, WithoutACacheAllIsAsItWas) {
    TemporaryRecording file;
    for (int i = 0; i < 10; ++i)
        file.blocking_get(1, 0, 100);
    const ProcessOutcome outcome = replay(file.read(), settings("off"));
    EXPECT_EQ(outcome.recorded_ns, 10 * (call_ns + 500));
    EXPECT_EQ(outcome.replayed_ns, outcome.recorded_ns);
    EXPECT_EQ(outcome.counters.hits, 0u);
}

TEST(ProcessReplay, WhatHitsIsSaved) {
    TemporaryRecording file;
    file.lock_all();
    file.sweep(10, 8192, 4096, 100);
    const ProcessOutcome outcome = replay(file.read(), settings("acquire"));
    EXPECT_EQ(outcome.counters.gets, 20u);
    EXPECT_EQ(outcome.counters.hits, 18u);
    EXPECT_EQ(outcome.recorded_ns, 20 * (call_ns + 500) + call_ns);
    EXPECT_NEAR(static_cast<double>(outcome.replayed_ns), 2.0 * (call_ns + 500) + call_ns,
                18 * 2 * 100 + 100);
}

TEST(ProcessReplay, AnAcquireForgetsInItsMode) {
    TemporaryRecording file;
    file.lock_all();
    for (int i = 0; i < 10; ++i) {
        file.sweep(1, 8192, 4096, 100);
        if (i == 4) file.acquire("MPI_Barrier");
    }
    const RecordedProcess process = file.read();
    EXPECT_EQ(replay(process, settings("acquire")).counters.hits, 16u);
    EXPECT_EQ(replay(process, settings("always-cache")).counters.hits, 18u);
    EXPECT_EQ(replay(process, settings("transparent")).counters.hits, 0u);
}

TEST(ProcessReplay, LocksAreAcquiresLeasedOrPromised) {
    TemporaryRecording file;
    file.locked_sweep(10, 8192, 4096, 100);
    const RecordedProcess process = file.read();
    const ProcessOutcome acquired = replay(process, settings("acquire", "synchronize"));
    const ProcessOutcome leased = replay(process, settings("acquire"));
    const ProcessOutcome promised = replay(process, settings("acquire", "access"));
    EXPECT_EQ(acquired.counters.hits, 0u);
    EXPECT_EQ(leased.counters.hits, 18u);
    EXPECT_EQ(promised.counters.hits, 18u);
    EXPECT_EQ(leased.counters.locks_elided, 18u);
    EXPECT_EQ(promised.counters.locks_elided, 18u);
    EXPECT_LT(promised.replayed_ns, 3 * (2 * call_ns + 500));
    EXPECT_LT(promised.replayed_ns, leased.replayed_ns) << "looks take something";
    EXPECT_GE(acquired.replayed_ns, acquired.recorded_ns);
}

TEST(ProcessReplay, WhatAnotherWritesEndsLeases) {
    TemporaryRecording file;
    file.locked_sweep(500, 8192, 4096, 100);
    const RecordedProcess process = file.read();
    const std::uint64_t middle_ns = process.begin_ns + 500 * (2 * call_ns + 3500);
    const WriteIntervals once{{{0, 1}, {{middle_ns, middle_ns + 1000}}}};
    const WriteIntervals always{{{0, 1}, {{0, ~std::uint64_t{0}}}}};
    EXPECT_EQ(replay(process, settings("acquire")).counters.hits, 998u);
    EXPECT_EQ(replay(process, settings("acquire"), once).counters.hits, 996u);
    EXPECT_EQ(replay(process, settings("acquire"), always).counters.hits, 0u);
    EXPECT_EQ(replay(process, settings("acquire", "access"), always).counters.hits, 998u);
}

TEST(ProcessReplay, RunsAreGotTogether) {
    TemporaryRecording file;
    file.lock_all();
    for (int i = 0; i < 4; ++i) {
        file.get(1, 1000, 24, {0, 8, 100, 8, 200, 8});
        file.call(EventKind::flush, 1);
        file.blocking_get(1, 1100, 8);
    }
    const ProcessOutcome outcome = replay(file.read(), settings("acquire"));
    EXPECT_EQ(outcome.counters.hits, 3u + 4u);
    EXPECT_EQ(outcome.counters.bytes_from_network, 24u);
}

TEST(ProcessReplay, PutsArePartOfIt) {
    TemporaryRecording file;
    file.lock_all();
    file.blocking_get(1, 0, 64);
    file.write({.kind = EventKind::put, .target = 1, .took_ns = 500, .offset = 0, .size = 64});
    file.call(EventKind::flush, 1);
    file.blocking_get(1, 0, 64);  // its own values
    file.write({.kind = EventKind::update, .target = 1, .took_ns = 500, .offset = 0, .size = 64});
    file.call(EventKind::flush, 1);
    file.blocking_get(1, 0, 64);  // nobody knows
    EXPECT_EQ(replay(file.read(), settings("always-cache")).counters.hits, 1u);
}

TEST(ProcessReplay, MemoryIsOfTheProcess) {
    TemporaryRecording file;
    file.lock_all();
    file.sweep(10, 256 * 1024, 1024, 1024);
    const RecordedProcess process = file.read();
    Settings small = settings("acquire");
    small.memory_bytes = 64 << 10;
    const ProcessOutcome outcome = replay(process, small);
    EXPECT_LE(outcome.memory_bytes, 64u << 10);
    EXPECT_LT(outcome.counters.hits, 2000u);
    EXPECT_EQ(replay(process, settings("acquire")).counters.hits, 9u * 256);
}

/// Any sequence of events is replayed to its end, twice alike, whatever was replayed before.
TEST(ProcessReplay, AnySequenceIsReplayedTwiceAlike) {
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
        std::mt19937_64 random(seed);
        const auto below = [&](std::uint64_t n) { return random() % n; };
        TemporaryRecording file(0, 3);
        for (int epoch = 0; epoch < 60; ++epoch) {
            const auto target = static_cast<Rank>(below(3));
            const bool locks = below(2) == 0;
            file.call(locks ? EventKind::lock : EventKind::lock_all, target, locks && below(4) == 0);
            for (std::uint64_t i = 0; i < below(8); ++i) {
                const std::uint64_t at = below(64) * 64;
                if (below(3) != 0)
                    file.get(target, at, 1 + below(200));
                else
                    file.write({.kind = static_cast<EventKind>(static_cast<int>(EventKind::put) +
                                                               static_cast<int>(below(4))),
                                .target = target,
                                .took_ns = 300,
                                .offset = at,
                                .size = 8});
                if (below(4) == 0) file.call(EventKind::flush, target, below(2) == 0);
                if (below(8) == 0) file.call(EventKind::flush_all, 0, below(2) == 0);
                if (below(8) == 0) file.call(EventKind::wait, target);
            }
            file.call(locks ? EventKind::unlock : EventKind::unlock_all, target);
            if (below(4) == 0) file.acquire("MPI_Recv");
        }
        const RecordedProcess process = file.read();
        for (const char* const mode : {"off", "transparent", "acquire", "always-cache", "user-defined"}) {
            for (const char* const locks : {"auto", "synchronize", "access"}) {
                Settings with = settings(mode, locks);
                with.bypass = Bypass::on;
                with.read_ahead_bytes = 4096;
                const ProcessOutcome one = replay(process, with), other = replay(process, with);
                EXPECT_EQ(one.counters.hits, other.counters.hits) << mode << ' ' << locks << ' ' << seed;
                EXPECT_EQ(one.replayed_ns, other.replayed_ns);
                EXPECT_EQ(one.recorded_ns, other.recorded_ns);
            }
        }
    }
}

TEST(ProcessReplay, ASampleHasTheHitRatioOfTheWhole) {
    TemporaryRecording whole, sampled;
    for (TemporaryRecording* file : {&whole, &sampled})
        file->lock_all();
    sampled.write({.kind = EventKind::sampling, .size = Sampling::all / 4});
    std::mt19937_64 random(3);
    for (int i = 0; i < 40'000; ++i) {
        const std::uint64_t at = random() % 400 * Sampling::block_bytes / 64;
        for (TemporaryRecording* file : {&whole, &sampled})
            file->blocking_get(1, at * 64, 64);
    }
    Settings with = settings("acquire");
    with.memory_bytes = 256 << 10;
    const RecordedProcess all = whole.read(), some = sampled.read();
    const RangeCacheCounters a = replay(all, with).counters, b = replay(some, with).counters;
    EXPECT_NEAR(static_cast<double>(b.gets), static_cast<double>(a.gets) / 4,
                static_cast<double>(a.gets) / 20);
    EXPECT_NEAR(static_cast<double>(b.hits) / static_cast<double>(b.gets),
                static_cast<double>(a.hits) / static_cast<double>(a.gets), 0.05);
}

TEST(ProcessReplay, BadRecordingsAreErrors) {
    RecordedProcess nowhere;
    nowhere.path = "/nowhere/rank-0.events";
    EXPECT_THROW(replay(nowhere, settings("acquire")), Error);
}

}  // namespace
}  // namespace nearfetch

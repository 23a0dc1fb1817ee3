// SPDX-License-Identifier: Apache-2.0

// Bypassed targets, and how they are cached again (policy/circuit_breaker.hpp).

#include <gtest/gtest.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "base/ticks.hpp"
#include "base/xorshift.hpp"
#include "rma/window_cache.hpp"
#include "window_fixture.hpp"

namespace nearfetch {
namespace {

using testing::Buffer;
using testing::OpenBreakerTest;
using testing::Rig;
using testing::WindowCacheTest;

TEST_F(OpenBreakerTest, GetsAndFlushesAreBypassed) {
    const std::uint64_t messages = rig.messages, flushes = rig.library_flushes;
    const auto before = counters();
    EXPECT_EQ(fetched(1, 0, 64), bytes(1, 0, 64));
    EXPECT_EQ(fetched(1, 0, 64), bytes(1, 0, 64));
    rig.flush(1);
    EXPECT_EQ(rig.messages, messages + 2);
    EXPECT_EQ(rig.library_flushes, flushes + 2) << "but not one with nothing outstanding";
    EXPECT_EQ(counters().bypassed, before.bypassed + 2);
    EXPECT_EQ(counters().bytes_from_network, before.bytes_from_network + 128);
    EXPECT_EQ(counters().flushes, before.flushes + 3);
}

TEST_F(WindowCacheTest, ATargetWhoseGetsAllWantOneBufferIsBypassed) {
    change_setting(&Settings::bypass, Bypass::on);
    Buffer one(64);
    const auto get_many = [&] {
        for (std::size_t i = 0; i < 600; ++i)
            rig.get(1, i * 64, 64, one.data());
        rig.flush(1);
    };
    get_many();
    EXPECT_TRUE(rig.window.bypass().is_bypassed(1));
    Buffer many(600 * 64);
    for (std::size_t i = 0; i < 600; ++i)
        rig.get(1, i * 64, 64, many.data() + i * 64);
    rig.flush(1);
    EXPECT_EQ(many, bytes(1, 0, 600 * 64));
}

TEST_F(OpenBreakerTest, WhatCompletesAllCompletesWhatWasBypassed) {
    Buffer value(64, 0x3c);
    rig.flush_all();
    EXPECT_TRUE(rig.window.completions().all_are_bypassed());
    EXPECT_NE(rig.window.completions().flush_all(FlushKind::full), Flush::needed);
    rig.put(1, 0, 64, value.data());
    EXPECT_TRUE(rig.window.completions().all_are_bypassed());
    EXPECT_EQ(rig.window.completions().flush_all(FlushKind::full), Flush::needed);
    rig.window.completions().complete_all_bypassed(FlushKind::local, 0);
    EXPECT_EQ(rig.window.completions().flush_all(FlushKind::full), Flush::needed)
        << "the put is not there yet";
    rig.window.completions().complete_all_bypassed(FlushKind::full, 0);
    EXPECT_NE(rig.window.completions().flush_all(FlushKind::full), Flush::needed);
    fetched(2, 0, 64);
    Buffer buffer(64);
    rig.get(2, 64, 64, buffer.data());
    EXPECT_FALSE(rig.window.completions().all_are_bypassed()) << "this one waits to be cached";
}

TEST_F(OpenBreakerTest, ALocalFlushDoesNotCompleteUpdates) {
    Buffer buffer(64, 0x55);
    rig.flush(1);
    const std::uint64_t flushes = rig.library_flushes;
    rig.put(1, 0, 64, buffer.data());
    rig.get(1, 64, 64, buffer.data());
    rig.flush(1, FlushKind::local);
    rig.flush(1, FlushKind::local);
    EXPECT_EQ(rig.library_flushes, flushes + 2);
    rig.flush(1);
    EXPECT_EQ(rig.library_flushes, flushes + 3);
    rig.flush(1);
    rig.flush(1, FlushKind::local);
    EXPECT_EQ(rig.library_flushes, flushes + 3);
}

TEST_F(WindowCacheTest, WhatIsOutstandingWhenABreakerOpensIsNotForgotten) {
    change_setting(&Settings::bypass, Bypass::on);
    rig.flush_all();
    Buffer value(64, 0x55), buffer(64);
    rig.get(1, 0, 64, buffer.data());
    rig.flush(1);
    rig.put(1, 0, 64, value.data());
    for (std::size_t i = 1; i < 64; ++i) {
        rig.get(1, i * 64, 64, buffer.data());
        rig.flush(1, FlushKind::local);
    }
    EXPECT_TRUE(rig.window.bypass().is_bypassed(1));
    const std::uint64_t flushes = rig.library_flushes;
    rig.flush(1);
    EXPECT_EQ(rig.library_flushes, flushes + 1) << "of the put";
    rig.flush(1);
    EXPECT_EQ(rig.library_flushes, flushes + 1);
}

TEST_F(OpenBreakerTest, AFlushThatFailsCompletesNothing) {
    Buffer buffer(64);
    rig.get(1, 0, 64, buffer.data());
    ASSERT_EQ(rig.window.completions().try_flush(1, FlushKind::full), Served::bypass);
    rig.window.completions().bypass_flush(1, FlushKind::full, [] { return 1; });
    EXPECT_EQ(rig.window.completions().try_flush(1, FlushKind::full), Served::bypass);
    rig.window.completions().bypass_flush(1, FlushKind::full, [] { return 0; });
    const Flush again = rig.window.completions().flush(1, FlushKind::full);
    EXPECT_TRUE(again == Flush::elided || again == Flush::elided_progress);
}

TEST_F(OpenBreakerTest, ABypassedAtomicIsAnAcquireWhenItIsComplete) {
    rig.flush(1);
    rig.window.updates().read_started(1);
    const std::uint64_t before = testing::process.acquires.count(), flushes = rig.library_flushes;
    ASSERT_TRUE(rig.window.updates().bypass_update(1, true));
    EXPECT_EQ(testing::process.acquires.count(), before);
    rig.flush(1);
    EXPECT_EQ(rig.library_flushes, flushes + 1);
    EXPECT_EQ(testing::process.acquires.count(), before + 1);
    // One that only reads, and is complete only after the target is cached again.
    rig.window.updates().read_started(1, true);
    Buffer buffer(8);
    while (rig.window.gets().try_bypass(1, 8)) {
    }
    EXPECT_EQ(rig.get(1, 8, 8, buffer.data()), 0);
    EXPECT_EQ(testing::process.acquires.count(), before + 1);
    rig.flush_all();
    EXPECT_EQ(testing::process.acquires.count(), before + 2);
}

/// Nothing has been read of the window's targets yet.
struct UntriedTest : WindowCacheTest {
    UntriedTest() {
        change_setting(&Settings::write_combining_bytes, std::uint64_t{0});
        rig.flush_all();
    }
};

TEST_F(UntriedTest, UpdatesAndTheirFlushesAreBypassed) {
    Buffer value(64, 0x55);
    rig.put(1, 0, 64, value.data());  // after one that was looked at
    const std::uint64_t flushes = rig.library_flushes, puts = counters().puts;
    EXPECT_TRUE(rig.window.updates().bypass_put(1));
    EXPECT_TRUE(rig.window.updates().bypass_update(1));
    EXPECT_EQ(counters().puts, puts + 2);
    EXPECT_EQ(rig.window.completions().try_flush(1, FlushKind::full), Served::bypass);
    rig.window.completions().bypass_flush(1, FlushKind::full, [] { return 0; });
    rig.flush(1);
    EXPECT_EQ(rig.library_flushes, flushes) << "there is nothing outstanding";
}

TEST_F(UntriedTest, TheFirstGetEndsThat) {
    Buffer value(64, 0x55), buffer(64);
    rig.put(1, 0, 64, value.data());
    // It may overtake the put, and is not kept.
    rig.get(1, 0, 64, buffer.data());
    EXPECT_FALSE(rig.window.updates().bypass_put(1)) << "cached bytes have to take its values";
    EXPECT_FALSE(rig.window.updates().bypass_update(1));
    EXPECT_EQ(rig.window.completions().flush(1, FlushKind::local), Flush::needed);
    rig.flush(1);
    EXPECT_FALSE(rig.hits(1, 0, 64, buffer.data()));
    EXPECT_EQ(fetched(1, 0, 64), value);
    EXPECT_TRUE(rig.hits(1, 0, 64, buffer.data()));
}

TEST_F(WindowCacheTest, SmallPutsOfAnUntriedTargetAreCombined) {
    rig.window.describe_memory(
        std::vector<TargetMemory>{{.extent_bytes = 4096}, {.extent_bytes = 4096}, {.extent_bytes = 4096}});
    Buffer value(8, 0x55);
    for (int i = 0; i < 100; ++i)
        rig.put(1, static_cast<std::uint64_t>(i) * 8, 8, value.data());
    EXPECT_EQ(counters().puts_combined, 100u);
    rig.flush(1);
    EXPECT_EQ(rig.put_messages, 1u);
    EXPECT_EQ(fetched(1, 99 * 8, 8), value);
}

TEST_F(WindowCacheTest, PutsThatAreSentAloneAreTimedNowAndThen) {
    change_setting(&Settings::bypass, Bypass::on);
    rig.window.describe_memory(
        std::vector<TargetMemory>{{.extent_bytes = 4096}, {.extent_bytes = 4096}, {.extent_bytes = 4096}});
    rig.flush_all();
    Buffer value(8, 0x55);
    int passed = 0;
    for (int i = 0; i < 10'000; ++i) {
        if (rig.window.updates().bypass_put(1))
            ++passed;
        else
            rig.put(1, 0, 8, value.data());
        rig.flush(1);
    }
    EXPECT_GT(passed, 9'000);
    EXPECT_LT(passed, 9'990);
    EXPECT_EQ(counters().puts, 10'000u);
    const auto decisions = rig.window.decisions();
    EXPECT_TRUE(
        std::ranges::any_of(decisions, [](const Decision& d) { return d.what == "puts: sent alone"; }));
}

TEST_F(OpenBreakerTest, GetsInSeveralRunsEndTheBackoffToo) {
    Buffer buffer(64);
    const auto get = [&] {
        const std::vector<ByteRun> runs{{4096, 32, reinterpret_cast<std::byte*>(buffer.data())},
                                        {8192, 32, reinterpret_cast<std::byte*>(buffer.data() + 32)}};
        if (rig.window.gets().try_bypass(1, 64)) {
            EXPECT_EQ(rig.start_get(1, runs), 0);
        } else {
            EXPECT_EQ(rig.get(1, runs), 0);
        }
        rig.flush(1);
        return rig.window.bypass().is_bypassed(1);
    };
    int gets = 0;
    while (get() && gets < 100'000)
        ++gets;
    EXPECT_LT(gets, 100'000);
}

TEST(Bypass, WithSeveralThreadsABackoffEnds) {
    Settings settings = Rig::settings(Mode::always_cache);
    settings.bypass = Bypass::on;
    Rig threads(settings, 2, 65536, true);
    Buffer buffer(8);
    const auto read = [&](std::uint64_t gets) {
        for (std::uint64_t i = 0; i < gets; ++i) {
            threads.get(1, 8 * (i % 8000), 8, buffer.data());
            threads.flush(1);
        }
    };
    read(100);
    EXPECT_EQ(threads.window.counters().direct, 32u) << "the network takes no time";
    read(4000);
    EXPECT_GT(threads.window.counters().direct, 32u) << "half-open: a sample is admitted";
}

TEST_F(OpenBreakerTest, AFlushOfAllEntersTheLibraryForThem) {
    rig.flush_all();
    const std::uint64_t flushes = rig.library_flushes;
    Buffer buffer(64, 0);
    rig.get(1, 0, 64, buffer.data());
    rig.flush_all();
    EXPECT_EQ(rig.library_flushes, flushes + 1);
    EXPECT_EQ(buffer, bytes(1, 0, 64));
    rig.flush_all();
    EXPECT_EQ(rig.library_flushes, flushes + 1);
}

TEST_F(OpenBreakerTest, WhatWasBypassedIsCompletedAfterItResumes) {
    // The last gets of the backoff are untracked; the first flush after it must not be elided.
    for (int i = 0; i < 10'000'000; ++i) {
        if (rig.window.gets().try_bypass(1, 64)) continue;
        Buffer buffer(64, 0);
        EXPECT_EQ(rig.window.gets().try_get({1, 4096, 64, reinterpret_cast<std::byte*>(buffer.data())}),
                  Served::miss);
        EXPECT_EQ(rig.window.completions().flush(1, FlushKind::full), Flush::needed);
        return;
    }
    FAIL() << "it never resumed";
}

TEST_F(OpenBreakerTest, UpdatesAreBypassedAndNothingOlderIsThereWhenItResumes) {
    const std::uint64_t puts = counters().puts;
    Buffer value(64, 0x3c);
    rig.put(1, 0, 64, value.data());
    ASSERT_TRUE(rig.window.updates().bypass_put(1));
    ASSERT_TRUE(rig.window.updates().bypass_update(1));
    EXPECT_EQ(counters().puts, puts + 3);
    const std::uint64_t flushes = rig.library_flushes;
    rig.flush_all();
    EXPECT_EQ(rig.library_flushes, flushes + 1) << "it may have to complete the put";
    rig.put(1, 64, 64, value.data());
    Buffer buffer(64, 0);
    for (int i = 0; i < 10'000'000 && rig.window.gets().try_bypass(1, 64); ++i) {
    }
    rig.get(1, 0, 64, buffer.data());
    rig.flush(1);
    EXPECT_EQ(buffer, value) << "the range was cached before the breaker opened";
    EXPECT_EQ(fetched(1, 64, 64), value);
}

TEST_F(OpenBreakerTest, WhatItHadIsThereWhenItResumes) {
    rig.memory[1][0] ^= 0xff;  // against the mode's rules: so the old byte shows where it came from
    for (int i = 0; i < 10'000'000 && rig.window.gets().try_bypass(1, 64); ++i) {
    }
    const std::uint64_t messages = rig.messages;
    const Buffer kept = fetched(1, 0, 64);
    EXPECT_EQ(rig.messages, messages);
    EXPECT_NE(kept, bytes(1, 0, 64));
}

TEST_F(OpenBreakerTest, AFlushThatFoundItBypassedServesWhatAnotherThreadHasStarted) {
    Buffer passing(64), first(64, 0), second(64, 0);
    rig.get(1, 0, 64, passing.data());
    ASSERT_EQ(rig.window.completions().flush(1, FlushKind::full), Flush::needed_bypassed);
    // Before that flush enters the library, another thread's gets end the backoff; the last one waits.
    for (int i = 0; i < 10'000'000; ++i)
        if (rig.look(1, 4096, 64, passing.data()) != Served::bypass) break;
    rig.get(1, 4096, 64, passing.data());
    rig.get(1, 4096, 64, first.data());
    rig.get(1, 4096, 64, second.data());
    const auto since = rig.window.completions().now();
    rig.arrive(1);
    rig.window.completions().complete_bypassed_flush(1, since, FlushKind::full);
    rig.flush(1);
    EXPECT_EQ(first, bytes(1, 4096, 64));
    EXPECT_EQ(second, bytes(1, 4096, 64));
}

TEST(Bypass, WithSeveralThreadsLocksAreLookedAt) {
    Rig threads(Rig::settings(Mode::always_cache), 3, 4096, true);
    EXPECT_FALSE(threads.window.locks().is_lock_quick(1));
    EXPECT_FALSE(threads.window.locks().is_unlock_quick(1));
}

TEST_F(WindowCacheTest, LargeRangesAreKeptAtTheirSecondGetWhenTheirCopyIsExpensive) {
    Settings s = Rig::settings(Mode::always_cache);
    s.bypass = Bypass::on;
    Rig fast(s, 2, 1 << 20);
    Buffer buffer(32768);
    // This network is as fast as a copy, so each copy into the cache is expensive.
    for (std::uint64_t offset = 0; offset < (1 << 20); offset += 32768) {
        fast.get(1, offset, 32768, buffer.data());
        fast.flush(1);
    }
    EXPECT_GT(fast.window.counters().deferred, 0u);
    EXPECT_EQ(fast.window.counters().hits, 0u);
}

/// A slow network, in simulated time.
struct SlowNetworkTest : WindowCacheTest {
    explicit SlowNetworkTest(Bypass bypass = Bypass::on) {
        simulated_ticks = &clock;
        change_setting(&Settings::bypass, bypass);
        rig.network_ticks = 100'000;
        rig.flush_all();
    }
    ~SlowNetworkTest() override { simulated_ticks = nullptr; }
    bool decided(std::string_view what) const {
        const std::vector<Decision> all = rig.window.decisions();
        return std::ranges::find(all, what, &Decision::what) != all.end();
    }

    SimulatedTicks clock{.now = 0, .step = 10};
};

/// Its breakers are held half-open.
struct HalfOpenTest : SlowNetworkTest {
    HalfOpenTest() : SlowNetworkTest(Bypass::sampling) {}
};

TEST_F(HalfOpenTest, OneRangeInEightIsCached) {
    const auto read_all = [&] {
        for (std::size_t i = 0; i < 512; ++i)
            EXPECT_EQ(fetched(1, 64 * i, 64), bytes(1, 64 * i, 64));
    };
    read_all();
    const auto first = counters();
    EXPECT_NEAR(static_cast<double>(first.direct), 64, 24);
    EXPECT_EQ(first.direct + first.bypassed, 512u);
    const std::uint64_t messages = rig.messages;
    read_all();
    EXPECT_EQ(counters().hits, first.direct) << "the same ones";
    EXPECT_EQ(counters().direct, first.direct);
    EXPECT_EQ(rig.messages, messages + first.bypassed);
}

TEST_F(HalfOpenTest, AGetThatMayOvertakeAPutIsNotKept) {
    Buffer value(64, 0x3c), buffer(64);
    rig.late_puts = true;
    fetched(1, 0, 64);
    rig.put(1, 0, 64, value.data());
    rig.get(1, 0, 64, buffer.data());
    rig.flush(1);
    EXPECT_EQ(fetched(1, 0, 64), value);
}

TEST_F(SlowNetworkTest, AStreamWithoutReuseStaysCached) {
    for (std::size_t i = 0; i < 4000; ++i)
        fetched(1, 8 * i, 8);
    EXPECT_EQ(counters().bypassed, 0u) << "what caching costs goes unnoticed";
    EXPECT_TRUE(decided("gets: cached"));
}

TEST_F(SlowNetworkTest, ReuseAfterALostStreamIsFound) {
    clock.step = 2000;  // what we do ourselves takes a large share
    std::size_t i = 0;
    while (i < 4000 && counters().bypassed == 0)
        fetched(1, 8 * i++, 8);
    EXPECT_GT(counters().bypassed, 0u);
    EXPECT_TRUE(decided("gets: bypassed"));
    clock.step = 10;
    for (std::size_t pass = 0; pass < 12; ++pass)
        for (std::size_t k = 0; k < 64; ++k)
            ASSERT_EQ(fetched(1, 40000 + 64 * k, 64), bytes(1, 40000 + 64 * k, 64));
    const std::uint64_t hits = counters().hits;
    for (std::size_t k = 0; k < 64; ++k)
        fetched(1, 40000 + 64 * k, 64);
    EXPECT_EQ(counters().hits, hits + 64);
}

TEST_F(SlowNetworkTest, ReuseThatTakesLongerThanAnIntervalIsFound) {
    rig.network_ticks = 2000;
    clock.step = 480;  // three quarters of what a get takes
    constexpr std::uint64_t ranges = 900;
    Xorshift random(1);
    const auto hits_of_a_pass = [&] {
        const std::uint64_t before = counters().hits;
        for (std::uint64_t i = 0; i < ranges; ++i)
            fetched(1, random.below(ranges) * 24, 24);
        return counters().hits - before;
    };
    EXPECT_LT(hits_of_a_pass(), ranges / 4) << "its cold cache lost";
    for (int pass = 0; pass < 60; ++pass)
        hits_of_a_pass();
    EXPECT_TRUE(decided("gets: cached"));
    EXPECT_GT(hits_of_a_pass(), ranges * 9 / 10);
}

TEST_F(SlowNetworkTest, WhatOneTargetHasShownABypassedOneIsTriedFor) {
    rig.network_ticks = 2000;
    clock.step = 480;
    for (std::uint64_t i = 0; i < 3000 && (i == 0 || !rig.window.bypass().is_bypassed(2)); ++i)
        fetched(2, 8 * i, 8);
    ASSERT_TRUE(rig.window.bypass().is_bypassed(2));
    Xorshift random(1);
    for (int i = 0; i < 9000; ++i)
        fetched(1, random.below(900) * 24, 24);
    EXPECT_FALSE(rig.window.bypass().is_bypassed(1)) << "it has gained";
    EXPECT_FALSE(rig.window.bypass().is_bypassed(2));
    const std::uint64_t bypassed = counters().bypassed;
    for (std::uint64_t i = 0; i < 10'000; ++i)
        fetched(2, 8 * i % 30'000, 8);
    EXPECT_GT(counters().bypassed - bypassed, 8000U) << "there it was wrong";
}

}  // namespace
}  // namespace nearfetch

// SPDX-License-Identifier: Apache-2.0

// What becomes of gets while the bet stands back (policy/bet.hpp).

#include <gtest/gtest.h>

#include "base/ticks.hpp"
#include "rma/window_cache.hpp"
#include "window_fixture.hpp"

namespace nearfetch {
namespace {

using testing::Buffer;
using testing::CachedWindowTest;
using testing::Rig;
using testing::SleepingTest;

TEST_F(SleepingTest, GetsAndFlushesPassAsTheyAre) {
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

TEST_F(CachedWindowTest, ATargetWhoseGetsAllWantOnePlaceFallsAsleep) {
    change_setting(&Settings::bypass, Bypass::on);
    Buffer one(64);
    const auto get_many = [&] {
        for (std::size_t i = 0; i < 600; ++i)
            rig.get(1, i * 64, 64, one.data());
        rig.flush(1);
    };
    get_many();
    EXPECT_TRUE(rig.window.nothing_kept(1));
    int asleep = 0;
    for (int i = 0; i < 100; ++i) {
        get_many();
        asleep += rig.window.nothing_kept(1) ? 1 : 0;
    }
    EXPECT_GE(asleep, 90) << "longer and longer";
    Buffer many(600 * 64);
    for (std::size_t i = 0; i < 600; ++i)
        rig.get(1, i * 64, 64, many.data() + i * 64);
    rig.flush(1);
    EXPECT_EQ(many, bytes(1, 0, 600 * 64));
}

TEST_F(SleepingTest, WhatCompletesAllCompletesWhatHasPassed) {
    Buffer value(64, 0x3c);
    rig.flush_all();
    EXPECT_TRUE(rig.window.all_pass());
    EXPECT_NE(rig.window.flush_all(FlushKind::full), Flush::needed);
    rig.put(1, 0, 64, value.data());
    EXPECT_TRUE(rig.window.all_pass());
    EXPECT_EQ(rig.window.flush_all(FlushKind::full), Flush::needed);
    rig.window.all_passed(FlushKind::local, 0);
    EXPECT_EQ(rig.window.flush_all(FlushKind::full), Flush::needed) << "the put is not there yet";
    rig.window.all_passed(FlushKind::full, 0);
    EXPECT_NE(rig.window.flush_all(FlushKind::full), Flush::needed);
    fetched(2, 0, 64);
    Buffer buffer(64);
    rig.get(2, 64, 64, buffer.data());
    EXPECT_FALSE(rig.window.all_pass()) << "this one waits to be cached";
}

TEST_F(SleepingTest, ALocalFlushDoesNotCompleteUpdates) {
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

TEST_F(CachedWindowTest, WhatIsUnderWayWhenATargetFallsAsleepIsNotForgotten) {
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
    EXPECT_TRUE(rig.window.nothing_kept(1));
    const std::uint64_t flushes = rig.library_flushes;
    rig.flush(1);
    EXPECT_EQ(rig.library_flushes, flushes + 1) << "of the put";
    rig.flush(1);
    EXPECT_EQ(rig.library_flushes, flushes + 1);
}

TEST_F(SleepingTest, AFlushThatFailsCompletesNothing) {
    Buffer buffer(64);
    rig.get(1, 0, 64, buffer.data());
    ASSERT_EQ(rig.window.try_flush(1, FlushKind::full), Served::pass);
    rig.window.flush_passing(1, FlushKind::full, [] { return 1; });
    EXPECT_EQ(rig.window.try_flush(1, FlushKind::full), Served::pass);
    rig.window.flush_passing(1, FlushKind::full, [] { return 0; });
    const Flush again = rig.window.flush(1, FlushKind::full);
    EXPECT_TRUE(again == Flush::elided || again == Flush::elided_progress);
}

TEST_F(SleepingTest, AnAtomicThatPassesIsNewsWhenItIsComplete) {
    rig.flush(1);
    rig.window.count_read(1);
    const std::uint64_t before = process_acquires(), flushes = rig.library_flushes;
    ASSERT_TRUE(rig.window.update_passes(1, true));
    EXPECT_EQ(process_acquires(), before);
    rig.flush(1);
    EXPECT_EQ(rig.library_flushes, flushes + 1);
    EXPECT_EQ(process_acquires(), before + 1);
    // One that only reads, and is complete only after the target has been woken.
    rig.window.count_read(1, true);
    Buffer buffer(8);
    while (rig.window.passes(1, 8)) {
    }
    EXPECT_EQ(rig.get(1, 8, 8, buffer.data()), 0);
    EXPECT_EQ(process_acquires(), before + 1);
    rig.flush_all();
    EXPECT_EQ(process_acquires(), before + 2);
}

/// Nothing has been read of the window's targets yet.
struct UnreadTest : CachedWindowTest {
    UnreadTest() {
        change_setting(&Settings::write_combining_bytes, std::uint64_t{0});
        rig.flush_all();
    }
};

TEST_F(UnreadTest, UpdatesAndTheirFlushesPass) {
    Buffer value(64, 0x55);
    rig.put(1, 0, 64, value.data());  // after one that was looked at
    const std::uint64_t flushes = rig.library_flushes, puts = counters().puts;
    EXPECT_TRUE(rig.window.put_passes(1));
    EXPECT_TRUE(rig.window.update_passes(1));
    EXPECT_EQ(counters().puts, puts + 2);
    EXPECT_EQ(rig.window.try_flush(1, FlushKind::full), Served::pass);
    rig.window.flush_passing(1, FlushKind::full, [] { return 0; });
    rig.flush(1);
    EXPECT_EQ(rig.library_flushes, flushes) << "there is nothing outstanding";
}

TEST_F(UnreadTest, TheFirstGetEndsThat) {
    Buffer value(64, 0x55), buffer(64);
    rig.put(1, 0, 64, value.data());
    // It may overtake the put, and is not kept.
    rig.get(1, 0, 64, buffer.data());
    EXPECT_FALSE(rig.window.put_passes(1)) << "cached bytes have to take its values";
    EXPECT_FALSE(rig.window.update_passes(1));
    EXPECT_EQ(rig.window.flush(1, FlushKind::local), Flush::needed);
    rig.flush(1);
    EXPECT_FALSE(rig.hits(1, 0, 64, buffer.data()));
    EXPECT_EQ(fetched(1, 0, 64), value);
    EXPECT_TRUE(rig.hits(1, 0, 64, buffer.data()));
}

TEST_F(CachedWindowTest, SmallPutsOfAnUnreadTargetAreCollected) {
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

TEST_F(CachedWindowTest, PutsThatGoAloneAreLookedAtNowAndThen) {
    change_setting(&Settings::bypass, Bypass::on);
    rig.window.describe_memory(
        std::vector<TargetMemory>{{.extent_bytes = 4096}, {.extent_bytes = 4096}, {.extent_bytes = 4096}});
    rig.flush_all();
    Buffer value(8, 0x55);
    int passed = 0;
    for (int i = 0; i < 10'000; ++i) {
        if (rig.window.put_passes(1))
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

TEST_F(SleepingTest, AFlushOfAllEntersTheLibraryForThem) {
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

TEST_F(SleepingTest, WhatPassedIsCompletedAfterItWakes) {
    // The last gets of the pause pass untracked; the first flush after it must not be elided.
    for (int i = 0; i < 10'000'000; ++i) {
        if (rig.window.passes(1, 64)) continue;
        Buffer buffer(64, 0);
        EXPECT_EQ(rig.window.try_get_slowly({1, 4096, 64, reinterpret_cast<std::byte*>(buffer.data())}),
                  Served::miss);
        EXPECT_EQ(rig.window.flush(1, FlushKind::full), Flush::needed);
        return;
    }
    FAIL() << "it never woke";
}

TEST_F(SleepingTest, UpdatesPassAndNothingOlderIsThereWhenItWakes) {
    const std::uint64_t puts = counters().puts;
    Buffer value(64, 0x3c);
    rig.put(1, 0, 64, value.data());
    ASSERT_TRUE(rig.window.put_passes(1));
    ASSERT_TRUE(rig.window.update_passes(1));
    EXPECT_EQ(counters().puts, puts + 3);
    const std::uint64_t flushes = rig.library_flushes;
    rig.flush_all();
    EXPECT_EQ(rig.library_flushes, flushes + 1) << "it may have to complete the put";
    rig.put(1, 64, 64, value.data());
    Buffer buffer(64, 0);
    for (int i = 0; i < 10'000'000 && rig.window.passes(1, 64); ++i) {
    }
    rig.get(1, 0, 64, buffer.data());
    rig.flush(1);
    EXPECT_EQ(buffer, value) << "the range was cached before it fell asleep";
    EXPECT_EQ(fetched(1, 64, 64), value);
}

TEST_F(SleepingTest, WhatItHadIsThereWhenItWakes) {
    rig.memory[1][0] ^= 0xff;  // against the mode's rules: so the old byte shows where it came from
    for (int i = 0; i < 10'000'000 && rig.window.passes(1, 64); ++i) {
    }
    const std::uint64_t messages = rig.messages;
    const Buffer kept = fetched(1, 0, 64);
    EXPECT_EQ(rig.messages, messages);
    EXPECT_NE(kept, bytes(1, 0, 64));
}

TEST_F(SleepingTest, AFlushThatFoundItAsleepServesWhatAnotherThreadHasStarted) {
    Buffer passing(64), first(64, 0), second(64, 0);
    rig.get(1, 0, 64, passing.data());
    ASSERT_EQ(rig.window.flush(1, FlushKind::full), Flush::needed_unseen);
    // Before that flush enters the library, another thread's gets wake the target; the last one waits.
    for (int i = 0; i < 10'000'000; ++i)
        if (rig.try_get(1, 4096, 64, passing.data()) != Served::pass) break;
    rig.get(1, 4096, 64, passing.data());
    rig.get(1, 4096, 64, first.data());
    rig.get(1, 4096, 64, second.data());
    const auto since = rig.window.now();
    rig.arrive(1);
    rig.window.done_unseen(1, since, FlushKind::full);
    rig.flush(1);
    EXPECT_EQ(first, bytes(1, 4096, 64));
    EXPECT_EQ(second, bytes(1, 4096, 64));
}

TEST(StandingBack, WithSeveralThreadsLocksAreLookedAt) {
    const Rig threads(Rig::settings(Mode::always_cache), 3, 4096, true);
    EXPECT_FALSE(threads.window.lock_passes(1));
    EXPECT_FALSE(threads.window.unlock_passes(1));
}

TEST_F(CachedWindowTest, LargeRangesAreKeptAtTheirSecondGetWhenTheirCopyIsFelt) {
    Settings s = Rig::settings(Mode::always_cache);
    s.bypass = Bypass::on;
    Rig fast(s, 2, 1 << 20);
    Buffer buffer(32768);
    // This network is as fast as a copy, so each copy into the cache is felt.
    for (std::uint64_t offset = 0; offset < (1 << 20); offset += 32768) {
        fast.get(1, offset, 32768, buffer.data());
        fast.flush(1);
    }
    EXPECT_GT(fast.window.counters().deferred, 0u);
    EXPECT_EQ(fast.window.counters().hits, 0u);
}

}  // namespace
}  // namespace nearfetch

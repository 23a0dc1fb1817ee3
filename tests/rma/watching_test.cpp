// SPDX-License-Identifier: Apache-2.0
//
// Targets that are watched: most gets and puts pass, and reuse is found.

#include <gtest/gtest.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "base/ticks.hpp"
#include "rma/acquires.hpp"
#include "rma/window_cache.hpp"
#include "window_fixture.hpp"

namespace nearfetch {
namespace {

using namespace testing;

/// A window over a network on which a get takes as long as hundreds of lookups.
struct WatchingTest : CachedWindowTest {
    WatchingTest() {
        change_setting(&Settings::bypass, Bypass::on);
        rig.flush_all();
        rig.network_ticks = static_cast<std::uint64_t>(8000 / ns_per_tick());
        for (std::size_t i = 0; i < 4000 && counters().bypassed == 0; ++i)
            fetched(1, 8 * i, 8);
        EXPECT_GT(counters().bypassed, 0u) << "what we do ourselves is felt";
    }

    /// 64 bytes that nobody asked for before, which are looked at when they are asked for again, or not even
    /// then.
    static std::uint64_t fresh(bool watched, std::uint64_t from = 40000) {
        std::uint64_t offset = from;
        while (Doorkeeper::sampled(1, offset) != watched)
            offset += 64;
        return offset;
    }
    bool passes(std::uint64_t offset, Buffer& into) {
        EXPECT_EQ(rig.try_get(1, offset, into.size(), into.data()), Served::no);
        const ByteRun run{offset, into.size(), reinterpret_cast<std::byte*>(into.data())};
        const RangeGet get = Rig::range_get_of(1, run);
        if (!rig.window.passes_watched(get) || rig.start_get(1, {&run, 1}) != 0) return false;
        rig.window.note_bypassed_get(get);
        return true;
    }
};

TEST_F(WatchingTest, ReuseAfterAStreamIsFoundByItsFirstReuse) {
    // 64 ranges in turn, of which some 16 are watched: admitted at their second get, hits at their third.
    // Eight hits, and all are cached.
    for (std::size_t pass = 0; pass < 6; ++pass)
        for (std::size_t i = 0; i < 64; ++i)
            ASSERT_EQ(fetched(1, 40000 + 64 * i, 64), bytes(1, 40000 + 64 * i, 64));
    const std::uint64_t hits = counters().hits;
    for (std::size_t i = 0; i < 64; ++i)
        fetched(1, 40000 + 64 * i, 64);
    EXPECT_EQ(counters().hits, hits + 64);
}

TEST_F(WatchingTest, WhatIsAskedForForTheFirstTimePasses) {
    Buffer buffer(64);
    for (const bool watched : {true, false}) {
        const std::uint64_t bypassed = counters().bypassed, flushes = rig.library_flushes;
        EXPECT_TRUE(passes(fresh(watched), buffer));
        EXPECT_EQ(counters().bypassed, bypassed + 1);
        EXPECT_EQ(rig.window.try_flush(1, FlushKind::full), Served::pass);
        rig.flush(1);
        EXPECT_EQ(rig.library_flushes, flushes + 1);
        EXPECT_EQ(buffer, bytes(1, fresh(watched), 64));
        rig.flush(1);
        EXPECT_EQ(rig.library_flushes, flushes + 1) << "nothing is under way";
    }
    EXPECT_TRUE(passes(fresh(false), buffer)) << "nobody remembers it";
    rig.flush(1);
    EXPECT_FALSE(passes(fresh(true), buffer)) << "it is to be cached";
}

TEST_F(WatchingTest, OneFlushCompletesWhatHasPassedAndWhatHasNot) {
    fetched(1, fresh(true), 64);
    Buffer kept(64), passed(64);
    rig.get(1, fresh(true), 64, kept.data());
    EXPECT_TRUE(passes(fresh(false), passed));
    EXPECT_EQ(rig.window.try_flush(1, FlushKind::full), Served::no);
    const std::uint64_t flushes = rig.library_flushes;
    rig.flush(1);
    rig.flush(1);
    EXPECT_EQ(rig.library_flushes, flushes + 1);
    EXPECT_EQ(kept, bytes(1, fresh(true), 64));
    EXPECT_EQ(passed, bytes(1, fresh(false), 64));
    const std::uint64_t messages = rig.messages;
    fetched(1, fresh(true), 64);
    EXPECT_EQ(rig.messages, messages) << "it has been cached";
}

TEST_F(WatchingTest, AnUnlockOfWhatHasPassedIsNotLookedAt) {
    fetched(1, fresh(true), 64);
    Buffer value(64, 0x3c), kept(64), passed(64);
    ASSERT_TRUE(rig.window.lock_passes(1));
    rig.window.lock_passed(1);
    ASSERT_TRUE(passes(fresh(false), passed));
    ASSERT_TRUE(rig.window.unlock_passes(1));
    rig.window.unlock_passed(1, 1);
    EXPECT_EQ(rig.window.try_flush(1, FlushKind::full), Served::pass) << "it has failed";
    rig.window.unlock_passed(1, 0);
    EXPECT_NE(rig.window.try_flush(1, FlushKind::full), Served::pass) << "nothing is under way";

    rig.get(1, fresh(true), 64, kept.data());
    EXPECT_FALSE(rig.window.unlock_passes(1)) << "this one waits to be cached";
    EXPECT_TRUE(rig.window.lock_passes(1));
    rig.flush(1);
    EXPECT_TRUE(rig.window.unlock_passes(1));
    EXPECT_EQ(kept, bytes(1, fresh(true), 64));

    rig.late_puts = true;
    rig.put(1, 0, 64, value.data());
    EXPECT_FALSE(rig.window.unlock_passes(1)) << "the put is not there yet";
    rig.flush(1);
    EXPECT_TRUE(rig.window.unlock_passes(1));
}

TEST_F(WatchingTest, WhatCompletesAllCompletesWhatHasPassed) {
    Buffer buffer(64);
    ASSERT_TRUE(passes(fresh(false), buffer));
    EXPECT_EQ(rig.window.flush_all(FlushKind::full), Flush::needed);
    rig.flush_all();
    EXPECT_EQ(buffer, bytes(1, fresh(false), 64));
    EXPECT_NE(rig.window.flush_all(FlushKind::full), Flush::needed);
    ASSERT_TRUE(passes(fresh(false), buffer)) << "and it is listed again";
    EXPECT_EQ(rig.window.flush_all(FlushKind::full), Flush::needed);
}

TEST_F(WatchingTest, APutThatIsUnderWayIsCompletedByTheLibrary) {
    Buffer value(64, 0x3c), buffer(64);
    rig.late_puts = true;
    rig.put(1, 0, 64, value.data());
    ASSERT_TRUE(passes(fresh(false), buffer));
    rig.flush(1, FlushKind::local);
    EXPECT_EQ(rig.window.try_flush(1, FlushKind::full), Served::no);
    rig.flush(1);
    EXPECT_EQ(bytes(1, 0, 64), value);
}

TEST_F(WatchingTest, PutsThatGoAlonePassUntilOneIsLookedAt) {
    Buffer value(64, 0x3c), buffer(64);
    const std::uint64_t puts = counters().puts, flushes = rig.library_flushes;
    EXPECT_FALSE(rig.window.put_goes_by(1));
    rig.put(1, 0, 64, value.data());
    rig.flush(1);
    rig.put(1, 64, 64, value.data());
    EXPECT_EQ(rig.window.try_flush(1, FlushKind::full), Served::pass);
    rig.flush(1, FlushKind::local);
    EXPECT_EQ(rig.window.try_flush(1, FlushKind::full), Served::pass) << "it may not be there yet";
    rig.flush(1);
    EXPECT_NE(rig.window.try_flush(1, FlushKind::full), Served::pass) << "nothing is under way";
    EXPECT_EQ(counters().puts, puts + 2);
    EXPECT_EQ(rig.library_flushes, flushes + 3);
    ASSERT_TRUE(passes(fresh(false), buffer)) << "it is watched as before";
    int passed = 1;
    while (rig.window.put_goes_by(1))
        ++passed;
    EXPECT_EQ(passed, 255);
    rig.put(1, 128, 64, value.data());
    EXPECT_TRUE(rig.window.put_goes_by(1)) << "that one was looked at";
}

TEST_F(WatchingTest, CachedBytesTakeTheValuesOfPutsThatPass) {
    for (int i = 0; i < 2; ++i)
        fetched(1, fresh(true), 64);
    Buffer value(64, 0x3c), other(64, 0x55);
    rig.put(1, 0, 64, value.data());
    rig.put(1, fresh(true), 64, value.data());
    rig.put_status = 1;
    EXPECT_EQ(rig.put(1, fresh(true) + 8, 8, other.data()), 1);
    rig.flush(1);
    const std::uint64_t messages = rig.messages;
    EXPECT_EQ(fetched(1, fresh(true), 64), value);
    EXPECT_EQ(rig.messages, messages) << "it is a hit";
}

TEST_F(WatchingTest, AGetThatMayOvertakeAPutThatPassedIsNotKept) {
    Buffer value(64, 0x3c), buffer(64);
    rig.late_puts = true;
    rig.put(1, 0, 64, value.data());
    rig.flush(1);
    for (const std::uint64_t offset : {fresh(true), fresh(true, 50000)}) {
        ASSERT_TRUE(passes(offset, buffer));
        rig.flush(1);
        rig.put(1, fresh(true), 64, value.data());
        ASSERT_FALSE(passes(offset, buffer)) << "it was asked for before";
        rig.get(1, offset, 64, buffer.data());
        rig.flush(1);
        const std::uint64_t messages = rig.messages;
        EXPECT_EQ(fetched(1, offset, 64), bytes(1, offset, 64));
        EXPECT_EQ(rig.messages, messages + (offset == fresh(true) ? 1 : 0));
    }
}

TEST_F(WatchingTest, NothingPassesWhatIsCollected) {
    rig.window.describe_memory(std::vector<TargetMemory>(3, {.extent_bytes = 65536}));
    Buffer value(64, 0x3c);
    bool started = true;
    for (int i = 0; i < 64 && started; ++i) {
        rig.flush(1);
        rig.put(1, fresh(false), 64, value.data(), &started);
    }
    ASSERT_FALSE(started);
    Buffer buffer(64);
    EXPECT_FALSE(passes(fresh(false), buffer));
    EXPECT_EQ(fetched(1, fresh(false), 64), value);
}

TEST_F(WatchingTest, WhatIsAskedForAgainInVainIsSeldomAdmitted) {
    SimulatedTicks clock{.now = 0, .step = 1000};
    simulated_ticks = &clock;
    rig.network_ticks = 8000;
    const auto forgotten = [&](std::size_t gets) {
        const std::uint64_t before = counters().direct;
        for (std::size_t i = 0; i < gets; ++i) {
            rig.window.acquire();
            fetched(1, 40000 + 64 * (i % 64), 64);
        }
        return counters().direct - before;
    };
    forgotten(2000);
    EXPECT_EQ(counters().hits, 0u);
    // A quarter of all is watched, and was asked for before.
    EXPECT_LT(forgotten(20'000), 1000u);
    EXPECT_GT(forgotten(20'000), 20u);
    simulated_ticks = nullptr;
}

/// Such a network in mode acquire, in simulated time: of a get that misses some percents are our work.
/// Nothing was read yet.
struct LearningTest : CachedWindowTest {
    LearningTest() : CachedWindowTest(Mode::acquire) {
        simulated_ticks = &clock;
        change_setting(&Settings::bypass, Bypass::on);
        rig.network_ticks = 8000;
    }
    ~LearningTest() override { simulated_ticks = nullptr; }
    /// Gets without reuse, until they are no longer cached. Before every `gets`-th of them the process learns
    /// something, as often as `acquires` says.
    void read(Rank target, std::size_t gets, int acquires) {
        const std::uint64_t bypassed = counters().bypassed;
        for (std::size_t i = 0; i < 4000 && counters().bypassed == bypassed; ++i) {
            for (int n = 0; n < acquires && i % gets == 0; ++n)
                acquire_process();
            fetched(target, 8 * i, 8);
        }
    }
    bool decided(std::string_view what) const {
        const std::vector<Decision> all = rig.window.decisions();
        return std::ranges::find(all, what, &Decision::what) != all.end();
    }

    SimulatedTicks clock{.now = 0, .step = 100};
};

TEST_F(LearningTest, WhereEachGetBeginsWithAColdCacheThereIsNothingToFind) {
    read(1, 1, 1);
    EXPECT_EQ(counters().direct, 32u) << "one round";
    EXPECT_TRUE(decided("gets: left alone"));
}

TEST_F(LearningTest, EveryOtherGetMayHit) {
    read(1, 2, 1);
    EXPECT_EQ(counters().direct, 7 * 32u);
    EXPECT_TRUE(decided("gets: watched"));
}

TEST_F(LearningTest, WhatIsLearnedAtOnceIsForgottenOnce) {
    read(1, 32, 1000);
    EXPECT_EQ(counters().direct, 7 * 32u);
    EXPECT_TRUE(decided("gets: watched"));
}

TEST_F(LearningTest, WhatIsForgottenBeforeATargetIsReadIsNoneOfItsRounds) {
    read(2, 1, 1);
    read(1, 4000, 0);
    EXPECT_EQ(counters().direct, 32u + 7 * 32u);
    EXPECT_TRUE(decided("gets: left alone"));
    EXPECT_TRUE(decided("gets: watched"));
}

}  // namespace
}  // namespace nearfetch

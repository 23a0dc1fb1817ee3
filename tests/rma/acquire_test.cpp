// SPDX-License-Identifier: Apache-2.0
// Mode acquire: what the process learns makes windows forget, flushes do not.
#include <gtest/gtest.h>

#include "rma/polls.hpp"
#include "window_fixture.hpp"

namespace nearfetch {
namespace {

using testing::Buffer;
using testing::Rig;
using testing::WindowCacheTest;

struct AcquireWindowTest : WindowCacheTest {
    AcquireWindowTest() : WindowCacheTest(Mode::acquire) {}
    void change(Rank target, std::size_t offset) { ++rig.memory[static_cast<std::size_t>(target)][offset]; }
    /// A get that has read before `meanwhile`, and is complete after it.
    template <class Meanwhile>
    void overtaken(Rank target, std::size_t offset, const Meanwhile& meanwhile) {
        Buffer to(8);
        rig.get(target, offset, 8, to.data());
        rig.arrive(target);
        meanwhile();
        rig.flush(target);
    }
};

TEST_F(AcquireWindowTest, FlushesForgetNothing) {
    const Buffer before = bytes(1, 100, 50);
    fetched(1, 100, 50);
    fetched(1, 400, 50);
    rig.flush_all();
    change(1, 100);  // a race, by which the hit shows
    EXPECT_EQ(fetched(1, 100, 50), before);
    EXPECT_EQ(rig.messages, 2u);
    EXPECT_EQ(counters().hits, 1u);
}

TEST_F(AcquireWindowTest, AnAcquireForgetsInEveryWindowInThisModeOnly) {
    Rig other(Rig::settings(Mode::acquire), 2, 4096), constant(Rig::settings(Mode::always_cache), 2, 4096);
    Buffer to(8);
    for (Rig* r : {&rig, &other, &constant}) {
        r->get(1, 0, 8, to.data());
        r->flush(1);
        r->get(1, 64, 8, to.data());
        r->flush(1);
    }
    testing::process.acquires.acquire();
    EXPECT_FALSE(rig.hits(1, 0, 8, to.data()));
    EXPECT_FALSE(other.hits(1, 0, 8, to.data()));
    EXPECT_TRUE(constant.hits(1, 0, 8, to.data()));
    change(1, 0);
    EXPECT_EQ(fetched(1, 0, 8), bytes(1, 0, 8));
    fetched(1, 64, 8);
    EXPECT_EQ(fetched(1, 0, 8), bytes(1, 0, 8));
    EXPECT_EQ(rig.messages, 4u);
}

TEST_F(AcquireWindowTest, AGetThatWasUnderWayDuringAnAcquireIsNotUsedLater) {
    overtaken(1, 0, [&] {
        testing::process.acquires.acquire();
        change(1, 0);
    });
    fetched(1, 64, 8);
    EXPECT_EQ(fetched(1, 0, 8), bytes(1, 0, 8));
    EXPECT_EQ(rig.messages, 3u);
}

TEST_F(AcquireWindowTest, WhatIsPrefetchedAfterAnAcquireIsUsed) {
    fetched(1, 0, 8);
    testing::process.acquires.acquire();
    change(1, 300);
    EXPECT_EQ(rig.window.prefetch(1, {256, 512}), 0);
    rig.flush(1);
    EXPECT_EQ(rig.messages, 2u);
    EXPECT_EQ(fetched(1, 256, 256), bytes(1, 256, 256));
    EXPECT_EQ(rig.messages, 2u);
    // The same get again would be a poll, but for what came between.
    testing::process.acquires.acquire();
    change(1, 300);
    EXPECT_EQ(rig.window.prefetch(1, {256, 512}), 0);
    rig.flush(1);
    EXPECT_EQ(fetched(1, 256, 256), bytes(1, 256, 256));
    EXPECT_EQ(rig.messages, 3u);
    EXPECT_EQ(rig.window.prefetch(1, {256, 512}), 0);
    rig.flush(1);
    fetched(1, 256, 256);
    EXPECT_EQ(rig.messages, 4u) << "it had all";
}

TEST_F(AcquireWindowTest, TheSameGetAfterAFlushIsAPoll) {
    for (int round = 0; round < 5; ++round) {
        change(1, 100);
        EXPECT_EQ(fetched(1, 100, 8), bytes(1, 100, 8));
    }
    EXPECT_EQ(rig.messages, 5u);
    EXPECT_EQ(counters().polls, 4u);
    // With another get between, or no flush, it is none.
    fetched(1, 400, 8);
    fetched(1, 100, 8);
    Buffer to(8);
    EXPECT_FALSE(rig.hits(1, 100, 8, to.data()));
    fetched(1, 100, 8);
    EXPECT_TRUE(rig.hits(1, 400, 8, to.data()));
    EXPECT_TRUE(rig.hits(1, 100, 8, to.data()));
    EXPECT_TRUE(rig.hits(1, 100, 8, to.data()));
}

TEST_F(AcquireWindowTest, APollThatBringsOtherBytesIsAnAcquire) {
    const Buffer before = bytes(1, 4096, 8);
    fetched(1, 4096, 8);
    fetched(1, 0, 8);
    change(1, 4096);
    fetched(1, 0, 8);
    EXPECT_EQ(counters().polls, 1u);
    EXPECT_EQ(fetched(1, 4096, 8), before) << "it brought none";
    fetched(1, 0, 8);
    change(1, 0);
    EXPECT_EQ(fetched(1, 0, 8), bytes(1, 0, 8));
    EXPECT_EQ(counters().polls, 2u);
    EXPECT_EQ(fetched(1, 4096, 8), bytes(1, 4096, 8));
}

TEST_F(AcquireWindowTest, APollInPiecesIsAPoll) {
    Buffer to(16);
    auto* const origin = reinterpret_cast<std::byte*>(to.data());
    const std::array runs{ByteRun{0, 8, origin}, ByteRun{64, 8, origin + 8}};
    for (int round = 0; round < 3; ++round) {
        change(1, 64);
        rig.get(1, runs);
        rig.flush(1);
        EXPECT_EQ(to[8], rig.memory[1][64]);
    }
    EXPECT_EQ(counters().polls, 2u);
}

TEST_F(AcquireWindowTest, AFetchingAtomicAcquiresWhenItIsComplete) {
    fetched(1, 0, 8);
    fetched(1, 64, 8);
    const ByteRun flag{1000, 8, nullptr};
    rig.window.updates().update_started(2, std::span(&flag, 1), true);
    fetched(1, 0, 8);
    fetched(1, 64, 8);
    EXPECT_EQ(rig.messages, 2u);
    rig.flush(2);
    EXPECT_FALSE(rig.window.completions().must_be_seen());
    change(1, 0);
    EXPECT_EQ(fetched(1, 0, 8), bytes(1, 0, 8));
    EXPECT_EQ(rig.messages, 3u);
    // A read is one, too; an update is none.
    fetched(1, 64, 8);
    rig.window.updates().read_started(2, true);
    rig.flush_all();
    fetched(1, 0, 8);
    EXPECT_EQ(rig.messages, 5u);
    fetched(1, 64, 8);
    rig.window.updates().update_started(2, std::span(&flag, 1));
    rig.flush(2);
    fetched(1, 0, 8);
    EXPECT_EQ(rig.messages, 6u);
}

TEST_F(AcquireWindowTest, TheNewsOfAnAtomicAreSeenWhereNothingIsCached) {
    Rig off(Rig::settings(Mode::off), 2, 4096);
    const std::uint64_t before = testing::process.acquires.count();
    off.window.updates().read_started(1, true);
    EXPECT_TRUE(off.window.completions().must_be_seen());
    EXPECT_EQ(off.window.completions().flush(0, FlushKind::full), Flush::needed) << "a put may have gone by";
    EXPECT_EQ(off.window.completions().flush_all(FlushKind::full), Flush::needed);
    off.flush(1);
    EXPECT_FALSE(off.window.completions().must_be_seen());
    EXPECT_GT(testing::process.acquires.count(), before);
    off.window.updates().read_started(0, true);
    const std::uint64_t between = testing::process.acquires.count();
    off.flush(0);
    EXPECT_GT(testing::process.acquires.count(), between);
}

TEST_F(AcquireWindowTest, WhatMayHaveOvertakenAnUpdateIsNotKept) {
    Buffer old = bytes(1, 100, 8), to(8), value(8, 0x77);
    rig.late_puts = true;
    fetched(1, 1024, 8);  // from now on it is known which bytes are put
    rig.put(1, 100, 8, value.data());
    rig.get(1, 512, 8, to.data());
    // The gets are faster than the put.
    overtaken(1, 100, [&] { std::copy(value.begin(), value.end(), rig.memory[1].begin() + 100); });
    EXPECT_TRUE(rig.hits(1, 512, 8, to.data()));
    EXPECT_EQ(fetched(1, 100, 8), value);
    EXPECT_NE(old, value);
}

TEST_F(AcquireWindowTest, WhatMayHaveOvertakenAnUpdateThatWasNotCountedIsNotKept) {
    change_setting(&Settings::mode, Mode::off);
    // Here the program puts, which the window is not told of.
    change_setting(&Settings::mode, Mode::acquire);
    overtaken(1, 100, [&] { change(1, 100); });  // the get is faster than the put
    fetched(1, 512, 8);
    EXPECT_EQ(fetched(1, 100, 8), bytes(1, 100, 8));
}

TEST_F(AcquireWindowTest, ModesChange) {
    fetched(1, 0, 8);
    change_setting(&Settings::mode, Mode::always_cache);
    fetched(1, 0, 8);
    testing::process.acquires.acquire();
    fetched(1, 0, 8);
    EXPECT_EQ(rig.messages, 2u);
    change_setting(&Settings::mode, Mode::acquire);
    fetched(1, 0, 8);
    fetched(1, 64, 8);
    testing::process.acquires.acquire();
    fetched(1, 0, 8);
    EXPECT_EQ(rig.messages, 5u);
}

TEST(Standstill, RefreshesARankThatLivesOnHitsAloneLessAndLessOften) {
    constexpr std::uint64_t first = 4000;
    StandstillDetector detector(first);
    std::uint64_t now = 1'000'000;
    const auto patience = [&](std::uint64_t fetched, std::uint64_t acquires) {
        const std::uint64_t begin = now;
        while (!detector.step(now, fetched, acquires))
            now += 100;
        return now - begin;
    };
    EXPECT_EQ(patience(5, 1), first);
    EXPECT_EQ(patience(5, 1), 2 * first);
    EXPECT_EQ(patience(6, 1), 4 * first);  // what it fetched since is the refresh
    EXPECT_EQ(patience(6, 2), first);      // it learned something
    for (std::uint64_t i = 0; i < 100; ++i, now += 2 * first)
        ASSERT_FALSE(detector.step(now, 7 + i, 2));
}

bool is_kept(Rig& rig, Rank target, bool may_keep) {
    return rig.window.locks().judge_shared_lock(target, may_keep).kept_by == SharedLock::Keeper::front_end;
}

/// No epoch is open, and locks are promised to be access only.
struct LockTest : AcquireWindowTest {
    LockTest() {
        Settings promised = rig.window.settings();
        promised.locks = "access";
        rig.window.change_settings(promised);
        rig.flush(1);
        rig.window.locks().change_epochs([](EpochTracker& epochs) { epochs.set_all(Epoch::none); });
    }
    bool keeps(Rank target, bool may_keep) { return is_kept(rig, target, may_keep); }
};

TEST_F(LockTest, WaitsWhereNothingIsOpenAndWhatFollowsMayHit) {
    EXPECT_FALSE(keeps(1, false)) << "no promise";
    EXPECT_FALSE(keeps(0, true)) << "the process's own memory";
    EXPECT_TRUE(keeps(1, true));
    EXPECT_FALSE(keeps(1, true)) << "for the library to refuse";
    rig.window.locks().elide_lock(1);
    EXPECT_EQ(counters().locks, 4u);
    EXPECT_EQ(counters().locks_elided, 1u);
    Buffer to(8);
    EXPECT_FALSE(rig.hits(1, 0, 8, to.data())) << "the epoch is over";
}

TEST_F(LockTest, IsElidedAroundHits) {
    const auto locked = [this](std::size_t offset) {
        const bool waits = keeps(1, true);
        EXPECT_TRUE(waits);
        const std::uint64_t before = rig.messages;
        Buffer to(8);
        rig.get(1, offset, 8, to.data());
        if (rig.messages == before) {
            rig.window.locks().elide_lock(1);
        } else {
            const auto since = rig.window.completions().now();
            rig.arrive(1);
            rig.window.completions().complete(1, since, FlushKind::full, 0, 0);
            rig.window.locks().change_epochs([](EpochTracker& epochs) { epochs.set(1, Epoch::none); });
        }
        EXPECT_EQ(to, bytes(1, offset, 8));
    };
    for (int round = 0; round < 5; ++round)
        for (const std::size_t offset : {0u, 4096u * 3})
            locked(offset);
    EXPECT_EQ(counters().hits, 8u);
    EXPECT_EQ(counters().locks_elided, 8u);
    // The same get again after it was completed is a poll, also where what completed it was elided.
    locked(4096 * 3);
    EXPECT_EQ(counters().polls, 1u);
    EXPECT_EQ(counters().locks_elided, 8u);
}

TEST_F(LockTest, IsNotElidedInModesThatForgetAtItsEndNorWithThreads) {
    Settings settings = Rig::settings(Mode::transparent);
    settings.locks = "access";
    Rig transparent(settings, 2, 4096);
    settings.mode = Mode::acquire;
    Rig threaded(settings, 2, 4096, true);
    for (Rig* r : {&transparent, &threaded}) {
        r->window.locks().change_epochs([](EpochTracker& epochs) { epochs.set_all(Epoch::none); });
        EXPECT_FALSE(is_kept(*r, 1, true));
    }
}

}  // namespace
}  // namespace nearfetch

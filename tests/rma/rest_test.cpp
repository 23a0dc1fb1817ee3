// SPDX-License-Identifier: Apache-2.0

// What a window makes of calls that nobody saw (rma/rest.hpp).

#include "rma/rest.hpp"

#include <gtest/gtest.h>

#include "rma/acquires.hpp"
#include "rma/window_cache.hpp"
#include "window_fixture.hpp"

namespace nearfetch {
namespace {

using testing::Buffer;
using testing::SleepingTest;

constexpr std::uint64_t countless = 1u << 30;  ///< gets: the time is what counts

TEST_F(SleepingTest, AtRestIsWhoKeepsNothing) {
    const auto rest = rig.window.rest();
    ASSERT_TRUE(rest) << "target 1 is asleep, and nothing was read of the others";
    EXPECT_EQ(rest->targets, 3u);
    EXPECT_TRUE(rest->looks());
    fetched(1, 0, 64);
    const double pause = rest->ticks_to_next_look - rest->longest_get_ticks;
    EXPECT_NEAR(rig.window.rest()->ticks_to_next_look, pause, 1e-6 * pause) << "of one get";
    rig.window.went_unseen({.ticks = pause / 2, .gets = countless});
    EXPECT_NEAR(rig.window.rest()->ticks_to_next_look, pause / 2, rest->longest_get_ticks);
    rig.window.went_unseen({.ticks = 2 * pause, .gets = countless});
    EXPECT_EQ(rig.window.rest()->ticks_to_next_look, 0);
    fetched(2, 0, 64);
    EXPECT_FALSE(rig.window.rest());
    change_setting(&Settings::mode, Mode::off);
    EXPECT_FALSE(rig.window.rest()) << "atomics are to be seen";
}

TEST(Rest, ACallTakesNoLongerThanAGetDidNorThanTheOnesSeenSince) {
    Rest rest;
    EXPECT_EQ(rest.call_ticks(1000, 10), 0) << "no get is looked at";
    rest.longest_get_ticks = 50;
    EXPECT_EQ(rest.call_ticks(1000, 10), 50) << "the program's own work took the time";
    EXPECT_EQ(rest.call_ticks(100, 10), 10) << "the first gets took long";
}

TEST(Unseen, IsOfTheKindsThatPassed) {
    EXPECT_EQ(Unseen{.epochs = true}.kinds(), Passed::nothing);
    EXPECT_EQ(Unseen{.gets = 1}.kinds(), Passed::gets);
    EXPECT_EQ(Unseen{.updates = 2}.kinds(), Passed::updates);
    EXPECT_EQ((Unseen{.gets = 1, .updates = 2, .bring_news = true}.kinds()),
              Passed::gets | Passed::updates | Passed::fetches);
}

TEST_F(SleepingTest, UnseenGetsShortenThePauseByAsManyButByNoMoreThanTheyCanHaveTaken) {
    const auto left = [&] {
        const auto rest = rig.window.rest();
        return rest->ticks_to_next_look / rest->longest_get_ticks;
    };
    double before = left();
    rig.window.went_unseen({.ticks = 1e18, .gets = 10});
    EXPECT_NEAR(before - left(), 10, 1e-6) << "the program's own work took the time";
    before = left();
    const double get_ticks = rig.window.rest()->longest_get_ticks;
    rig.window.went_unseen({.ticks = 100 * get_ticks, .gets = countless});
    EXPECT_NEAR(before - left(), 100, 1) << "they were of other targets";
    before = left();
    rig.window.went_unseen({.ticks = 1e18, .updates = 10, .epochs = true});
    EXPECT_EQ(left(), before) << "there were none";
}

TEST_F(SleepingTest, WhatWentUnseenIsCompletedAtAnyTarget) {
    rig.flush_all();
    for (const Unseen& unseen : {Unseen{.gets = 1}, Unseen{.updates = 1}}) {
        rig.window.went_unseen(unseen);
        for (const Rank target : {1, 2}) {
            const std::uint64_t flushes = rig.library_flushes;
            rig.flush(target);
            EXPECT_EQ(rig.library_flushes, flushes + 1);
            rig.flush(target);
            EXPECT_EQ(rig.library_flushes, flushes + 1);
        }
    }
    const std::uint64_t before = process_acquires();
    rig.window.went_unseen({.gets = 1, .updates = 1, .bring_news = true});
    rig.flush(2);
    EXPECT_EQ(process_acquires(), before + 1) << "an atomic may have brought news";
}

TEST_F(SleepingTest, WhatItHadIsThereAfterUnseenGets) {
    rig.memory[1][0] ^= 0xff;  // against the mode's rules: so the old byte shows where it came from
    rig.window.went_unseen({.ticks = 1e18, .gets = countless});
    const std::uint64_t messages = rig.messages;
    EXPECT_NE(fetched(1, 0, 64), bytes(1, 0, 64));
    EXPECT_EQ(rig.messages, messages);
}

TEST_F(SleepingTest, NothingOlderIsThereAfterUnseenUpdates) {
    std::fill_n(rig.memory[1].begin(), 64, 0x3c);  // a put of this process that nobody saw
    rig.window.went_unseen({.updates = 1});
    rig.window.went_unseen({.ticks = 1e18, .gets = countless});
    EXPECT_EQ(fetched(1, 0, 64), Buffer(64, 0x3c));
    EXPECT_EQ(fetched(1, 0, 64), Buffer(64, 0x3c));
}

TEST_F(SleepingTest, UnseenPutsCountForTheNextLook) {
    Buffer value(64, 0x3c);
    rig.put(1, 0, 64, value.data());
    ASSERT_TRUE(rig.window.put_passes(1));
    rig.window.went_unseen({.updates = 1u << 20});
    EXPECT_FALSE(rig.window.put_passes(1)) << "it is time to look at one";
}

/// The rig holds a lock of all; here each access has one of its own.
struct LockingTest : SleepingTest {
    LockingTest() {
        rig.window.change_epochs([](EpochTracker& epochs) { epochs.set_all(Epoch::none); });
    }
    void lock(Rank target) { rig.window.lock_passed(target); }
    void unlock(Rank target) { rig.window.unlock_passed(target, 0); }
    bool lock_is_open() const { return rig.window.rest()->lock_is_open; }
};

TEST_F(LockingTest, ALockIsOpenUntilItsUnlock) {
    EXPECT_FALSE(lock_is_open());
    lock(1);
    lock(2);
    EXPECT_TRUE(lock_is_open());
    unlock(1);
    EXPECT_TRUE(lock_is_open());
    unlock(2);
    EXPECT_FALSE(lock_is_open());
}

TEST_F(LockingTest, NothingHitsUnderALockThatNobodySaw) {
    const auto get = [&](bool seen) {
        if (seen) rig.window.change_epochs([](EpochTracker& epochs) { epochs.set(1, Epoch::passive); });
        const std::uint64_t messages = rig.messages;
        for (int i = 0; i < 2; ++i)
            EXPECT_EQ(fetched(1, 0, 64), bytes(1, 0, 64));
        return rig.messages - messages;
    };
    rig.window.went_unseen(
        {.ticks = 1e18, .gets = countless, .epochs = true});  // so that the target is looked at
    EXPECT_EQ(get(false), 2u);
    EXPECT_LT(get(true), 2u);
}

TEST_F(LockingTest, ALockThatNobodySawEndsAFence) {
    const auto may_access = [&] {
        bool may = false;
        rig.window.change_epochs([&](EpochTracker& epochs) {
            epochs.accessed();
            may = epochs.may_access(1);
        });
        return may;
    };
    for (const bool unseen : {false, true}) {
        rig.window.change_epochs([](EpochTracker& epochs) { epochs.fence(); });
        rig.window.went_unseen({.updates = 1, .epochs = unseen});
        EXPECT_EQ(may_access(), !unseen);
    }
}

}  // namespace
}  // namespace nearfetch

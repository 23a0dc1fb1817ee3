// SPDX-License-Identifier: Apache-2.0
// Polls by gets in every state of a target: what a poll brings is compared with the look before it, and if it
// is something else, or that is not known, the process acquires.
#include <gtest/gtest.h>

#include "window_fixture.hpp"

namespace nearfetch {
namespace {

using testing::Buffer;
using testing::Rig;
using testing::WindowCacheTest;

constexpr std::size_t flag = 4096, data = 8192;

/// The flag is in one window, whose state the parameter says, and the data in another, which caches.
struct PollsTest : WindowCacheTest, ::testing::WithParamInterface<Bypass> {
    PollsTest() : WindowCacheTest(Mode::acquire), other(Rig::settings(Mode::acquire), 2, 16384) {
        change_setting(&Settings::bypass, GetParam());
        change_setting(&Settings::read_ahead_bytes, 0);
        rig.window.describe_memory(std::vector<TargetMemory>(3, {.extent_bytes = 65536}));
        for (std::size_t i = 0; i < 40; ++i)
            fetched(1, i * 64, 8);
        read();
    }
    /// Reads something else, too, so that it does not poll.
    Buffer read() {
        Buffer to(8), beside(8);
        other.get(1, data, 8, to.data());
        other.flush(1);
        other.get(1, data + 1024, 8, beside.data());
        other.flush(1);
        return to;
    }
    void write() { ++other.memory[1][data]; }
    void raise() { ++rig.memory[1][flag]; }
    bool is_old() {
        return read() != Buffer(other.memory[1].begin() + data, other.memory[1].begin() + data + 8);
    }
    void look(std::size_t size = 8) { EXPECT_EQ(fetched(1, flag, size), bytes(1, flag, size)); }

    Rig other;
};

TEST_P(PollsTest, APollThatBringsOtherBytesIsAnAcquire) {
    for (int round = 0; round < 3; ++round) {
        read();
        for (int i = 0; i < 5; ++i)
            look();
        write();
        EXPECT_TRUE(is_old()) << "polls that bring the same bytes forget nothing";
        look();
        raise();
        look();
        EXPECT_FALSE(is_old());
    }
}

TEST_P(PollsTest, ChangeBetweenTheFirstAndTheSecondLook) {
    look();
    write();
    raise();
    look();
    EXPECT_FALSE(is_old());
}

TEST_P(PollsTest, OtherSizesAndOtherPlacesAreNoPolls) {
    for (int i = 0; i < 4; ++i) {
        look(8);
        look(64);
    }
    write();
    raise();
    fetched(1, flag, 8);
    EXPECT_TRUE(is_old()) << "a race, and not promised";
    EXPECT_EQ(counters().polls, 0u);
}

TEST_P(PollsTest, OnlyThePlacesThatArePolledAreCompared) {
    look();
    fetched(1, flag + 512, 8);
    look();
    look();
    write();
    raise();
    fetched(1, flag + 512, 8);
    EXPECT_TRUE(is_old());
}

TEST_P(PollsTest, APollThatAnotherGetFollowsBeforeItIsComplete) {
    look();
    look();
    write();
    raise();
    Buffer polled(8), beside(8);
    rig.get(1, flag, 8, polled.data());
    rig.get(1, flag + 1024, 8, beside.data());
    rig.flush(1);
    EXPECT_FALSE(is_old());
}

TEST_P(PollsTest, ByFlushesOfAllTargets) {
    Buffer to(8);
    const auto look_all = [&] {
        rig.get(1, flag, 8, to.data());
        rig.flush_all();
    };
    look_all();
    look_all();
    write();
    raise();
    look_all();
    EXPECT_FALSE(is_old());
}

TEST_P(PollsTest, OfAGetInPieces) {
    Buffer to(16);
    auto* const origin = reinterpret_cast<std::byte*>(to.data());
    const std::array runs{ByteRun{flag, 8, origin}, ByteRun{flag + 64, 8, origin + 8}};
    const auto look_in_runs = [&] {
        rig.get(1, runs);
        rig.flush(1);
    };
    look_in_runs();
    look_in_runs();
    write();
    raise();
    look_in_runs();
    EXPECT_FALSE(is_old());
}

TEST_P(PollsTest, WhatIsCachedStaysWhenTheStateChanges) {
    // Data and flag in one window, which changes its state between them.
    change_setting(&Settings::bypass, Bypass::off);
    fetched(2, 100, 8);
    change_setting(&Settings::bypass, GetParam());
    look();
    look();
    ++rig.memory[2][100];
    raise();
    look();
    change_setting(&Settings::bypass, Bypass::off);
    EXPECT_EQ(fetched(2, 100, 8), bytes(2, 100, 8));
    const std::uint64_t messages = rig.messages;
    change_setting(&Settings::bypass, GetParam());
    change_setting(&Settings::bypass, Bypass::off);
    EXPECT_EQ(fetched(2, 100, 8), bytes(2, 100, 8));
    EXPECT_LE(rig.messages, messages + 1) << "the same get again, a poll";
}

/// Only bypassed calls may go straight to the library.
struct PassthroughPollsTest : PollsTest {};

TEST_P(PassthroughPollsTest, WhatNobodySawMayHaveBeenAPoll) {
    look();
    look();
    Buffer to(8);
    rig.get(1, flag, 8, to.data());
    rig.arrive(1);
    to = {};  // its flush goes unseen, and its memory is gone
    to.shrink_to_fit();
    const std::uint64_t before = testing::process.acquires.count();
    rig.window.bypass().before_passthrough();
    rig.window.bypass().after_passthrough(1, Bypassed::gets | Bypassed::updates | Bypassed::fetches);
    EXPECT_GT(testing::process.acquires.count(), before);
    rig.flush(1);
}

INSTANTIATE_TEST_SUITE_P(States, PollsTest,
                         ::testing::Values(Bypass::off, Bypass::sampling, Bypass::always,
                                           Bypass::passthrough));
INSTANTIATE_TEST_SUITE_P(States, PassthroughPollsTest,
                         ::testing::Values(Bypass::always, Bypass::passthrough));

/// Windows that are off, as a front end has them: their gets are noted, and not asked about before.
struct OffWindowTest : ::testing::TestWithParam<bool> {
    OffWindowTest() : off(Rig::settings(Mode::off), 2, 16384, GetParam()) {}
    void get(Buffer& to, RequestId request = 0) {
        const ByteRun run{flag, to.size(), reinterpret_cast<std::byte*>(to.data())};
        ASSERT_EQ(off.start_get(1, {&run, 1}), 0);
        off.window.gets().record_bypassed_get({1, flag, to.size(), run.origin, request});
        if (request != 0) off.window.gets().note_late(1, run);
    }
    void flush_all() {
        EXPECT_TRUE(off.window.completions().gets_under_way());
        off.flush_all();
        EXPECT_FALSE(off.window.completions().gets_under_way());
    }
    Rig off;
};

TEST_P(OffWindowTest, AFlushOfAllTargetsCompletesAPoll) {
    Buffer to(8);
    for (int i = 0; i < 2; ++i) {
        get(to);
        flush_all();
    }
    const std::uint64_t before = testing::process.acquires.count();
    ++off.memory[1][flag];
    get(to);
    flush_all();
    EXPECT_GT(testing::process.acquires.count(), before);
}

TEST_P(OffWindowTest, AFlushReleasesOriginsThatMayBeLate) {
    Buffer to(8);
    get(to, 1);
    EXPECT_EQ(testing::process.origins.first == nullptr, GetParam())
        << "with threads each window knows its own";
    off.window.completions().complete_bypassed_request(1);
    flush_all();
    EXPECT_EQ(testing::process.origins.first, nullptr);
}

INSTANTIATE_TEST_SUITE_P(Threads, OffWindowTest, ::testing::Bool());

TEST_F(WindowCacheTest, WhatWasSeenWhileBypassedIsNewerThanWhatIsCached) {
    change_setting(&Settings::mode, Mode::acquire);
    rig.flush_all();
    fetched(1, flag, 8);
    fetched(1, 0, 8);
    EXPECT_TRUE(rig.hits(1, flag, 8, Buffer(8).data()));
    change_setting(&Settings::bypass, Bypass::always);
    ++rig.memory[1][flag];
    for (int i = 0; i < 3; ++i)
        EXPECT_EQ(fetched(1, flag, 8), bytes(1, flag, 8));
    const std::uint64_t before = testing::process.acquires.count();
    change_setting(&Settings::bypass, Bypass::off);
    EXPECT_EQ(fetched(1, flag, 8), bytes(1, flag, 8));
    EXPECT_EQ(testing::process.acquires.count(), before) << "a poll that brings what was seen last";
}

TEST_F(WindowCacheTest, AHeldStateStays) {
    for (const Bypass state : {Bypass::sampling, Bypass::always}) {
        change_setting(&Settings::bypass, state);
        for (int round = 0; round < 100; ++round)
            for (std::size_t i = 0; i < 16; ++i)
                fetched(1, 16384 + i * 64, 64);
        const std::uint64_t hits = counters().hits;
        for (std::size_t i = 0; i < 16; ++i)
            fetched(1, 32768 + i * 64, 64);
        EXPECT_EQ(counters().hits, hits) << "what is asked for once is not kept";
    }
}

}  // namespace
}  // namespace nearfetch

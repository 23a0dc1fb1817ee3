// SPDX-License-Identifier: Apache-2.0
//
// A stronger promise never gains less: the same gets in each mode, counted. And what is read ahead under a
// promise that does not cover it expires at the next acquire of the process, but for what was asked for.

#include <gtest/gtest.h>

#include <array>
#include <random>
#include <string>
#include <vector>

#include "rma/window_cache.hpp"
#include "window_fixture.hpp"

namespace nearfetch {
namespace {

using testing::Buffer;
using testing::WindowCacheTest;

void acquire_by_message() { testing::process.acquires.acquire(); }

/// Each rank exposes 65,536 bytes, in blocks of 1024.
struct ModesTest : WindowCacheTest {
    explicit ModesTest(Mode mode) : WindowCacheTest(mode) {
        change_setting(&Settings::read_ahead_bytes, 1024);
        const TargetMemory memory{.extent_bytes = 65536};
        rig.window.describe_memory(std::array{memory, memory, memory});
        rig.flush_all();
    }
    /// Another process writes there.
    void overwrite(std::size_t begin, std::size_t end) {
        for (std::size_t at = begin; at < end; ++at)
            rig.memory[1][at] ^= 0xff;
    }
    void put(std::size_t offset) {
        Buffer value = bytes(1, offset, 8);
        rig.put(1, offset, 8, value.data());
        rig.flush(1);
    }
};
struct UserDefinedTest : ModesTest {
    UserDefinedTest() : ModesTest(Mode::user_defined) {}
};
struct AlwaysCacheTest : ModesTest {
    AlwaysCacheTest() : ModesTest(Mode::always_cache) {}
};

TEST_F(UserDefinedTest, WhatNobodyHasAskedForExpiresAtAnAcquireAndTheRestStays) {
    const Buffer first = fetched(1, 1100, 8), second = fetched(1, 1200, 8), third = fetched(1, 1304, 8);
    EXPECT_EQ(counters().read_aheads, 1u);
    EXPECT_EQ(rig.messages, 2u);
    overwrite(1024, 2048);
    acquire_by_message();
    EXPECT_EQ(fetched(1, 1304, 8), third) << "until the program invalidates";
    EXPECT_EQ(fetched(1, 1200, 8), second);
    EXPECT_EQ(fetched(1, 1100, 8), first) << "which the region has replaced";
    EXPECT_EQ(rig.messages, 2u);
    EXPECT_EQ(fetched(1, 1400, 8), bytes(1, 1400, 8)) << "as the other process left it";
    EXPECT_EQ(rig.messages, 3u);
    rig.window.acquire();
    EXPECT_EQ(fetched(1, 1304, 8), bytes(1, 1304, 8));
    EXPECT_EQ(fetched(1, 1400, 8), bytes(1, 1400, 8));
}

TEST_F(UserDefinedTest, WhatWasAskedForOutlivesSeveralRegions) {
    for (std::size_t phase = 0; phase < 5; ++phase) {
        for (std::size_t each = 0; each < 10; ++each)
            fetched(1, 1024 + 100 * each + 8 * phase, 8);
        acquire_by_message();
    }
    const std::uint64_t messages = rig.messages;
    EXPECT_LE(messages, 2u + 4u) << "one region in each phase";
    for (std::size_t phase = 0; phase < 5; ++phase)
        for (std::size_t each = 0; each < 10; ++each)
            fetched(1, 1024 + 100 * each + 8 * phase, 8);
    EXPECT_EQ(rig.messages, messages);
}

TEST_F(UserDefinedTest, WhatHasExpiredInPartIsFetchedAsOne) {
    fetched(1, 1100, 8);
    fetched(1, 1200, 8);
    overwrite(1024, 2048);
    acquire_by_message();
    EXPECT_EQ(fetched(1, 1196, 16), bytes(1, 1196, 16)) << "the bytes in its middle were asked for before";
    EXPECT_EQ(rig.messages, 3u);
}

TEST_F(UserDefinedTest, WhatWaitsForARegionHasAskedForItsBytes) {
    fetched(1, 1100, 8);
    Buffer first(8), second(8);
    rig.get(1, 1200, 8, first.data());
    rig.get(1, 1304, 8, second.data());
    rig.flush(1);
    acquire_by_message();
    EXPECT_EQ(fetched(1, 1304, 8), second);
    EXPECT_EQ(fetched(1, 1200, 8), first);
    EXPECT_EQ(rig.messages, 2u);
}

TEST_F(UserDefinedTest, PutsOfThisProcessAreSeenInWhatHasExpired) {
    fetched(1, 1100, 8);
    fetched(1, 1200, 8);
    acquire_by_message();
    Buffer value(8, 0x11);
    rig.put(1, 1200, 8, value.data());
    rig.flush(1);
    EXPECT_EQ(fetched(1, 1200, 8), value);
    EXPECT_EQ(rig.messages, 2u);
}

TEST_F(AlwaysCacheTest, ReadsAheadWhileTheWindowIsBeingFilled) {
    put(8000);
    fetched(1, 1100, 8);
    const Buffer asked = fetched(1, 1200, 8);
    EXPECT_EQ(counters().read_aheads, 1u);
    overwrite(1024, 2048);
    acquire_by_message();
    EXPECT_EQ(fetched(1, 1200, 8), asked);
    EXPECT_EQ(fetched(1, 1304, 8), bytes(1, 1304, 8)) << "it may have been filled since";
}

TEST_F(AlwaysCacheTest, ReadsAheadForGoodWhenItIsFilled) {
    put(8000);
    fetched(1, 1100, 8);
    acquire_by_message();
    fetched(1, 1200, 8);
    acquire_by_message();
    fetched(1, 3100, 8);
    fetched(1, 3200, 8);
    const std::uint64_t messages = rig.messages;
    for (std::size_t offset = 3072; offset < 4096; offset += 8) {
        acquire_by_message();
        fetched(1, offset, 8);
    }
    EXPECT_EQ(rig.messages, messages);
}

/// Messages and hits of a program.
struct Traffic {
    std::uint64_t messages = 0, hits = 0;
};

/// A way to run it.
struct Step {
    std::string name;
    Mode mode;
    bool read_only_phases = false;
};

/// A program that fills a window and reads it then in small runs, some more often than others, and acquires
/// now and then. \param acquire_every gets
Traffic run(const Step& step, std::uint64_t seed, std::uint64_t acquire_every, bool fills) {
    Settings settings = testing::Rig::settings(step.mode);
    settings.read_only_phases = step.read_only_phases;
    settings.adaptive = true;
    testing::Rig rig(settings, 2, 1 << 17);
    rig.window.describe_memory(
        std::array{TargetMemory{.extent_bytes = 1 << 17}, TargetMemory{.extent_bytes = 1 << 17}});
    std::array<unsigned char, 64> buffer{};
    for (std::size_t at = 0; fills && at < (1 << 17); at += 512)
        rig.put(1, at, 64, buffer.data());
    rig.flush_all();
    acquire_by_message();
    std::mt19937_64 random(seed);
    for (std::uint64_t get = 1; get <= 20'000; ++get) {
        const std::uint64_t any = random() % (1 << 13), often = random() % (1 << 9);
        rig.get(1, 16 * (random() % 2 == 0 ? any : often), 16, buffer.data());
        rig.flush(1);
        if (get % acquire_every == 0) acquire_by_message();
    }
    const RangeCacheCounters c = rig.window.counters();
    return {rig.messages, c.hits + c.pending_hits};
}

TEST(Modes, AStrongerPromiseNeverGainsLess) {
    const std::vector<Step> steps{{"transparent", Mode::transparent},
                                  {"acquire", Mode::acquire},
                                  {"user-defined", Mode::user_defined},
                                  {"user-defined, read_only_phases", Mode::user_defined, true},
                                  {"always-cache", Mode::always_cache}};
    for (const bool fills : {false, true})
        for (const std::uint64_t acquire_every : {3u, 30u, 300u, 3000u, 1'000'000u}) {
            Traffic weaker{~std::uint64_t{0} / 2, 0};
            for (const Step& step : steps) {
                SCOPED_TRACE(step.name + ", an acquire every " + std::to_string(acquire_every) +
                             (fills ? " gets of a window that was filled" : " gets"));
                const Traffic now = run(step, 1, acquire_every, fills);
                EXPECT_LE(now.messages, weaker.messages + weaker.messages / 50 + 8);
                EXPECT_GE(now.hits + now.hits / 50 + 8, weaker.hits);
                weaker = now;
            }
        }
}

}  // namespace
}  // namespace nearfetch

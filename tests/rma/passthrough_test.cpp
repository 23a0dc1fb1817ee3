// SPDX-License-Identifier: Apache-2.0

// What a window makes of calls that went straight to the library (mpi/passthrough.hpp).

#include <gtest/gtest.h>

#include <limits>

#include "rma/window_cache.hpp"
#include "window_fixture.hpp"

namespace nearfetch {
namespace {

using testing::Buffer;
using testing::OpenBreakerTest;
using testing::WindowCacheTest;

constexpr std::uint64_t all = std::numeric_limits<std::uint64_t>::max();
constexpr Bypassed no_atomics = Bypassed::gets | Bypassed::updates;
constexpr Bypassed everything = no_atomics | Bypassed::fetches;

TEST_F(OpenBreakerTest, TheBudgetIsTheShortestBackoff) {
    BypassControl& bypass = rig.window.bypass();
    const auto budget = bypass.passthrough_budget(all);
    ASSERT_TRUE(budget) << "target 1 is bypassed, and nothing was read of the others";
    EXPECT_GT(*budget, 0u);
    fetched(1, 0, 64);
    EXPECT_EQ(bypass.passthrough_budget(all), *budget - 1);
    bypass.after_passthrough(10, everything);
    EXPECT_EQ(bypass.passthrough_budget(all), *budget - 11);
    EXPECT_EQ(bypass.passthrough_budget(20), 20u) << "nothing was read of the others";
    bypass.after_passthrough(all, everything);
    EXPECT_EQ(bypass.passthrough_budget(all), 0u);
    fetched(2, 0, 64);
    EXPECT_FALSE(bypass.passthrough_budget(all)) << "target 2 is cached";
}

TEST_F(WindowCacheTest, WhereNothingWasReadAsManyPassAsTheCallerSays) {
    change_setting(&Settings::bypass, Bypass::on);
    rig.flush_all();
    EXPECT_EQ(rig.window.bypass().passthrough_budget(64), 64u);
    change_setting(&Settings::bypass, Bypass::off);
    EXPECT_FALSE(rig.window.bypass().passthrough_budget(64)) << "the first get is to be cached";
    change_setting(&Settings::mode, Mode::off);
    EXPECT_EQ(rig.window.bypass().passthrough_budget(64), all);
}

struct PutsTest : WindowCacheTest {
    PutsTest() {
        change_setting(&Settings::bypass, Bypass::on);
        rig.window.describe_memory(std::vector<TargetMemory>(3, {.extent_bytes = 65536}));
        rig.flush_all();
    }
};

TEST_F(PutsTest, WhatIsCombinedDoesNotPass) {
    Buffer from(8, 0x11);
    for (std::uint32_t i = 0; i < policy::first_puts; ++i)
        ASSERT_EQ(rig.put(1, 8 * i, 8, from.data()), 0);
    rig.flush_all();
    EXPECT_FALSE(rig.window.bypass().passthrough_budget(64))
        << "it is known what they take: from now on they are combined";
}

/// They are not combined, so that nobody asks their breaker.
TEST_F(PutsTest, OfABypassedTargetTheyEndNothing) {
    change_setting(&Settings::read_ahead_bytes, 0);
    rig.flush_all();
    Buffer buffer(64);
    for (int i = 0; i < 100; ++i) {
        ASSERT_EQ(rig.put(1, 0, 8, buffer.data()), 0);
        rig.flush(1);
    }
    for (std::size_t i = 0; i < 64; ++i)
        fetched(1, i * 64, 64);
    const auto budget = rig.window.bypass().passthrough_budget(all);
    ASSERT_GT(budget, 100u);
    for (int i = 0; i < 1000; ++i) {
        ASSERT_EQ(rig.put(1, 0, 8, buffer.data()), 0);
        rig.flush(1);
    }
    EXPECT_EQ(rig.window.bypass().passthrough_budget(all), budget);
    rig.window.bypass().after_passthrough(*budget - 50, everything);
    EXPECT_EQ(rig.window.bypass().passthrough_budget(all), 50u);
}

TEST_F(WindowCacheTest, HeldBreakersHaveNoEnd) {
    change_setting(&Settings::bypass, Bypass::always);
    EXPECT_FALSE(rig.window.bypass().passthrough_budget(64)) << "each call is to be looked at";
    change_setting(&Settings::bypass, Bypass::passthrough);
    EXPECT_GT(rig.window.bypass().passthrough_budget(64), std::uint64_t{1} << 60);
}

TEST_F(OpenBreakerTest, WhatIsUnderWayWhenItBeginsIsNotLookedAtAgain) {
    Buffer to(8);
    const auto get = [&] {
        rig.get(1, 0, 8, to.data());
        ASSERT_TRUE(rig.window.completions().gets_under_way());
    };
    get();
    const std::uint64_t acquires = testing::process.acquires.count();
    rig.window.bypass().before_passthrough();
    EXPECT_FALSE(rig.window.completions().gets_under_way()) << "its buffer may be gone when it is complete";
    EXPECT_EQ(testing::process.acquires.count(), acquires);
    get();
    rig.flush(1);
    get();
    rig.window.bypass().before_passthrough();
    EXPECT_EQ(testing::process.acquires.count(), acquires + 1)
        << "that was a poll: nobody sees what it brings";
    EXPECT_FALSE(rig.window.completions().gets_under_way());
}

TEST_F(OpenBreakerTest, AfterwardsEverythingCountsAsOutstanding) {
    rig.flush_all();
    rig.window.bypass().after_passthrough(1, everything);
    for (const Rank target : {1, 2}) {
        const std::uint64_t flushes = rig.library_flushes, acquires = testing::process.acquires.count();
        rig.flush(target, FlushKind::local);
        EXPECT_EQ(rig.library_flushes, flushes + 1);
        EXPECT_EQ(testing::process.acquires.count(), acquires + 1)
            << "an atomic may have brought what another has written";
        rig.flush(target);
        EXPECT_EQ(rig.library_flushes, flushes + 2) << "a put may not be there yet";
        rig.flush(target);
        EXPECT_EQ(rig.library_flushes, flushes + 2);
    }
}

TEST_F(OpenBreakerTest, WithoutAtomicsNothingWaitsForAFlushAfterwards) {
    rig.flush_all();
    rig.window.bypass().after_passthrough(all, no_atomics);
    const std::uint64_t acquires = testing::process.acquires.count();
    // A program of requests alone never flushes.
    for (const RequestId request : {1u, 2u}) {
        Buffer to(8);
        const ByteRun run{0, to.size(), reinterpret_cast<std::byte*>(to.data())};
        ASSERT_EQ(rig.get(1, {&run, 1}, request), 0);
        rig.window.completions().complete_request(1, request, true, 0);
    }
    EXPECT_FALSE(rig.window.completions().must_be_seen());
    EXPECT_EQ(testing::process.acquires.count(), acquires);
}

TEST_F(OpenBreakerTest, NothingOlderIsThereAfterwards) {
    std::fill_n(rig.memory[1].begin(), 64, 0x3c);  // a put of this process that went straight to the library
    rig.window.bypass().after_passthrough(all, everything);
    EXPECT_EQ(fetched(1, 0, 64), Buffer(64, 0x3c));
    EXPECT_EQ(fetched(1, 0, 64), Buffer(64, 0x3c));
}

TEST_F(WindowCacheTest, OfAWindowThatIsOffTheNextCompletionIsSeen) {
    change_setting(&Settings::mode, Mode::off);
    rig.flush_all();
    EXPECT_FALSE(rig.window.completions().must_be_seen());
    rig.window.bypass().after_passthrough(1, everything);
    ASSERT_TRUE(rig.window.completions().must_be_seen()) << "an atomic may be outstanding";
    const std::uint64_t acquires = testing::process.acquires.count();
    for (const Rank target : {0, 1, 2})
        rig.flush(target);
    EXPECT_GT(testing::process.acquires.count(), acquires);
    EXPECT_FALSE(rig.window.completions().must_be_seen());
}

}  // namespace
}  // namespace nearfetch

// SPDX-License-Identifier: Apache-2.0

// Gets with requests that are fetched with what is around them, and those that wait for what they bring.

#include <gtest/gtest.h>

#include <array>

#include "rma/window_cache.hpp"
#include "window_fixture.hpp"

namespace nearfetch {
namespace {

using testing::Buffer;
using testing::Rig;
using testing::WindowCacheTest;

const std::array<TargetMemory, 3> memory{
    {{.extent_bytes = 10000}, {.extent_bytes = 10000}, {.extent_bytes = 10000}}};

/// Blocks of 1024 bytes are read ahead. Of two of them something has been read, and is there.
struct LeadersTest : WindowCacheTest {
    LeadersTest() {
        change_setting(&Settings::read_ahead_bytes, 1024);
        rig.window.describe_memory(memory);
        rig.window.completions().complete_all(rig.window.completions().now(), FlushKind::full, 0, 0);
        fetched(1, 1100, 8);
        fetched(1, 2200, 8);
        rig.messages = 0;
    }
    Begun get(std::size_t offset, Buffer& to, RequestId request) {
        EXPECT_EQ(rig.get(1, offset, to.size(), to.data(), request), 0);
        return rig.begun;
    }
    void complete(RequestId request) { rig.window.completions().complete_request(1, request, true); }

    Buffer first = Buffer(8), second = Buffer(8), third = Buffer(8);
};

TEST_F(LeadersTest, RequestsOfWhatALeaderBringsWaitForIt) {
    EXPECT_EQ(get(1200, first, 7), Begun::leader);
    EXPECT_EQ(get(1300, second, 8), Begun::waiting);
    EXPECT_EQ(get(2040, third, 9), Begun::waiting);
    EXPECT_EQ(rig.messages, 1u);
    EXPECT_EQ(counters().pending_hits, 2u);
    rig.arrive(1);
    EXPECT_EQ(rig.waiting.size(), 2u);
    complete(7);
    EXPECT_TRUE(rig.waiting.empty());
    EXPECT_EQ(first, bytes(1, 1200, 8));
    EXPECT_EQ(second, bytes(1, 1300, 8));
    EXPECT_EQ(third, bytes(1, 2040, 8));
    second.assign(8, 0x5a);  // the program's again
    complete(8);
    rig.flush(1);
    EXPECT_EQ(second, Buffer(8, 0x5a));
    EXPECT_EQ(fetched(1, 1500, 8), bytes(1, 1500, 8));
    EXPECT_EQ(rig.messages, 1u);
}

TEST_F(LeadersTest, WhoIsWaitedForFirstMakesTheLeaderArrive) {
    get(1200, first, 7);
    get(1300, second, 8);
    rig.arrive(1);
    rig.finish(1, 8);
    EXPECT_EQ(first, bytes(1, 1200, 8));
    EXPECT_EQ(second, bytes(1, 1300, 8));
    complete(7);
    rig.flush(1);
    EXPECT_EQ(counters().read_aheads, 1u);
}

TEST_F(LeadersTest, AFlushCompletesWhatWaits) {
    get(1200, first, 7);
    get(1300, second, 8);
    rig.flush(1, FlushKind::local);
    EXPECT_TRUE(rig.waiting.empty());
    EXPECT_EQ(second, bytes(1, 1300, 8));
    complete(8);
    complete(7);
}

TEST_F(LeadersTest, GetsWithoutARequestWaitForItToo) {
    get(1200, first, 7);
    EXPECT_EQ(get(1300, second, 0), Begun::waiting);
    rig.arrive(1);
    complete(7);
    EXPECT_EQ(second, bytes(1, 1300, 8));
    EXPECT_EQ(rig.messages, 1u);
}

TEST_F(LeadersTest, RequestsWaitForNoOtherGets) {
    get(1200, first, 0);
    EXPECT_EQ(get(1300, second, 8), Begun::started) << "only a flush completes what it would wait for";
    rig.arrive(1);
    complete(8);
    EXPECT_EQ(second, bytes(1, 1300, 8));
    rig.flush(1);
    EXPECT_EQ(first, bytes(1, 1200, 8));
}

TEST_F(LeadersTest, WhatNeedsTwoOfThemGoesToTheNetwork) {
    get(1200, first, 7);
    get(2300, second, 8);
    Buffer two(16), both(16);
    auto* const to_two = reinterpret_cast<std::byte*>(two.data());
    auto* const to = reinterpret_cast<std::byte*>(both.data());
    const std::array<ByteRun, 2> runs{{{1400, 8, to_two}, {2500, 8, to_two + 8}}};
    EXPECT_EQ(rig.get(1, runs, 9), 0);
    EXPECT_EQ(rig.begun, Begun::started);
    const std::array<ByteRun, 2> same{{{1400, 8, to}, {1500, 8, to + 8}}};
    EXPECT_EQ(rig.get(1, same, 10), 0);
    EXPECT_EQ(rig.begun, Begun::waiting) << "of one leader";
    EXPECT_EQ(rig.messages, 3u);
    rig.arrive(1);
    complete(7);
    EXPECT_FALSE(rig.waiting.contains(10));
    Buffer expected = bytes(1, 1400, 8);
    const Buffer more = bytes(1, 1500, 8);
    expected.insert(expected.end(), more.begin(), more.end());
    EXPECT_EQ(both, expected);
}

TEST_F(LeadersTest, WhatIsPartlyMissingGoesToTheNetwork) {
    get(1200, first, 7);
    Buffer more(16);
    EXPECT_EQ(get(2040, more, 8), Begun::started);
    EXPECT_EQ(rig.messages, 2u);
    rig.arrive(1);
    complete(8);
    EXPECT_EQ(more, bytes(1, 2040, 16));
    complete(7);
    EXPECT_EQ(first, bytes(1, 1200, 8));
}

TEST_F(LeadersTest, ALeaderWhoseEndNobodySawHasArrived) {
    get(1200, first, 7);
    get(1300, second, 8);
    rig.arrive(1);
    rig.window.completions().abandon_request(1, 7);
    EXPECT_EQ(first, bytes(1, 1200, 8));
    EXPECT_EQ(second, bytes(1, 1300, 8));
    EXPECT_TRUE(rig.waiting.empty());
}

TEST_F(LeadersTest, OneThatDoesNotStartLeavesNothingBehind) {
    rig.status = 5;
    EXPECT_EQ(rig.get(1, 1200, 8, first.data(), 7), 5);
    rig.status = 0;
    EXPECT_EQ(get(1300, second, 8), Begun::leader);
    rig.status = 5;
    EXPECT_EQ(rig.get(1, 1400, 8, third.data(), 9), 5) << "no request can be made for what waits";
    rig.status = 0;
    rig.arrive(1);
    complete(8);
    EXPECT_EQ(second, bytes(1, 1300, 8));
    EXPECT_EQ(third, Buffer(8));
    rig.flush(1);
    EXPECT_EQ(fetched(1, 1200, 8), bytes(1, 1200, 8));
}

TEST_F(LeadersTest, ALeaderWithoutWaitersThatIsOvertakenByAPutIsNotKept) {
    get(1200, first, 7);
    get(1300, second, 8);
    Buffer value(8, 0x33);
    rig.put(1, 1400, 8, value.data());
    rig.arrive(1);
    complete(7);
    EXPECT_EQ(second, bytes(1, 1300, 8));
    rig.flush(1);
    EXPECT_EQ(fetched(1, 1400, 8), value);
}

TEST(LeadersOfThreads, ThereAreNone) {
    Settings settings = Rig::settings(Mode::always_cache);
    settings.read_ahead_bytes = 1024;
    Rig rig(settings, 2, 10000, true);
    rig.window.describe_memory(std::span(memory).first(2));
    Buffer buffer(8);
    for (RequestId request = 1; request <= 3; ++request) {
        rig.get(1, 1000 * request, 8, buffer.data(), request);
        EXPECT_EQ(rig.begun, Begun::started);
        rig.arrive(1);
        rig.window.completions().complete_request(1, request, true);
    }
    for (RequestId request = 4; request <= 5; ++request) {
        rig.get(1, 1000 + 100 * request, 8, buffer.data(), request);
        EXPECT_EQ(rig.begun, Begun::started) << "another thread may be waiting for what it would wait for";
    }
    rig.flush(1);
}

}  // namespace
}  // namespace nearfetch

// SPDX-License-Identifier: Apache-2.0
#include "rma/window_cache.hpp"

#include <gtest/gtest.h>

#include <array>
#include <numeric>

#include "window_fixture.hpp"

namespace nearfetch {
namespace {

using testing::Buffer;
using testing::Rig;
using testing::WindowCacheTest;

struct TransparentWindowTest : WindowCacheTest {
    TransparentWindowTest() : WindowCacheTest(Mode::transparent) {}
};
struct UserDefinedWindowTest : WindowCacheTest {
    UserDefinedWindowTest() : WindowCacheTest(Mode::user_defined) {}
};
struct OffWindowTest : WindowCacheTest {
    OffWindowTest() : WindowCacheTest(Mode::off) {}
};

TEST_F(WindowCacheTest, SecondGetIsAHit) {
    EXPECT_EQ(fetched(1, 100, 50), bytes(1, 100, 50));
    EXPECT_EQ(fetched(1, 100, 50), bytes(1, 100, 50));
    EXPECT_EQ(rig.messages, 1u);
    EXPECT_EQ(rig.library_flushes, 1u);
    const auto c = counters();
    EXPECT_EQ(c.gets, 2u);
    EXPECT_EQ(c.direct, 1u);
    EXPECT_EQ(c.hits, 1u);
    EXPECT_EQ(c.flushes, 2u);
    EXPECT_EQ(c.flushes_elided, 1u);
    EXPECT_EQ(c.bytes_requested, 100u);
    EXPECT_EQ(c.bytes_from_cache, 50u);
    EXPECT_EQ(c.bytes_from_network, 50u);
}

TEST_F(WindowCacheTest, AHitCompletesAtOnce) {
    fetched(1, 0, 64);
    Buffer buffer(64);
    rig.get(1, 0, 64, buffer.data());
    EXPECT_EQ(buffer, bytes(1, 0, 64));
    EXPECT_TRUE(rig.transfers.empty());
}

TEST_F(WindowCacheTest, TargetsDoNotMix) {
    EXPECT_EQ(fetched(1, 0, 64), bytes(1, 0, 64));
    EXPECT_EQ(fetched(2, 0, 64), bytes(2, 0, 64));
    EXPECT_EQ(rig.messages, 2u);
}

TEST_F(WindowCacheTest, OwnMemoryIsNeverCached) {
    fetched(0, 0, 64);
    rig.memory[0][5] = 0x55;
    EXPECT_EQ(fetched(0, 0, 64), bytes(0, 0, 64));
    EXPECT_EQ(counters().bypassed, 2u);
}

TEST_F(WindowCacheTest, PartialHitFetchesOnlyTheGaps) {
    fetched(1, 100, 10);
    fetched(1, 130, 10);
    rig.bytes = rig.messages = 0;
    EXPECT_EQ(fetched(1, 90, 70), bytes(1, 90, 70));
    EXPECT_EQ(rig.messages, 1u) << "three gaps, one operation";
    EXPECT_EQ(rig.bytes, 50u);
    EXPECT_EQ(counters().partial_hits, 1u);
    EXPECT_EQ(fetched(1, 90, 70), bytes(1, 90, 70));
    EXPECT_EQ(rig.messages, 1u) << "all of it is there now, across neighbours";
    EXPECT_EQ(counters().hits, 1u);
}

TEST_F(WindowCacheTest, NeighboursThatAreWantedTogetherBecomeOneEntry) {
    fetched(1, 100, 10);
    fetched(1, 110, 90);
    Buffer buffer(100);
    auto* const to = buffer.data();
    EXPECT_EQ(rig.try_get(1, 105, 95, to), Served::miss) << "two entries";
    EXPECT_EQ(rig.window.gets().try_get({1, 105, 95, reinterpret_cast<std::byte*>(to)}), Served::hit);
    EXPECT_EQ(Buffer(to, to + 95), bytes(1, 105, 95));
    EXPECT_EQ(rig.try_get(1, 100, 100, to), Served::hit) << "one entry";
    EXPECT_EQ(buffer, bytes(1, 100, 100));
    EXPECT_EQ(rig.messages, 2u);
    // Where most of the new entry would be what this get does not want, they stay as they are.
    fetched(1, 200, 100);
    for (int i = 0; i < 2; ++i) {
        EXPECT_EQ(rig.try_get(1, 190, 20, to), Served::miss);
        EXPECT_EQ(rig.window.gets().try_get({1, 190, 20, reinterpret_cast<std::byte*>(to)}), Served::hit);
        EXPECT_EQ(Buffer(to, to + 20), bytes(1, 190, 20));
    }
    EXPECT_EQ(rig.messages, 3u);
}

TEST_F(WindowCacheTest, PendingHitIsServedWhenTheFirstArrives) {
    Buffer first(64, 0), second(32, 0);
    rig.get(1, 0, 64, first.data());
    rig.get(1, 16, 32, second.data());
    EXPECT_EQ(rig.messages, 1u);
    EXPECT_EQ(second, Buffer(32, 0)) << "nothing has arrived yet";
    rig.flush(1);
    EXPECT_EQ(first, bytes(1, 0, 64));
    EXPECT_EQ(second, bytes(1, 16, 32));
    EXPECT_EQ(counters().pending_hits, 1u);
}

TEST_F(WindowCacheTest, FlushOfOneTargetLeavesTheOthersPending) {
    Buffer one(64, 0), two(64, 0);
    rig.get(1, 0, 64, one.data());
    rig.get(2, 0, 64, two.data());
    rig.flush(1);
    // Had the flush of 1 committed 2 as well, the cache would now hold what this buffer held then.
    EXPECT_FALSE(rig.hits(2, 0, 64, one.data()));
    rig.flush(2);
    EXPECT_EQ(fetched(2, 0, 64), bytes(2, 0, 64));
    EXPECT_EQ(rig.messages, 2u);
}

TEST_F(WindowCacheTest, BufferMayBeReusedAfterCompletion) {
    Buffer buffer(64);
    rig.get(1, 0, 64, buffer.data());
    rig.flush(1);
    std::fill(buffer.begin(), buffer.end(), 0x77);
    EXPECT_EQ(fetched(1, 0, 64), bytes(1, 0, 64));
}

TEST_F(WindowCacheTest, FlushLocalCompletesGetsButNotPuts) {
    Buffer buffer(8), value(8, 3);
    rig.get(1, 0, 8, buffer.data());
    rig.put(1, 512, 8, value.data());
    rig.flush(1, FlushKind::local);
    EXPECT_EQ(rig.library_flushes, 1u);
    EXPECT_EQ(buffer, bytes(1, 0, 8));
    rig.flush(1, FlushKind::local);
    EXPECT_EQ(rig.library_flushes, 1u) << "nothing is outstanding locally";
    rig.flush(1);
    EXPECT_EQ(rig.library_flushes, 2u) << "the put may not have reached its target";
    rig.flush(1);
    EXPECT_EQ(rig.library_flushes, 2u);
}

TEST_F(WindowCacheTest, FlushAllIsElidedOnlyWhenAllTargetsAreIdle) {
    Buffer buffer(8);
    rig.flush_all();
    EXPECT_EQ(rig.library_flushes, 0u);
    rig.get(1, 0, 8, buffer.data());
    rig.get(2, 0, 8, buffer.data());
    rig.flush(1);
    rig.flush_all();
    EXPECT_EQ(rig.library_flushes, 2u);
    rig.flush_all();
    EXPECT_EQ(rig.library_flushes, 2u);
}

TEST_F(WindowCacheTest, PutsUpdateWhatIsCached) {
    fetched(1, 0, 64);
    Buffer value(16, 0xab);
    rig.put(1, 8, 16, value.data());
    rig.flush(1);
    EXPECT_EQ(fetched(1, 0, 64), bytes(1, 0, 64));
    EXPECT_EQ(rig.messages, 1u) << "the new bytes are known without asking";
    EXPECT_EQ(counters().puts, 1u);
}

TEST_F(WindowCacheTest, PutsOverPendingBytesKeepThemOutOfTheCache) {
    Buffer buffer(64), value(64, 0xcd);
    rig.get(1, 0, 64, buffer.data());
    rig.put(1, 32, 8, value.data());
    rig.flush(1);
    EXPECT_EQ(fetched(1, 0, 64), bytes(1, 0, 64));
    EXPECT_GE(rig.messages, 2u);
}

TEST_F(WindowCacheTest, AccumulatesMakeTheCacheForget) {
    fetched(1, 0, 64);
    rig.memory[1][10] ^= 0xff;
    const ByteRun run{8, 8, nullptr};
    rig.window.updates().update_started(1, {&run, 1});
    rig.flush(1);
    EXPECT_EQ(fetched(1, 0, 64), bytes(1, 0, 64));

    fetched(1, 1000, 64);
    rig.memory[1][1010] ^= 0xff;
    rig.window.updates().update_started(1, {});
    rig.flush(1);
    EXPECT_EQ(fetched(1, 1000, 64), bytes(1, 1000, 64))
        << "an unknown layout makes it forget the whole target";
}

TEST_F(WindowCacheTest, FailedStartReportsItsStatusAndKeepsNothing) {
    Buffer buffer(64, 1);
    rig.status = 17;
    EXPECT_EQ(rig.get(1, 0, 64, buffer.data()), 17);
    rig.status = 0;
    EXPECT_EQ(counters().gets, 0u);
    EXPECT_EQ(fetched(1, 0, 64), bytes(1, 0, 64));
    EXPECT_EQ(counters().direct, 1u);
}

TEST_F(WindowCacheTest, FailedCompletionKeepsNothing) {
    Buffer buffer(64, 1);
    rig.get(1, 0, 64, buffer.data());
    rig.window.completions().complete(1, rig.window.completions().now(), FlushKind::full, 5, 0);
    EXPECT_EQ(fetched(1, 0, 64), bytes(1, 0, 64)) << "a get whose completion failed must not become a hit";
}

TEST_F(WindowCacheTest, AFailedCompletionLeavesGetsToALaterOne) {
    Buffer first(64, 0), second(16, 0);
    rig.get(1, 0, 64, first.data());
    rig.get(1, 16, 16, second.data());
    EXPECT_EQ(rig.messages, 1u) << "the second waits for the first";
    rig.window.completions().complete(1, rig.window.completions().now(), FlushKind::full, 5,
                                      0);  // a flush that the library refuses
    rig.flush(1);
    EXPECT_EQ(first, bytes(1, 0, 64));
    EXPECT_EQ(second, bytes(1, 16, 16));
    EXPECT_EQ(counters().committed, 0u) << "what a failed call was to complete is not trusted";
}

TEST_F(WindowCacheTest, NoHitOutsideAnEpoch) {
    fetched(1, 0, 64);
    rig.window.locks().change_epochs([](EpochTracker& epochs) { epochs.set_all(Epoch::none); });
    Buffer buffer(64);
    EXPECT_FALSE(rig.hits(1, 0, 64, buffer.data()));
    EXPECT_EQ(rig.window.completions().flush(1, FlushKind::full), Flush::needed)
        << "the library has an error to report";
    rig.window.locks().change_epochs([](EpochTracker& epochs) { epochs.set(1, Epoch::passive); });
    EXPECT_TRUE(rig.hits(1, 0, 64, buffer.data()));
}

TEST_F(WindowCacheTest, InActiveEpochsFlushesAreTheLibrarysToRefuse) {
    fetched(1, 0, 64);
    Buffer buffer(64);
    rig.window.locks().change_epochs([](EpochTracker& epochs) { epochs.set_all(Epoch::none); });
    rig.window.locks().change_epochs([](EpochTracker& epochs) { epochs.start({1}); });
    EXPECT_TRUE(rig.hits(1, 0, 64, buffer.data()));
    EXPECT_EQ(rig.window.completions().flush(1, FlushKind::full), Flush::needed);
    EXPECT_EQ(rig.window.completions().flush_all(FlushKind::full), Flush::needed);
    EXPECT_FALSE(rig.hits(2, 0, 64, buffer.data())) << "not in the group";
    rig.window.locks().change_epochs([](EpochTracker& epochs) { epochs.complete(); });
    EXPECT_FALSE(rig.hits(1, 0, 64, buffer.data()));
}

TEST_F(WindowCacheTest, AFencesEpochBeginsWithAnAccessThatTheLibrarySees) {
    fetched(1, 0, 64);
    Buffer buffer(64);
    rig.window.locks().change_epochs([](EpochTracker& epochs) { epochs.fence(); });
    EXPECT_FALSE(rig.hits(1, 0, 64, buffer.data()));
    fetched(1, 0, 64);
    EXPECT_TRUE(rig.hits(1, 0, 64, buffer.data()));
    rig.window.locks().change_epochs([](EpochTracker& epochs) { epochs.fence(); });
    rig.window.locks().change_epochs([](EpochTracker& epochs) { epochs.set(1, Epoch::passive); });
    rig.window.locks().change_epochs([](EpochTracker& epochs) { epochs.set(1, Epoch::none); });
    fetched(1, 512, 64);
    EXPECT_FALSE(rig.hits(1, 0, 64, buffer.data())) << "after a lock there is no fence's epoch";
}

TEST_F(WindowCacheTest, SeveralPiecesGoInOneOperation) {
    fetched(1, 0, 16);
    Buffer buffer(48, 0);
    auto* const to = reinterpret_cast<std::byte*>(buffer.data());
    const std::array<ByteRun, 3> runs{ByteRun{0, 16, to}, ByteRun{1024, 16, to + 16},
                                      ByteRun{4096, 16, to + 32}};
    rig.messages = rig.bytes = 0;
    EXPECT_EQ(rig.get(1, runs), 0);
    rig.flush(1);
    EXPECT_EQ(rig.messages, 1u);
    EXPECT_EQ(rig.bytes, 32u);
    Buffer expected = bytes(1, 0, 16);
    for (std::size_t offset : {1024u, 4096u})
        for (unsigned char b : bytes(1, offset, 16))
            expected.push_back(b);
    EXPECT_EQ(buffer, expected);
    std::fill(buffer.begin(), buffer.end(), 0);
    EXPECT_EQ(rig.get(1, runs), 0);
    EXPECT_EQ(buffer, expected);
    EXPECT_EQ(rig.messages, 1u);
}

TEST_F(WindowCacheTest, RequestCommitsWhenItCompletes) {
    Buffer buffer(64);
    rig.get(1, 0, 64, buffer.data(), 7);
    EXPECT_EQ(rig.begun, Begun::started);
    rig.arrive(1);
    rig.window.completions().complete_request(1, 7, true);
    std::fill(buffer.begin(), buffer.end(), 0);
    rig.get(1, 0, 64, buffer.data(), 8);
    EXPECT_EQ(rig.begun, Begun::served);
    EXPECT_EQ(buffer, bytes(1, 0, 64));
}

TEST_F(WindowCacheTest, RequestDoesNotWaitForWhatComesToTheProgram) {
    Buffer first(64), second(64);
    rig.get(1, 0, 64, first.data(), 7);
    rig.get(1, 0, 64, second.data(), 8);
    EXPECT_EQ(rig.begun, Begun::started) << "its request has to complete on its own";
    EXPECT_EQ(rig.messages, 2u);
    rig.arrive(1);
    rig.window.completions().complete_request(1, 8, true);
    rig.window.completions().complete_request(1, 7, true);
    EXPECT_EQ(second, bytes(1, 0, 64));
}

TEST_F(WindowCacheTest, WhoWaitsForARequestIsServedBeforeItsBufferIsReused) {
    Buffer first(64), second(64, 0);
    rig.get(1, 0, 64, first.data(), 7);
    rig.get(1, 0, 64, second.data());
    EXPECT_EQ(rig.messages, 1u);
    rig.arrive(1);
    rig.window.completions().complete_request(1, 7, true);
    std::fill(first.begin(), first.end(), 0);
    rig.flush(1);
    EXPECT_EQ(second, bytes(1, 0, 64));
}

TEST_F(WindowCacheTest, FreedRequestIsCompletedByAFlush) {
    Buffer buffer(64);
    rig.get(1, 0, 64, buffer.data(), 7);
    rig.window.completions().complete_request(1, 7, false);
    rig.flush(1);
    EXPECT_EQ(fetched(1, 0, 64), bytes(1, 0, 64));
    EXPECT_EQ(rig.messages, 1u);
}

TEST_F(WindowCacheTest, AbandonedRequestIsNotKept) {
    Buffer buffer(64);
    rig.get(1, 0, 64, buffer.data(), 7);
    rig.window.completions().abandon_request(1, 7);
    rig.arrive(1);
    std::fill(buffer.begin(), buffer.end(), 0);  // the program waited for it, unseen
    rig.flush(1);
    EXPECT_EQ(fetched(1, 0, 64), bytes(1, 0, 64));
}

TEST_F(WindowCacheTest, PrefetchMakesALaterGetAHit) {
    EXPECT_EQ(rig.window.prefetch(1, {256, 512}), 0);
    EXPECT_EQ(counters().prefetches, 1u);
    rig.flush(1);
    EXPECT_EQ(fetched(1, 300, 100), bytes(1, 300, 100));
    EXPECT_EQ(rig.messages, 1u);
    EXPECT_EQ(counters().hits, 1u);
    EXPECT_EQ(rig.window.prefetch(1, {256, 512}), 0);
    EXPECT_EQ(rig.messages, 1u) << "it is there already";
}

TEST_F(WindowCacheTest, PrefetchEndsWithTheWindow) {
    rig.window.describe_memory(std::array<TargetMemory, 3>{
        {{.extent_bytes = 1000}, {.extent_bytes = 1000}, {.extent_bytes = 1000}}});
    EXPECT_EQ(rig.window.prefetch(1, {900, 4000}), 0);
    rig.flush(1);
    EXPECT_EQ(counters().prefetches, 1u);
    EXPECT_EQ(rig.bytes, 100u);
    EXPECT_EQ(fetched(1, 900, 100), bytes(1, 900, 100));
    EXPECT_EQ(counters().hits, 1u);
    constexpr std::uint64_t below = -std::uint64_t{64};
    for (const ByteRange& outside : {ByteRange{1000, 1064}, ByteRange{1 << 20, 1 << 21},
                                     ByteRange{below, below + 32}, ByteRange{below, 64}})
        EXPECT_EQ(rig.window.prefetch(1, outside), 0);
    EXPECT_EQ(rig.messages, 1u);
}

TEST_F(WindowCacheTest, GetBeforeThePrefetchArrivesWaitsForIt) {
    rig.window.prefetch(1, {256, 512});
    Buffer buffer(100, 0);
    rig.get(1, 300, 100, buffer.data());
    EXPECT_EQ(rig.messages, 1u);
    rig.flush(1);
    EXPECT_EQ(buffer, bytes(1, 300, 100));
}

TEST_F(WindowCacheTest, FailedPrefetchReportsItsStatus) {
    rig.status = 9;
    EXPECT_EQ(rig.window.prefetch(1, {256, 512}), 9);
    rig.status = 0;
    EXPECT_EQ(fetched(1, 256, 256), bytes(1, 256, 256));
}

TEST_F(WindowCacheTest, ChangedSettingsForgetAndApply) {
    fetched(1, 0, 64);
    change_setting(&Settings::mode, Mode::off);
    rig.memory[1][0] ^= 0xff;
    EXPECT_EQ(fetched(1, 0, 64), bytes(1, 0, 64));
    change_setting(&Settings::mode, Mode::always_cache);
    EXPECT_EQ(rig.window.completions().flush(1, FlushKind::full), Flush::needed_bypassed)
        << "what happened while the mode was off was not counted";
    EXPECT_EQ(fetched(1, 0, 64), bytes(1, 0, 64));
    EXPECT_EQ(fetched(1, 0, 64), bytes(1, 0, 64));
    EXPECT_EQ(counters().hits, 1u);
}

TEST_F(WindowCacheTest, WithoutMemoryItGoesOnWithoutACache) {
    Settings s = Rig::settings(Mode::always_cache);
    s.buffer_bytes = 1ull << 46;
    s.index_entries = 0xffffffffu;
    Rig big(s, 2, 256);
    Buffer buffer(64);
    for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(big.get(1, 0, 64, buffer.data()), 0);
        big.flush(1);
    }
    EXPECT_EQ(big.window.counters().gets, 3u);
}

TEST_F(TransparentWindowTest, NothingOutlivesItsEpoch) {
    fetched(1, 0, 64);
    rig.memory[1][3] ^= 0xff;
    EXPECT_EQ(fetched(1, 0, 64), bytes(1, 0, 64));
    EXPECT_EQ(rig.messages, 2u);
}

TEST_F(TransparentWindowTest, GetsOfOneEpochShareTheirTransfer) {
    Buffer a(64), b(64), c(10);
    rig.get(1, 0, 64, a.data());
    rig.get(1, 0, 64, b.data());
    rig.get(1, 20, 10, c.data());
    EXPECT_EQ(rig.messages, 1u);
    rig.flush_all();
    EXPECT_EQ(a, bytes(1, 0, 64));
    EXPECT_EQ(b, bytes(1, 0, 64));
    EXPECT_EQ(c, bytes(1, 20, 10));
    EXPECT_EQ(counters().pending_hits, 2u);
}

TEST_F(TransparentWindowTest, ACompletedRequestEndsTheSharing) {
    Buffer a(64), b(8), c(64);
    rig.get(1, 0, 64, a.data());
    rig.get(1, 512, 8, b.data(), 3);
    rig.window.completions().complete_request(1, 3, true);
    // The program may have learned from the request that bytes 0..64 have changed.
    rig.get(1, 0, 64, c.data());
    EXPECT_EQ(rig.messages, 3u);
    rig.flush(1);
    EXPECT_EQ(c, bytes(1, 0, 64));
}

TEST_F(UserDefinedWindowTest, KeepsUntilInvalidated) {
    fetched(1, 0, 64);
    fetched(1, 0, 64);
    EXPECT_EQ(rig.messages, 1u);
    rig.memory[1][3] ^= 0xff;
    rig.window.acquire();
    EXPECT_EQ(fetched(1, 0, 64), bytes(1, 0, 64));
    EXPECT_EQ(rig.messages, 2u);
}

TEST_F(UserDefinedWindowTest, WhatWasInFlightWhenInvalidatedIsNotKept) {
    Buffer buffer(64);
    rig.get(1, 0, 64, buffer.data());
    rig.arrive(1);
    rig.window.acquire();
    rig.memory[1][3] ^= 0xff;
    rig.flush(1);
    EXPECT_EQ(fetched(1, 0, 64), bytes(1, 0, 64));
}

TEST_F(OffWindowTest, CachesNothing) {
    fetched(1, 0, 64);
    fetched(1, 0, 64);
    EXPECT_EQ(rig.messages, 2u);
    EXPECT_EQ(counters().bypassed, 2u);
}

}  // namespace
}  // namespace nearfetch

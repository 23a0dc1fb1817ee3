// SPDX-License-Identifier: Apache-2.0
#include "engine/cached_window.hpp"

#include <gtest/gtest.h>

#include <array>
#include <numeric>

#include "engine/clock.hpp"
#include "rig.hpp"

namespace nearfetch {
namespace {

using testing::Rig;
using Buffer = std::vector<unsigned char>;

/// A rig of three ranks whose memory holds distinct bytes.
struct CachedWindowTest : ::testing::Test {
    explicit CachedWindowTest(Mode mode = Mode::always_cache) : rig(Rig::settings(mode), 3, 65536) {
        for (std::size_t r = 0; r < rig.memory.size(); ++r)
            for (std::size_t i = 0; i < rig.memory[r].size(); ++i)
                rig.memory[r][i] = static_cast<unsigned char>(i * 7 + i / 256 + r * 91);
    }

    Buffer bytes(Rank target, std::size_t offset, std::size_t size) const {
        const auto begin =
            rig.memory[static_cast<std::size_t>(target)].begin() + static_cast<std::ptrdiff_t>(offset);
        return {begin, begin + static_cast<std::ptrdiff_t>(size)};
    }
    Buffer fetched(Rank target, std::size_t offset, std::size_t size) {
        Buffer buffer(size, 0xee);
        EXPECT_EQ(rig.get(target, offset, size, buffer.data()), 0);
        rig.flush(target);
        return buffer;
    }
    RangeCacheCounters counters() const { return rig.window.counters(); }

    Rig rig;
};

struct TransparentWindowTest : CachedWindowTest {
    TransparentWindowTest() : CachedWindowTest(Mode::transparent) {}
};
struct UserDefinedWindowTest : CachedWindowTest {
    UserDefinedWindowTest() : CachedWindowTest(Mode::user_defined) {}
};
struct OffWindowTest : CachedWindowTest {
    OffWindowTest() : CachedWindowTest(Mode::off) {}
};

TEST_F(CachedWindowTest, SecondGetIsAHit) {
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

TEST_F(CachedWindowTest, AHitCompletesAtOnce) {
    fetched(1, 0, 64);
    Buffer buffer(64);
    rig.get(1, 0, 64, buffer.data());
    EXPECT_EQ(buffer, bytes(1, 0, 64));
    EXPECT_TRUE(rig.transfers.empty());
}

TEST_F(CachedWindowTest, TargetsDoNotMix) {
    EXPECT_EQ(fetched(1, 0, 64), bytes(1, 0, 64));
    EXPECT_EQ(fetched(2, 0, 64), bytes(2, 0, 64));
    EXPECT_EQ(rig.messages, 2u);
}

TEST_F(CachedWindowTest, OwnMemoryIsNeverCached) {
    fetched(0, 0, 64);
    rig.memory[0][5] = 0x55;
    EXPECT_EQ(fetched(0, 0, 64), bytes(0, 0, 64));
    EXPECT_EQ(counters().bypassed, 2u);
}

TEST_F(CachedWindowTest, PartialHitFetchesOnlyTheGaps) {
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

TEST_F(CachedWindowTest, NeighboursThatAreWantedTogetherBecomeOneEntry) {
    using Served = CachedWindow::Served;
    fetched(1, 100, 10);
    fetched(1, 110, 90);
    Buffer buffer(100);
    auto* const to = buffer.data();
    EXPECT_EQ(rig.window.try_get(1, 105, 95, to), Served::miss) << "two entries";
    EXPECT_EQ(rig.window.try_get_further(1, 105, 95, to), Served::hit);
    EXPECT_EQ(Buffer(to, to + 95), bytes(1, 105, 95));
    EXPECT_EQ(rig.window.try_get(1, 100, 100, to), Served::hit) << "one entry";
    EXPECT_EQ(buffer, bytes(1, 100, 100));
    EXPECT_EQ(rig.messages, 2u);
    // Where most of the new entry would be what this get does not want, they stay as they are.
    fetched(1, 200, 100);
    for (int i = 0; i < 2; ++i) {
        EXPECT_EQ(rig.window.try_get(1, 190, 20, to), Served::miss);
        EXPECT_EQ(rig.window.try_get_further(1, 190, 20, to), Served::hit);
        EXPECT_EQ(Buffer(to, to + 20), bytes(1, 190, 20));
    }
    EXPECT_EQ(rig.messages, 3u);
}

TEST_F(CachedWindowTest, PendingHitIsServedWhenTheFirstArrives) {
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

TEST_F(CachedWindowTest, FlushOfOneTargetLeavesTheOthersPending) {
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

TEST_F(CachedWindowTest, BufferMayBeReusedAfterCompletion) {
    Buffer buffer(64);
    rig.get(1, 0, 64, buffer.data());
    rig.flush(1);
    std::fill(buffer.begin(), buffer.end(), 0x77);
    EXPECT_EQ(fetched(1, 0, 64), bytes(1, 0, 64));
}

TEST_F(CachedWindowTest, FlushLocalCompletesGetsButNotPuts) {
    Buffer buffer(8), value(8, 3);
    rig.get(1, 0, 8, buffer.data());
    rig.put(1, 512, 8, value.data());
    rig.flush(1, Completion::local);
    EXPECT_EQ(rig.library_flushes, 1u);
    EXPECT_EQ(buffer, bytes(1, 0, 8));
    rig.flush(1, Completion::local);
    EXPECT_EQ(rig.library_flushes, 1u) << "nothing is outstanding locally";
    rig.flush(1);
    EXPECT_EQ(rig.library_flushes, 2u) << "the put may not have reached its target";
    rig.flush(1);
    EXPECT_EQ(rig.library_flushes, 2u);
}

TEST_F(CachedWindowTest, FlushAllIsElidedOnlyWhenAllTargetsAreIdle) {
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

TEST_F(CachedWindowTest, PutsUpdateWhatIsCached) {
    fetched(1, 0, 64);
    Buffer value(16, 0xab);
    rig.put(1, 8, 16, value.data());
    rig.flush(1);
    EXPECT_EQ(fetched(1, 0, 64), bytes(1, 0, 64));
    EXPECT_EQ(rig.messages, 1u) << "the new bytes are known without asking";
    EXPECT_EQ(counters().puts, 1u);
}

TEST_F(CachedWindowTest, PutsOverPendingBytesKeepThemOutOfTheCache) {
    Buffer buffer(64), value(64, 0xcd);
    rig.get(1, 0, 64, buffer.data());
    rig.put(1, 32, 8, value.data());
    rig.flush(1);
    EXPECT_EQ(fetched(1, 0, 64), bytes(1, 0, 64));
    EXPECT_GE(rig.messages, 2u);
}

TEST_F(CachedWindowTest, AccumulatesMakeTheCacheForget) {
    fetched(1, 0, 64);
    rig.memory[1][10] ^= 0xff;
    const Piece piece{8, 8, nullptr};
    rig.window.forget(1, {&piece, 1});
    rig.flush(1);
    EXPECT_EQ(fetched(1, 0, 64), bytes(1, 0, 64));

    fetched(1, 1000, 64);
    rig.memory[1][1010] ^= 0xff;
    rig.window.forget(1, {});
    rig.flush(1);
    EXPECT_EQ(fetched(1, 1000, 64), bytes(1, 1000, 64))
        << "an unknown layout makes it forget the whole target";
}

TEST_F(CachedWindowTest, FailedStartReportsItsStatusAndKeepsNothing) {
    Buffer buffer(64, 1);
    rig.status = 17;
    EXPECT_EQ(rig.get(1, 0, 64, buffer.data()), 17);
    rig.status = 0;
    EXPECT_EQ(counters().gets, 0u);
    EXPECT_EQ(fetched(1, 0, 64), bytes(1, 0, 64));
    EXPECT_EQ(counters().direct, 1u);
}

TEST_F(CachedWindowTest, FailedCompletionKeepsNothing) {
    Buffer buffer(64, 1);
    rig.get(1, 0, 64, buffer.data());
    rig.window.complete(1, rig.window.now(), Completion::full, 5, 0);
    EXPECT_EQ(fetched(1, 0, 64), bytes(1, 0, 64)) << "a get whose completion failed must not become a hit";
}

TEST_F(CachedWindowTest, NoHitOutsideAnEpoch) {
    fetched(1, 0, 64);
    rig.window.set_epoch_of_all(Epoch::none);
    Buffer buffer(64);
    EXPECT_FALSE(rig.hits(1, 0, 64, buffer.data()));
    EXPECT_EQ(rig.window.flush(1, Completion::full), Flush::needed) << "the library has an error to report";
    rig.window.set_epoch(1, Epoch::passive);
    EXPECT_TRUE(rig.hits(1, 0, 64, buffer.data()));
}

TEST_F(CachedWindowTest, InActiveEpochsFlushesAreTheLibrarysToRefuse) {
    fetched(1, 0, 64);
    Buffer buffer(64);
    rig.window.set_epoch_of_all(Epoch::none);
    rig.window.start_group({1});
    EXPECT_TRUE(rig.hits(1, 0, 64, buffer.data()));
    EXPECT_EQ(rig.window.flush(1, Completion::full), Flush::needed);
    EXPECT_EQ(rig.window.flush_all(Completion::full), Flush::needed);
    EXPECT_FALSE(rig.hits(2, 0, 64, buffer.data())) << "not in the group";
    rig.window.end_group();
    EXPECT_FALSE(rig.hits(1, 0, 64, buffer.data()));
}

TEST_F(CachedWindowTest, AFencesEpochBeginsWithAnAccessThatTheLibrarySees) {
    fetched(1, 0, 64);
    Buffer buffer(64);
    rig.window.set_fenced();
    EXPECT_FALSE(rig.hits(1, 0, 64, buffer.data()));
    fetched(1, 0, 64);
    EXPECT_TRUE(rig.hits(1, 0, 64, buffer.data()));
    rig.window.set_fenced();
    rig.window.set_epoch(1, Epoch::passive);
    rig.window.set_epoch(1, Epoch::none);
    fetched(1, 512, 64);
    EXPECT_FALSE(rig.hits(1, 0, 64, buffer.data())) << "after a lock there is no fence's epoch";
}

TEST_F(CachedWindowTest, SeveralPiecesGoInOneOperation) {
    fetched(1, 0, 16);
    Buffer buffer(48, 0);
    auto* const to = reinterpret_cast<std::byte*>(buffer.data());
    const std::array<Piece, 3> pieces{Piece{0, 16, to}, Piece{1024, 16, to + 16}, Piece{4096, 16, to + 32}};
    rig.messages = rig.bytes = 0;
    EXPECT_EQ(rig.get(1, pieces), 0);
    rig.flush(1);
    EXPECT_EQ(rig.messages, 1u);
    EXPECT_EQ(rig.bytes, 32u);
    Buffer expected = bytes(1, 0, 16);
    for (std::size_t offset : {1024u, 4096u})
        for (unsigned char b : bytes(1, offset, 16))
            expected.push_back(b);
    EXPECT_EQ(buffer, expected);
    std::fill(buffer.begin(), buffer.end(), 0);
    EXPECT_EQ(rig.get(1, pieces), 0);
    EXPECT_EQ(buffer, expected);
    EXPECT_EQ(rig.messages, 1u);
}

TEST_F(CachedWindowTest, RequestCommitsWhenItCompletes) {
    Buffer buffer(64);
    bool started = false;
    rig.get(1, 0, 64, buffer.data(), 7, &started);
    EXPECT_TRUE(started);
    rig.arrive(1);
    rig.window.complete_request(1, 7, true);
    std::fill(buffer.begin(), buffer.end(), 0);
    rig.get(1, 0, 64, buffer.data(), 8, &started);
    EXPECT_FALSE(started);
    EXPECT_EQ(buffer, bytes(1, 0, 64));
}

TEST_F(CachedWindowTest, RequestNeverWaitsForAnother) {
    Buffer first(64), second(64);
    bool started = false;
    rig.get(1, 0, 64, first.data(), 7);
    rig.get(1, 0, 64, second.data(), 8, &started);
    EXPECT_TRUE(started) << "its request has to complete on its own";
    EXPECT_EQ(rig.messages, 2u);
    rig.arrive(1);
    rig.window.complete_request(1, 8, true);
    rig.window.complete_request(1, 7, true);
    EXPECT_EQ(second, bytes(1, 0, 64));
}

TEST_F(CachedWindowTest, WhoWaitsForARequestIsServedBeforeItsBufferIsReused) {
    Buffer first(64), second(64, 0);
    rig.get(1, 0, 64, first.data(), 7);
    rig.get(1, 0, 64, second.data());
    EXPECT_EQ(rig.messages, 1u);
    rig.arrive(1);
    rig.window.complete_request(1, 7, true);
    std::fill(first.begin(), first.end(), 0);
    rig.flush(1);
    EXPECT_EQ(second, bytes(1, 0, 64));
}

TEST_F(CachedWindowTest, FreedRequestIsCompletedByAFlush) {
    Buffer buffer(64);
    rig.get(1, 0, 64, buffer.data(), 7);
    rig.window.complete_request(1, 7, false);
    rig.flush(1);
    EXPECT_EQ(fetched(1, 0, 64), bytes(1, 0, 64));
    EXPECT_EQ(rig.messages, 1u);
}

TEST_F(CachedWindowTest, AbandonedRequestIsNotKept) {
    Buffer buffer(64);
    rig.get(1, 0, 64, buffer.data(), 7);
    rig.window.abandon_request(1, 7);
    rig.arrive(1);
    std::fill(buffer.begin(), buffer.end(), 0);  // the program waited for it, unseen
    rig.flush(1);
    EXPECT_EQ(fetched(1, 0, 64), bytes(1, 0, 64));
}

TEST_F(CachedWindowTest, PrefetchMakesALaterGetAHit) {
    EXPECT_EQ(rig.window.prefetch(1, {256, 512}, rig), 0);
    EXPECT_EQ(counters().prefetches, 1u);
    rig.flush(1);
    EXPECT_EQ(fetched(1, 300, 100), bytes(1, 300, 100));
    EXPECT_EQ(rig.messages, 1u);
    EXPECT_EQ(counters().hits, 1u);
    EXPECT_EQ(rig.window.prefetch(1, {256, 512}, rig), 0);
    EXPECT_EQ(rig.messages, 1u) << "it is there already";
}

TEST_F(CachedWindowTest, GetBeforeThePrefetchArrivesWaitsForIt) {
    rig.window.prefetch(1, {256, 512}, rig);
    Buffer buffer(100, 0);
    rig.get(1, 300, 100, buffer.data());
    EXPECT_EQ(rig.messages, 1u);
    rig.flush(1);
    EXPECT_EQ(buffer, bytes(1, 300, 100));
}

TEST_F(CachedWindowTest, FailedPrefetchReportsItsStatus) {
    rig.status = 9;
    EXPECT_EQ(rig.window.prefetch(1, {256, 512}, rig), 9);
    rig.status = 0;
    EXPECT_EQ(fetched(1, 256, 256), bytes(1, 256, 256));
}

/// Each rank exposes 10,000 bytes, in blocks of 1024.
struct ReadAheadTest : CachedWindowTest {
    explicit ReadAheadTest(Mode mode = Mode::always_cache) : CachedWindowTest(mode) {
        Settings s = rig.window.settings();
        s.read_ahead_bytes = 1024;
        rig.window.change_settings(s);
        rig.window.set_extents(std::array<std::uint64_t, 3>{10000, 10000, 10000});
        rig.window.complete_all(rig.window.now(), Completion::full, 0, 0);
    }
};
struct ReadAheadInUserDefinedTest : ReadAheadTest {
    ReadAheadInUserDefinedTest() : ReadAheadTest(Mode::user_defined) {}
};

TEST_F(ReadAheadTest, TheSecondMissInABlockFetchesWhatIsMissingOfIt) {
    EXPECT_EQ(fetched(1, 1100, 8), bytes(1, 1100, 8));
    EXPECT_EQ(rig.bytes, 8u);
    EXPECT_EQ(fetched(1, 1200, 8), bytes(1, 1200, 8));
    EXPECT_EQ(rig.bytes, 8u + (2048 - 1108)) << "from the end of the first to the end of the block";
    for (std::size_t offset = 1108; offset + 8 <= 2048; offset += 8)
        EXPECT_EQ(fetched(1, offset, 8), bytes(1, offset, 8));
    EXPECT_EQ(rig.messages, 2u);
    EXPECT_EQ(fetched(1, 1024, 8), bytes(1, 1024, 8));
    EXPECT_EQ(rig.bytes, 8u + (2048 - 1108) + (1100 - 1024)) << "the gap before the first";
    const auto c = counters();
    EXPECT_EQ(c.read_aheads, 2u);
    EXPECT_EQ(c.bytes_read_ahead, 940u - 8 + 76 - 8);
    EXPECT_EQ(c.direct, 3u);
    EXPECT_EQ(c.bytes_from_network, 24u) << "what was asked for";
    EXPECT_EQ(c.bytes_requested, c.bytes_from_cache + c.bytes_from_network);
}

TEST_F(ReadAheadTest, ItStopsAtTheEndOfTheWindow) {
    fetched(1, 9800, 8);
    EXPECT_EQ(fetched(1, 9900, 8), bytes(1, 9900, 8));
    EXPECT_EQ(rig.bytes, 8u + (10000 - 9808));
    EXPECT_EQ(fetched(1, 9996, 8), bytes(1, 9996, 8)) << "beyond its end the library has the say";
    EXPECT_EQ(rig.bytes, 8u + (10000 - 9808) + 4);
}

TEST_F(ReadAheadTest, GetsThatTouchNoBlockTwiceCostNothingExtra) {
    for (std::size_t offset = 0; offset < 9000; offset += 1024)
        fetched(1, offset, 8);
    EXPECT_EQ(rig.bytes, rig.messages * 8);
    EXPECT_EQ(counters().read_aheads, 0u);
}

TEST_F(ReadAheadTest, APartialHitReadsAheadToo) {
    fetched(1, 1000, 100);
    fetched(1, 1500, 8);
    const std::uint64_t before = rig.bytes;
    EXPECT_EQ(fetched(1, 1050, 100), bytes(1, 1050, 100));
    EXPECT_EQ(rig.bytes - before, 1500u - 1100);
    EXPECT_EQ(counters().partial_hits, 1u);
}

TEST_F(ReadAheadTest, WhoAsksWhileItTravelsWaits) {
    fetched(1, 1100, 8);
    Buffer first(8), second(8);
    rig.get(1, 1200, 8, first.data());
    rig.get(1, 1300, 8, second.data());
    EXPECT_EQ(rig.messages, 2u);
    rig.flush(1);
    EXPECT_EQ(first, bytes(1, 1200, 8));
    EXPECT_EQ(second, bytes(1, 1300, 8));
}

TEST_F(ReadAheadTest, NotBesidePutsOfThisProcess) {
    fetched(1, 1100, 8);
    Buffer value(8, 0x11);
    rig.put(1, 1400, 8, value.data());  // on its way: its bytes may not be read yet
    fetched(1, 1200, 8);
    EXPECT_EQ(rig.bytes, 16u);
}

TEST_F(ReadAheadTest, RequestsFetchWhatTheyAskFor) {
    Buffer buffer(8);
    for (std::uint64_t i = 0; i < 4; ++i)
        rig.get(1, 1100 + 16 * i, 8, buffer.data(), 1 + i);
    EXPECT_EQ(rig.bytes, 32u);
}

TEST_F(ReadAheadTest, AFailedStartLeavesNothingBehind) {
    fetched(1, 1100, 8);
    Buffer buffer(8);
    rig.status = 3;
    EXPECT_EQ(rig.get(1, 1200, 8, buffer.data()), 3);
    rig.status = 0;
    EXPECT_EQ(fetched(1, 1200, 8), bytes(1, 1200, 8));
    EXPECT_EQ(fetched(1, 1300, 8), bytes(1, 1300, 8));
}

TEST_F(ReadAheadInUserDefinedTest, OnlyIfThePhasesAreSaidToBeReadOnly) {
    fetched(1, 1100, 8);
    fetched(1, 1200, 8);
    EXPECT_EQ(rig.bytes, 16u);
}

TEST_F(ReadAheadInUserDefinedTest, WithinAReadOnlyPhase) {
    Settings s = rig.window.settings();
    s.read_only_phases = true;
    rig.window.change_settings(s);
    rig.flush_all();
    fetched(1, 1100, 8);
    EXPECT_EQ(fetched(1, 1200, 8), bytes(1, 1200, 8));
    EXPECT_EQ(counters().read_aheads, 1u);
    Buffer value(8, 0x11);
    rig.put(1, 1400, 8, value.data());
    rig.flush(1);
    fetched(1, 3100, 8);
    fetched(1, 3200, 8);
    EXPECT_EQ(counters().read_aheads, 1u) << "this process writes: it is no read-only phase";
    rig.window.acquire();
    rig.memory[1][1300] ^= 0xff;
    EXPECT_EQ(fetched(1, 1296, 8), bytes(1, 1296, 8)) << "a new phase";
    EXPECT_EQ(fetched(1, 1400, 8), bytes(1, 1400, 8));
    EXPECT_EQ(counters().read_aheads, 2u) << "the block was known, and the second get hits";
}

/// A window whose targets fall asleep, because its network takes no time.
struct SleepingTest : CachedWindowTest {
    SleepingTest() {
        Settings s = rig.window.settings();
        s.bypass = true;
        rig.window.change_settings(s);
        rig.flush_all();
        Buffer buffer(64);
        for (std::size_t i = 0; i < 64; ++i)
            fetched(1, i * 64, 64);
    }
};

TEST_F(SleepingTest, GetsAndFlushesPassAsTheyAre) {
    const std::uint64_t messages = rig.messages, flushes = rig.library_flushes;
    const auto before = counters();
    EXPECT_EQ(fetched(1, 0, 64), bytes(1, 0, 64));
    EXPECT_EQ(fetched(1, 0, 64), bytes(1, 0, 64));
    rig.flush(1);
    EXPECT_EQ(rig.messages, messages + 2);
    EXPECT_EQ(rig.library_flushes, flushes + 3) << "even one with nothing outstanding";
    EXPECT_EQ(counters().bypassed, before.bypassed + 2);
    EXPECT_EQ(counters().bytes_from_network, before.bytes_from_network + 128);
    EXPECT_EQ(counters().flushes, before.flushes + 3);
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
        EXPECT_EQ(rig.window.try_get_slowly(1, 4096, 64, buffer.data()), CachedWindow::Served::miss);
        EXPECT_EQ(rig.window.flush(1, Completion::full), Flush::needed);
        return;
    }
    FAIL() << "it never woke";
}

TEST_F(SleepingTest, AFlushThatFoundItAsleepServesWhatAnotherThreadHasStarted) {
    Buffer passing(64), first(64, 0), second(64, 0);
    rig.get(1, 0, 64, passing.data());
    ASSERT_EQ(rig.window.flush(1, Completion::full), Flush::needed_unseen);
    // Before that flush enters the library, another thread's gets wake the target; the last one waits.
    for (int i = 0; i < 10'000'000; ++i)
        if (rig.window.try_get(1, 4096, 64, passing.data()) != CachedWindow::Served::pass) break;
    rig.get(1, 4096, 64, passing.data());
    rig.get(1, 4096, 64, first.data());
    rig.get(1, 4096, 64, second.data());
    const auto since = rig.window.now();
    rig.arrive(1);
    rig.window.done_unseen(1, since, Completion::full);
    rig.flush(1);
    EXPECT_EQ(first, bytes(1, 4096, 64));
    EXPECT_EQ(second, bytes(1, 4096, 64));
}

/// A window over a network on which a get takes as long as hundreds of lookups.
struct WatchingTest : CachedWindowTest {
    WatchingTest() {
        Settings s = rig.window.settings();
        s.bypass = true;
        rig.window.change_settings(s);
        rig.flush_all();
        rig.network_ticks = static_cast<std::uint64_t>(8000 / ns_per_tick());
    }
};

TEST_F(WatchingTest, ReuseAfterAStreamIsFoundByItsFirstReuse) {
    for (std::size_t i = 0; i < 4000 && counters().bypassed == 0; ++i)
        fetched(1, 8 * i, 8);
    ASSERT_GT(counters().bypassed, 0u) << "what we do ourselves is felt";
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

TEST_F(CachedWindowTest, ChangedSettingsForgetAndApply) {
    fetched(1, 0, 64);
    Settings s = rig.window.settings();
    s.mode = Mode::off;
    rig.window.change_settings(s);
    rig.memory[1][0] ^= 0xff;
    EXPECT_EQ(fetched(1, 0, 64), bytes(1, 0, 64));
    s.mode = Mode::always_cache;
    rig.window.change_settings(s);
    EXPECT_EQ(rig.window.flush(1, Completion::full), Flush::needed)
        << "what happened while the mode was off was not counted";
    EXPECT_EQ(fetched(1, 0, 64), bytes(1, 0, 64));
    EXPECT_EQ(fetched(1, 0, 64), bytes(1, 0, 64));
    EXPECT_EQ(counters().hits, 1u);
}

TEST_F(CachedWindowTest, WithoutMemoryItGoesOnWithoutACache) {
    Settings s = Rig::settings(Mode::always_cache);
    s.buffer_bytes = s.buffer_bytes_max = 1ull << 46;
    s.index_entries = s.index_entries_max = 0xffffffffu;
    Rig big(s, 2, 256);
    Buffer buffer(64);
    for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(big.get(1, 0, 64, buffer.data()), 0);
        big.flush(1);
    }
    EXPECT_EQ(big.window.counters().gets, 3u);
}

TEST_F(CachedWindowTest, LargeRangesAreKeptAtTheirSecondGetWhenTheirCopyIsFelt) {
    Settings s = Rig::settings(Mode::always_cache);
    s.bypass = true;
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
    rig.window.complete_request(1, 3, true);
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

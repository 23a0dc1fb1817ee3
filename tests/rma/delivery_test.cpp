// SPDX-License-Identifier: Apache-2.0
// Programs that look at a get's bytes before they complete it: where the network delivers at once, so does
// the window, and it keeps nothing that the program may have changed since. And requests that are complete
// before their bytes are there.
#include <gtest/gtest.h>

#include <list>
#include <set>

#include "window_fixture.hpp"

namespace nearfetch {
namespace {

using testing::Buffer;
using testing::WindowCacheTest;

std::byte* at(Buffer& buffer, std::size_t i = 0) { return reinterpret_cast<std::byte*>(&buffer[i]); }

/// Of each mode, on a node on which everything comes at once.
struct AtOnceTest : WindowCacheTest, ::testing::WithParamInterface<Mode> {
    AtOnceTest() : WindowCacheTest(GetParam()) {
        rig.window.describe_memory(
            std::vector<TargetMemory>(3, {.extent_bytes = 65536, .is_on_this_node = true}));
        rig.delivers_at_once = true;
    }
    /// The bytes when the get has returned.
    Buffer seen(std::size_t offset, std::size_t size, RequestId request = 0) {
        Buffer to(size, 0xee);
        EXPECT_EQ(rig.get(1, offset, size, to.data(), request), 0);
        kept.push_back(std::move(to));
        return kept.back();
    }
    std::list<Buffer> kept;  ///< until they are complete
};

TEST_P(AtOnceTest, EveryByteIsThereWhenTheGetReturns) {
    for (int round = 0; round < 3; ++round) {
        for (std::size_t i = 0; i < 64; ++i)
            EXPECT_EQ(seen(i * 40, 8), bytes(1, i * 40, 8)) << "nearby";
        EXPECT_EQ(seen(0, 4096), bytes(1, 0, 4096)) << "some of it cached, or under way";
        EXPECT_EQ(seen(30000, 100), bytes(1, 30000, 100));
        EXPECT_EQ(seen(30000, 100), bytes(1, 30000, 100)) << "the same again";
        EXPECT_EQ(seen(30050, 100), bytes(1, 30050, 100));
        EXPECT_EQ(seen(40000, 8, 7), bytes(1, 40000, 8)) << "by request";
        EXPECT_EQ(seen(40016, 8, 8), bytes(1, 40016, 8));
        EXPECT_EQ(seen(40032, 8, 9), bytes(1, 40032, 8));
        for (const RequestId request : {7, 8, 9})
            rig.finish(1, request);
        rig.flush(1);
        kept.clear();
        testing::process.acquires.acquire();
    }
}

TEST_P(AtOnceTest, WhatTheProgramChangesInItsBufferIsNotKept) {
    for (const std::size_t offset : {0ul, 8ul, 16ul, 500ul, 20000ul}) {
        Buffer to(64, 0xee);
        rig.get(1, offset, 64, to.data());
        EXPECT_EQ(to, bytes(1, offset, 64));
        std::fill(to.begin(), to.end(), 0x77);
        rig.flush(1);
        EXPECT_EQ(to, Buffer(64, 0x77)) << "the program's own";
        EXPECT_EQ(fetched(1, offset, 64), bytes(1, offset, 64));
    }
}

TEST_P(AtOnceTest, InPiecesToo) {
    Buffer to(64, 0xee);
    const std::array runs{ByteRun{100, 8, at(to)}, ByteRun{300, 8, at(to, 16)}, ByteRun{108, 8, at(to, 32)}};
    for (int round = 0; round < 2; ++round) {
        rig.get(1, runs);
        EXPECT_EQ(Buffer(to.begin(), to.begin() + 8), bytes(1, 100, 8));
        EXPECT_EQ(Buffer(to.begin() + 16, to.begin() + 24), bytes(1, 300, 8));
        EXPECT_EQ(Buffer(to.begin() + 32, to.begin() + 40), bytes(1, 108, 8));
        std::fill(to.begin(), to.end(), 0x77);
        rig.flush(1);
        EXPECT_EQ(fetched(1, 96, 24), bytes(1, 96, 24));
        EXPECT_EQ(fetched(1, 300, 8), bytes(1, 300, 8));
    }
}

INSTANTIATE_TEST_SUITE_P(Modes, AtOnceTest,
                         ::testing::Values(Mode::transparent, Mode::acquire, Mode::always_cache,
                                           Mode::user_defined));

/// What comes later on one node is kept as on any other.
TEST_F(WindowCacheTest, OnOneNodeWhatComesLaterIsKept) {
    rig.window.describe_memory(
        std::vector<TargetMemory>(3, {.extent_bytes = 65536, .is_on_this_node = true}));
    Buffer a(64), b(64), c(64);
    rig.get(1, 0, 64, a.data());
    rig.get(1, 8192, 64, b.data());
    rig.flush(1);
    rig.get(1, 16384, 64, a.data());
    rig.get(1, 16384, 64, c.data());
    rig.flush(1);
    EXPECT_EQ(c, bytes(1, 16384, 64));
    EXPECT_EQ(counters().pending_hits, 1u) << "now it is known";
    for (const std::size_t offset : {0ul, 8192ul, 16384ul}) {
        EXPECT_TRUE(rig.hits(1, offset, 64, a.data()));
        EXPECT_EQ(a, bytes(1, offset, 64));
    }
    EXPECT_EQ(rig.messages, 3u);
}

TEST_F(WindowCacheTest, OnOneNodeReadAheadPaysWhereItComesAtOnce) {
    rig.window.describe_memory(
        std::vector<TargetMemory>(3, {.extent_bytes = 65536, .is_on_this_node = true}));
    rig.delivers_at_once = true;
    Buffer to(8);
    for (std::size_t i = 0; i < 4096; i += 8) {
        rig.get(1, i, 8, to.data());
        EXPECT_EQ(to, bytes(1, i, 8));
        rig.flush(1);
    }
    EXPECT_EQ(rig.messages, 2u);
}

TEST_F(WindowCacheTest, AfterABlockThatCameAtOnceNothingIsOnItsWayToTheBuffer) {
    rig.window.describe_memory(
        std::vector<TargetMemory>(3, {.extent_bytes = 65536, .is_on_this_node = true}));
    rig.delivers_at_once = true;
    Buffer to(8);
    for (const std::size_t offset : {0u, 8u}) {
        rig.get(1, offset, 8, to.data());
        rig.flush(1);
    }
    rig.get(1, 4096, 8, to.data());
    EXPECT_FALSE(testing::process.origins.all.none()) << "the first get of a block fetches what is asked for";
    rig.flush(1);
    rig.get(1, 4104, 8, to.data());
    EXPECT_TRUE(testing::process.origins.all.none());
}

/// A request of a get in runs is complete, and only a flush brings the bytes.
TEST_F(WindowCacheTest, TheWordOfARequestIsNotEnoughForPieces) {
    Buffer to(64, 0xee);
    const std::array side_by_side{ByteRun{96, 8, at(to)}, ByteRun{104, 8, at(to, 16)},
                                  ByteRun{112, 8, at(to, 32)}};
    const std::array apart{ByteRun{1000, 8, at(to)}, ByteRun{1016, 8, at(to, 16)}};
    for (int round = 0; round < 2; ++round) {
        for (const std::span<const ByteRun> runs : {std::span<const ByteRun>(side_by_side), {apart}}) {
            rig.get(1, runs, 5);
            if (rig.begun == Begun::leader) rig.arrive(1);  // in one run the library keeps its word
            rig.finish(1, 5);
            rig.arrive(1);
            std::fill(to.begin(), to.end(), 0x77);
            rig.flush(1);
            EXPECT_EQ(fetched(1, 96, 24), bytes(1, 96, 24));
            EXPECT_EQ(fetched(1, 1000, 24), bytes(1, 1000, 24));
        }
    }
}

TEST_F(WindowCacheTest, WhatComesLaterThanItsRequestSpoilsNoOtherGet) {
    Buffer to(64, 0xee);
    const std::array apart{ByteRun{1000, 8, at(to)}, ByteRun{1016, 8, at(to, 16)}};
    for (int round = 0; round < 2; ++round) {
        rig.get(1, apart, 5);
        rig.finish(1, 5);
        rig.get(2, 5000, 64, to.data());  // the buffer is the program's again
        rig.arrive(2);
        rig.arrive(1);
        rig.flush(2);
        rig.flush(1);
        EXPECT_EQ(fetched(2, 5000, 64), bytes(2, 5000, 64));
    }
    rig.get(2, 6000, 64, to.data());
    rig.flush(2);
    EXPECT_TRUE(rig.hits(2, 6000, 64, to.data())) << "after the flush it is a buffer like any other";
}

TEST_F(WindowCacheTest, PiecesThatLieSideBySideAreFetchedIntoMemoryOfOurOwn) {
    Buffer to(64, 0xee);
    const std::array runs{ByteRun{96, 8, at(to)}, ByteRun{104, 8, at(to, 16)}, ByteRun{112, 8, at(to, 32)}};
    rig.get(1, runs, 5);
    EXPECT_EQ(rig.begun, Begun::leader);
    rig.arrive(1);
    rig.finish(1, 5);
    for (const ByteRun& run : runs)
        EXPECT_EQ(std::memcmp(run.origin, &rig.memory[1][run.offset], 8), 0);
    EXPECT_TRUE(rig.hits(1, 96, 24, to.data()));
    EXPECT_EQ(rig.messages, 1u);
    EXPECT_EQ(counters().read_aheads, 0u);
}

/// Of a get in one run that is partly cached the library is asked for one run, whose request can be believed.
TEST_F(WindowCacheTest, ARequestBringsNoHoles) {
    fetched(1, 108, 8);
    Buffer to(24, 0xee);
    rig.get(1, 100, 24, to.data(), 5);
    ASSERT_FALSE(rig.transfers.empty());
    EXPECT_EQ(rig.transfers.back().runs.size(), 1u);
    rig.arrive(1);
    rig.finish(1, 5);
    EXPECT_EQ(to, bytes(1, 100, 24));
}

TEST_F(WindowCacheTest, AHitIntoABufferThatBytesAreOnTheirWayTo) {
    fetched(1, 0, 64);
    fetched(1, 256, 64);
    Buffer to(64);
    rig.get(1, 512, 64, to.data());
    rig.arrive(1);
    EXPECT_EQ(rig.get(1, 0, 64, to.data()), 0);
    EXPECT_EQ(to, bytes(1, 0, 64)) << "a hit";
    rig.flush(1);
    EXPECT_EQ(fetched(1, 512, 64), bytes(1, 512, 64)) << "what a hit has overwritten is not kept";
}

// --- Memory that only the program says is there.

/// Nothing is fetched of pages that no get has asked for.
TEST_F(WindowCacheTest, ReadAheadStaysWithinThePagesOfWhatIsAskedFor) {
    change_setting(&Settings::read_ahead_bytes, 16384);
    for (const std::uint64_t phase : {0ul, 16ul, 2048ul, 4080ul}) {
        rig.window.describe_memory(
            std::vector<TargetMemory>(3, {.extent_bytes = 65536, .page_phase = phase, .is_declared = true}));
        const auto page_of = [=](std::uint64_t offset) { return (offset + phase) / 4096; };
        Buffer to(8);
        std::set<std::uint64_t> asked;
        for (std::size_t i = 0; i < 300; ++i) {
            const std::size_t offset = 20000 - 24 * i;
            asked.insert({page_of(offset), page_of(offset + 7)});
            rig.get(1, offset, 8, to.data());
            for (const auto& transfer : rig.transfers)
                for (const ByteRun& run : transfer.runs) {
                    EXPECT_TRUE(asked.contains(page_of(run.offset))) << phase;
                    EXPECT_TRUE(asked.contains(page_of(run.offset + run.size - 1))) << phase;
                }
            rig.flush(1);
            EXPECT_EQ(to, bytes(1, offset, 8));
        }
        EXPECT_GT(counters().read_aheads, 0u);
        rig.window.acquire();
    }
}

}  // namespace
}  // namespace nearfetch

// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <array>

#include "rma/window_cache.hpp"
#include "window_fixture.hpp"

namespace nearfetch {
namespace {

using testing::Buffer;
using testing::WindowCacheTest;

/// Each rank exposes 10,000 bytes, in blocks of 1024.
struct ReadAheadTest : WindowCacheTest {
    explicit ReadAheadTest(Mode mode = Mode::always_cache) : WindowCacheTest(mode) {
        change_setting(&Settings::read_ahead_bytes, 1024);
        rig.window.describe_memory(std::array<TargetMemory, 3>{
            {{.extent_bytes = 10000}, {.extent_bytes = 10000}, {.extent_bytes = 10000}}});
        rig.window.completions().complete_all(rig.window.completions().now(), FlushKind::full, 0, 0);
    }
};
struct ReadAheadInUserDefinedTest : ReadAheadTest {
    ReadAheadInUserDefinedTest() : ReadAheadTest(Mode::user_defined) {}
};

struct ReadAheadInAcquireTest : ReadAheadTest {
    ReadAheadInAcquireTest() : ReadAheadTest(Mode::acquire) {}
};

TEST_F(ReadAheadTest, TheSecondMissInABlockFetchesAllOfIt) {
    EXPECT_EQ(fetched(1, 1100, 8), bytes(1, 1100, 8));
    EXPECT_EQ(rig.bytes, 8u);
    EXPECT_EQ(fetched(1, 1200, 8), bytes(1, 1200, 8));
    EXPECT_EQ(rig.bytes, 8u + 1024) << "what the first has brought, too";
    for (std::size_t offset = 1024; offset + 8 <= 2048; offset += 4)
        EXPECT_EQ(fetched(1, offset, 8), bytes(1, offset, 8));
    EXPECT_EQ(rig.messages, 2u);
    const auto c = counters();
    EXPECT_EQ(c.read_aheads, 1u);
    EXPECT_EQ(c.bytes_read_ahead, 1024u - 8);
    EXPECT_EQ(c.direct, 2u);
    EXPECT_EQ(c.bytes_from_network, 16u) << "what was asked for";
    EXPECT_EQ(c.bytes_requested, c.bytes_from_cache + c.bytes_from_network);
}

TEST_F(ReadAheadTest, WhatIsLargeOrUsedAgainKeepsItsPlace) {
    fetched(1, 1100, 8);
    fetched(1, 1100, 8);
    fetched(1, 1200, 8);
    EXPECT_EQ(rig.bytes, 8u + (2048 - 1108)) << "from the end of what was read twice";
    EXPECT_EQ(fetched(1, 1030, 8), bytes(1, 1030, 8));
    EXPECT_EQ(rig.bytes, 8u + (2048 - 1108) + (1100 - 1024));

    fetched(1, 4500, 65);
    fetched(1, 4300, 8);
    EXPECT_EQ(rig.bytes, 1024u + 65 + (4500 - 4096)) << "more than a sixteenth of a block";
    EXPECT_EQ(fetched(1, 4096, 1024), bytes(1, 4096, 1024));
}

TEST_F(ReadAheadTest, WhatIsOnItsWayKeepsItsPlace) {
    Buffer first(8), second(8);
    rig.get(1, 1100, 8, first.data());
    rig.get(1, 1200, 8, second.data());
    EXPECT_EQ(rig.bytes, 8u + (2048 - 1108));
    rig.flush(1);
    EXPECT_EQ(first, bytes(1, 1100, 8));
    EXPECT_EQ(second, bytes(1, 1200, 8));
}

TEST_F(ReadAheadTest, ItStopsAtTheEndOfTheWindow) {
    fetched(1, 9800, 8);
    EXPECT_EQ(fetched(1, 9900, 8), bytes(1, 9900, 8));
    EXPECT_EQ(rig.bytes, 8u + (10000 - 9216));
    EXPECT_EQ(fetched(1, 9996, 8), bytes(1, 9996, 8)) << "beyond its end the library has the say";
    EXPECT_EQ(rig.bytes, 8u + (10000 - 9216) + 4);
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
    EXPECT_EQ(rig.bytes - before, 2048u - 1100) << "over the 8 bytes, which were read once";
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

TEST_F(ReadAheadTest, SoItIsForGetsWithRequests) {
    std::array<Buffer, 4> buffers;
    for (std::uint64_t i = 0; i < 4; ++i) {
        buffers[i].resize(8);
        rig.get(1, 1100 + 16 * i, 8, buffers[i].data(), 1 + i);
    }
    EXPECT_EQ(rig.bytes, 8u + (2048 - 1108)) << "the first one is on its way to the program";
    rig.arrive(1);
    for (std::uint64_t i = 4; i-- > 0;) {
        rig.finish(1, 1 + i);
        EXPECT_EQ(buffers[i], bytes(1, 1100 + 16 * i, 8));
    }
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

TEST_F(ReadAheadInUserDefinedTest, ItLastsForAReadOnlyPhase) {
    change_setting(&Settings::read_only_phases, true);
    rig.flush_all();
    fetched(1, 1100, 8);
    EXPECT_EQ(fetched(1, 1200, 8), bytes(1, 1200, 8));
    EXPECT_EQ(counters().read_aheads, 1u);
    testing::process.acquires.acquire();
    rig.memory[1][1304] ^= 0xff;
    EXPECT_NE(fetched(1, 1304, 8), bytes(1, 1304, 8)) << "until the program invalidates";
    Buffer value(8, 0x11);
    rig.put(1, 1400, 8, value.data());
    rig.flush(1);
    fetched(1, 3100, 8);
    fetched(1, 3200, 8);
    testing::process.acquires.acquire();
    rig.memory[1][3304] ^= 0xff;
    EXPECT_EQ(fetched(1, 3304, 8), bytes(1, 3304, 8)) << "this process writes: it is no read-only phase";
    const std::uint64_t before = counters().read_aheads;
    rig.window.acquire();
    rig.memory[1][1300] ^= 0xff;
    EXPECT_EQ(fetched(1, 1296, 8), bytes(1, 1296, 8)) << "a new phase";
    EXPECT_EQ(fetched(1, 1400, 8), bytes(1, 1400, 8));
    EXPECT_EQ(counters().read_aheads, before + 1) << "the block was known, and the second get hits";
}

TEST_F(ReadAheadInAcquireTest, WhatNobodyHasAskedForIsFreshUntilTheNextAcquire) {
    fetched(1, 1100, 8);
    EXPECT_EQ(fetched(1, 1200, 8), bytes(1, 1200, 8));
    EXPECT_EQ(counters().read_aheads, 1u);
    EXPECT_EQ(fetched(1, 1500, 8), bytes(1, 1500, 8));
    fetched(1, 1300, 8);  // else the next get would be a poll
    EXPECT_EQ(rig.messages, 2u);
    rig.memory[1][1504] ^= 0xff;
    testing::process.acquires.acquire();
    EXPECT_EQ(fetched(1, 1500, 8), bytes(1, 1500, 8));
    EXPECT_EQ(rig.messages, 3u);
    EXPECT_EQ(counters().read_aheads, 2u) << "the block was known";
    for (std::size_t offset = 1024; offset < 2048; offset += 8)
        EXPECT_EQ(fetched(1, offset, 8), bytes(1, offset, 8));
    EXPECT_EQ(rig.messages, 3u) << "all of it in one";
}

TEST_F(ReadAheadInAcquireTest, WhatTravelsAtAnAcquireServesOnlyWhoWaitsForIt) {
    fetched(1, 1100, 8);
    Buffer waiting(8);
    rig.get(1, 1200, 8, waiting.data());
    testing::process.acquires.acquire();
    rig.memory[1][1500] ^= 0xff;
    rig.flush(1);
    EXPECT_EQ(waiting, bytes(1, 1200, 8));
    EXPECT_EQ(fetched(1, 1500, 8), bytes(1, 1500, 8));
}

TEST_F(ReadAheadInAcquireTest, PutsOfThisProcessAreSeenAndKeepAwayWhatTheyMayOvertake) {
    fetched(1, 1100, 8);
    Buffer value(8, 0x11);
    rig.put(1, 1400, 8, value.data());
    EXPECT_EQ(fetched(1, 1200, 8), bytes(1, 1200, 8));
    EXPECT_EQ(counters().read_aheads, 0u) << "a get around it may bring what was there before";
    rig.flush(1);
    EXPECT_EQ(fetched(1, 1300, 8), bytes(1, 1300, 8));
    EXPECT_EQ(counters().read_aheads, 1u);
    Buffer other(8, 0x22), waiting(8);
    fetched(1, 4100, 8);
    rig.get(1, 4200, 8, waiting.data());
    rig.put(1, 4300, 8, other.data());
    rig.flush(1);
    EXPECT_EQ(counters().read_aheads, 2u);
    EXPECT_EQ(waiting, bytes(1, 4200, 8));
    EXPECT_EQ(fetched(1, 4300, 8), other) << "the put was faster than what travelled around it";
    EXPECT_EQ(fetched(1, 1400, 8), value);
}

TEST_F(ReadAheadInAcquireTest, BlocksThatServeOneGetBetweenAcquiresAreNotReadAheadForLong) {
    for (std::size_t round = 0; round < 200; ++round) {
        for (std::size_t block = 0; block < 9; ++block)
            fetched(1, block * 1024 + 8 * (round % 100), 8);
        testing::process.acquires.acquire();
    }
    const auto c = counters();
    EXPECT_EQ(c.gets, 1800u);
    EXPECT_LT(c.read_aheads, 60u);
    EXPECT_GT(c.read_aheads, 15u) << "it is tried again";
    EXPECT_LT(c.bytes_read_ahead, 40000u);
}

}  // namespace
}  // namespace nearfetch

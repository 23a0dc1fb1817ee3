// SPDX-License-Identifier: Apache-2.0
#include "core/range_cache/ahead_block.hpp"

#include <gtest/gtest.h>

namespace nearfetch {
namespace {

void play(AheadBlock& block, int gone, std::uint32_t uses, bool evicted) {
    for (int i = 0; i < gone; ++i)
        block.gone(uses, evicted);
}

TEST(AheadBlock, HalvesUntilItIsAFewLines) {
    AheadBlock block(4096);
    EXPECT_EQ(block.bytes(), 4096u);
    // From a mean of 4, a 24th less each time: below 2 with the 17th.
    play(block, 16, 0, true);
    EXPECT_EQ(block.bytes(), 4096u);
    play(block, 1, 0, true);
    EXPECT_EQ(block.bytes(), 2048u);
    EXPECT_TRUE(block.pays());
    play(block, 51, 0, true);
    EXPECT_EQ(block.bytes(), 256u);
    EXPECT_TRUE(block.pays());
    play(block, 17, 0, true);
    EXPECT_EQ(block.bytes(), 256u);
    int tried = 0;
    for (int i = 0; i < 640; ++i)
        tried += block.pays() ? 1 : 0;
    EXPECT_EQ(tried, 10);
}

TEST(AheadBlock, GrowsAgainUpToTheSetting) {
    AheadBlock block(1024);
    play(block, 51, 0, true);
    EXPECT_EQ(block.bytes(), 256u);
    EXPECT_FALSE(block.pays());
    // Above 6 with the 27th, and then from 4 with the 17th: no more than 8 uses count.
    play(block, 26, 100, true);
    EXPECT_TRUE(block.pays());
    EXPECT_EQ(block.bytes(), 256u);
    play(block, 1 + 17, 100, true);
    EXPECT_EQ(block.bytes(), 1024u);
    play(block, 100, 100, true);
    EXPECT_EQ(block.bytes(), 1024u);
}

TEST(AheadBlock, OneUsePaysForWhatWentStaleButNotForWhatWasEvicted) {
    AheadBlock stale(512), evicted(512);
    play(stale, 100, 1, false);
    EXPECT_EQ(stale.bytes(), 512u);
    EXPECT_TRUE(stale.pays());
    play(evicted, 100, 1, true);
    EXPECT_EQ(evicted.bytes(), 256u);
    EXPECT_FALSE(evicted.pays());
}

TEST(AheadBlock, AFewThatServedNoneDoNotEndIt) {
    AheadBlock block(4096);
    for (int i = 0; i < 100; ++i) {
        play(block, 6, 0, true);
        play(block, 4, 8, true);
    }
    EXPECT_EQ(block.bytes(), 4096u);
    EXPECT_TRUE(block.pays());
}

TEST(AheadBlock, ExpectsUsesUntilThereAreNone) {
    AheadBlock block(256);
    EXPECT_TRUE(block.will_be_used());
    // From a mean of 4: below 1 with the 33rd.
    play(block, 32, 0, true);
    EXPECT_TRUE(block.will_be_used());
    play(block, 1, 0, true);
    EXPECT_FALSE(block.will_be_used());
}

TEST(AheadBlock, NothingIsRefusedForGood) {
    AheadBlock block(256);
    play(block, 100, 0, false);
    EXPECT_FALSE(block.pays());
    play(block, 7, 50, false);
    EXPECT_TRUE(block.pays());
}

}  // namespace
}  // namespace nearfetch

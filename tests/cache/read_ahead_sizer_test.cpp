// SPDX-License-Identifier: Apache-2.0
#include "cache/range_cache/read_ahead_sizer.hpp"

#include <gtest/gtest.h>

namespace nearfetch {
namespace {

void play(ReadAheadSizer& block, int gone, std::uint32_t uses, bool evicted) {
    for (int i = 0; i < gone; ++i)
        block.gone(uses, evicted);
}

TEST(ReadAheadSizer, HalvesUntilItIsAFewLines) {
    ReadAheadSizer block(4096);
    EXPECT_EQ(block.bytes(), 4096u);
    // From a mean of 4 that weighs 6, each with three quarters: 24 / (6 + 9 * 0.75) is below 2.
    play(block, 8, 0, true);
    EXPECT_EQ(block.bytes(), 4096u);
    play(block, 1, 0, true);
    EXPECT_EQ(block.bytes(), 2048u);
    EXPECT_TRUE(block.pays());
    play(block, 27, 0, true);
    EXPECT_EQ(block.bytes(), 256u);
    EXPECT_TRUE(block.pays());
    play(block, 9, 0, true);
    EXPECT_EQ(block.bytes(), 256u);
    int tried = 0;
    for (int i = 0; i < 640; ++i)
        tried += block.pays() ? 1 : 0;
    EXPECT_EQ(tried, 10);
}

TEST(ReadAheadSizer, GrowsAgainUpToTheSetting) {
    ReadAheadSizer block(1024);
    play(block, 27, 0, true);
    EXPECT_EQ(block.bytes(), 256u);
    EXPECT_FALSE(block.pays());
    play(block, 27, 100, true);
    EXPECT_TRUE(block.pays());
    EXPECT_EQ(block.bytes(), 256u);
    play(block, 1, 100, true);
    EXPECT_EQ(block.bytes(), 512u);
    // No more than 8 uses count: (24 + 8 * 9 * 0.75) / (6 + 9 * 0.75) is above 6.
    play(block, 8, 100, true);
    EXPECT_EQ(block.bytes(), 512u);
    play(block, 1, 100, true);
    EXPECT_EQ(block.bytes(), 1024u);
    play(block, 100, 100, true);
    EXPECT_EQ(block.bytes(), 1024u);
}

TEST(ReadAheadSizer, OneUsePaysForWhatWentStaleButNotForWhatWasEvicted) {
    ReadAheadSizer stale(512), evicted(512);
    play(stale, 100, 1, false);
    EXPECT_EQ(stale.bytes(), 512u);
    EXPECT_TRUE(stale.pays());
    play(evicted, 100, 1, true);
    EXPECT_EQ(evicted.bytes(), 256u);
    EXPECT_FALSE(evicted.pays());
}

TEST(ReadAheadSizer, WhatWentStaleIsHeardAlone) {
    // 24 / (6 + 7) is below 2.
    ReadAheadSizer block(4096);
    play(block, 5, 0, false);
    EXPECT_EQ(block.bytes(), 4096u);
    play(block, 2, 0, false);
    EXPECT_EQ(block.bytes(), 2048u);
}

TEST(ReadAheadSizer, AFewThatServedNoneDoNotEndIt) {
    ReadAheadSizer block(4096);
    for (int i = 0; i < 100; ++i) {
        play(block, 6, 0, true);
        play(block, 4, 8, true);
    }
    EXPECT_EQ(block.bytes(), 4096u);
    EXPECT_TRUE(block.pays());
}

TEST(ReadAheadSizer, ExpectsUsesUntilThereAreNone) {
    ReadAheadSizer block(256);
    EXPECT_TRUE(block.will_be_used());
    play(block, 8, 0, true);
    EXPECT_TRUE(block.will_be_used());
    play(block, 1, 0, true);
    EXPECT_FALSE(block.will_be_used());
}

TEST(ReadAheadSizer, NothingIsRefusedForGood) {
    ReadAheadSizer block(256);
    play(block, 100, 0, false);
    EXPECT_FALSE(block.pays());
    play(block, 7, 50, false);
    EXPECT_TRUE(block.pays());
}

}  // namespace
}  // namespace nearfetch

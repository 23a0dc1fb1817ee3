// SPDX-License-Identifier: Apache-2.0
#include "cache/range_cache/read_ahead_sizer.hpp"

#include <gtest/gtest.h>

namespace nearfetch {
namespace {

void play(ReadAheadSizer& sizer, int removed, std::uint32_t uses, bool evicted) {
    for (int i = 0; i < removed; ++i)
        sizer.record_removal(uses, evicted);
}

TEST(ReadAheadSizer, HalvesUntilItIsAFewLines) {
    ReadAheadSizer sizer(4096);
    EXPECT_EQ(sizer.bytes(), 4096u);
    // From a mean of 4 that weighs 6, each with three quarters: 24 / (6 + 9 * 0.75) is below 2.
    play(sizer, 8, 0, true);
    EXPECT_EQ(sizer.bytes(), 4096u);
    play(sizer, 1, 0, true);
    EXPECT_EQ(sizer.bytes(), 2048u);
    EXPECT_TRUE(sizer.pays());
    play(sizer, 27, 0, true);
    EXPECT_EQ(sizer.bytes(), 256u);
    EXPECT_TRUE(sizer.pays());
    play(sizer, 9, 0, true);
    EXPECT_EQ(sizer.bytes(), 256u);
    int tried = 0;
    for (int i = 0; i < 640; ++i)
        tried += sizer.pays() ? 1 : 0;
    EXPECT_EQ(tried, 10);
}

TEST(ReadAheadSizer, GrowsAgainUpToTheSetting) {
    ReadAheadSizer sizer(1024);
    play(sizer, 27, 0, true);
    EXPECT_EQ(sizer.bytes(), 256u);
    EXPECT_FALSE(sizer.pays());
    play(sizer, 27, 100, true);
    EXPECT_TRUE(sizer.pays());
    EXPECT_EQ(sizer.bytes(), 256u);
    play(sizer, 1, 100, true);
    EXPECT_EQ(sizer.bytes(), 512u);
    // No more than 8 uses count: (24 + 8 * 9 * 0.75) / (6 + 9 * 0.75) is above 6.
    play(sizer, 8, 100, true);
    EXPECT_EQ(sizer.bytes(), 512u);
    play(sizer, 1, 100, true);
    EXPECT_EQ(sizer.bytes(), 1024u);
    play(sizer, 100, 100, true);
    EXPECT_EQ(sizer.bytes(), 1024u);
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
    ReadAheadSizer sizer(4096);
    play(sizer, 5, 0, false);
    EXPECT_EQ(sizer.bytes(), 4096u);
    play(sizer, 2, 0, false);
    EXPECT_EQ(sizer.bytes(), 2048u);
}

TEST(ReadAheadSizer, AFewThatServedNoneDoNotEndIt) {
    ReadAheadSizer sizer(4096);
    for (int i = 0; i < 100; ++i) {
        play(sizer, 6, 0, true);
        play(sizer, 4, 8, true);
    }
    EXPECT_EQ(sizer.bytes(), 4096u);
    EXPECT_TRUE(sizer.pays());
}

TEST(ReadAheadSizer, ExpectsUsesUntilThereAreNone) {
    ReadAheadSizer sizer(256);
    EXPECT_TRUE(sizer.will_be_used());
    play(sizer, 8, 0, true);
    EXPECT_TRUE(sizer.will_be_used());
    play(sizer, 1, 0, true);
    EXPECT_FALSE(sizer.will_be_used());
}

TEST(ReadAheadSizer, NothingIsRefusedForGood) {
    ReadAheadSizer sizer(256);
    play(sizer, 100, 0, false);
    EXPECT_FALSE(sizer.pays());
    play(sizer, 7, 50, false);
    EXPECT_TRUE(sizer.pays());
}

}  // namespace
}  // namespace nearfetch

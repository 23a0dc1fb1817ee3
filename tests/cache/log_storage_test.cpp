// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "log_owners.hpp"

namespace nearfetch {
namespace {

using testing::LogOwners;

TEST(LogStorage, PayloadsLieSideBySideInMultiplesOfEightBytes) {
    LogOwners owners(64, 64);
    ASSERT_TRUE(owners.add(9));
    ASSERT_TRUE(owners.add(8));
    EXPECT_EQ(owners.log.free_bytes(), 64U - 16 - 8);
    EXPECT_EQ(owners.payloads.at(1).place.data - owners.payloads.at(0).place.data, 16);
    EXPECT_TRUE(owners.add(40));
    EXPECT_FALSE(owners.add(1));
    EXPECT_EQ(owners.log.free_bytes(), 0U);
    owners.check();
}

TEST(LogStorage, TheOldestMakesRoom) {
    LogOwners owners(64, 64);
    ASSERT_TRUE(owners.add_all({16, 16, 16, 16}));
    EXPECT_EQ(owners.oldest(), 0U);
    owners.remove(0);
    EXPECT_EQ(owners.oldest(), 1U);
    ASSERT_TRUE(owners.add(16));
    EXPECT_EQ(owners.oldest(), 1U);
    owners.check();
}

// 0 and 1 leave, 2 moves to their place, and what is free lies together behind it.
TEST(LogStorage, WhatIsKeptMovesToTheGapsBeginning) {
    LogOwners owners(64, 64);
    ASSERT_TRUE(owners.add_all({16, 16, 16, 16}));
    std::byte* const begin = owners.payloads.at(0).place.data;
    for (std::uint32_t owner : {0U, 1U}) {
        ASSERT_EQ(owners.oldest(), owner);
        owners.remove(owner);
    }
    ASSERT_EQ(owners.oldest(), 2U);
    ASSERT_TRUE(owners.keep_oldest());
    EXPECT_EQ(owners.payloads.at(2).place.data, begin);
    owners.check();
    EXPECT_EQ(owners.oldest(), 3U);
    EXPECT_TRUE(owners.add(32));
    EXPECT_FALSE(owners.add(8));
    owners.check();
}

TEST(LogStorage, KeepingAllGoesRoundAndChangesNothing) {
    LogOwners owners(80, 80);
    ASSERT_TRUE(owners.add_all({16, 16, 16, 16}));
    for (int n = 0; n < 100; ++n) {
        ASSERT_TRUE(owners.keep_oldest());
        owners.check();
    }
    EXPECT_EQ(owners.payloads.size(), 4U);
    EXPECT_EQ(owners.log.free_bytes(), 16U);
}

TEST(LogStorage, APinnedPayloadStaysAndTheGapGoesOnBehindIt) {
    LogOwners owners(64, 64);
    ASSERT_TRUE(owners.add_all({16, 16, 16, 16}));
    owners.payloads.at(1).pinned = true;
    owners.remove(0);
    EXPECT_EQ(owners.oldest(), 1U);
    ASSERT_TRUE(owners.keep_oldest());
    EXPECT_EQ(owners.oldest(), 2U);
    EXPECT_FALSE(owners.add(8)) << "the gap before it is not usable now";
    owners.remove(2);
    EXPECT_TRUE(owners.oldest() == 3U && owners.add(16));
    owners.check();
    // What is before it is used when the log has gone round.
    owners.payloads.at(1).pinned = false;
    for (int n = 0; n < 4 && !owners.log.fits({16, 0}); ++n)
        ASSERT_TRUE(owners.keep_oldest());
    EXPECT_TRUE(owners.add(16));
    owners.check();
}

TEST(LogStorage, ALogOfNothingStartsAgain) {
    LogOwners owners(64, 64);
    ASSERT_TRUE(owners.add_all({16, 16, 16, 16}));
    for (std::uint32_t owner : {2U, 0U, 3U, 1U})
        owners.remove(owner);
    EXPECT_EQ(owners.oldest(), LogStorage::none);
    EXPECT_TRUE(owners.add(64));
    owners.check();
}

TEST(LogStorage, TheNewestGivesItsRoomBackAtOnce) {
    LogOwners owners(64, 64);
    ASSERT_TRUE(owners.add(40));
    ASSERT_TRUE(owners.add(24));
    owners.remove(1);
    EXPECT_TRUE(owners.add(24));
    owners.check();
}

TEST(LogStorage, LongPayloadsHaveTheWantedAlignment) {
    LogOwners owners(64 * 1024, 64 * 1024);
    ASSERT_TRUE(owners.add(8));
    for (const std::uint8_t skew : {0, 8, 63, 17}) {
        ASSERT_TRUE(owners.add(4096, skew));
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(owners.payloads.at(owners.last()).place.data) % 64, skew);
    }
    owners.remove(0);
    for (int n = 0; n < 10; ++n) {
        ASSERT_TRUE(owners.keep_oldest());
        owners.check();
    }
}

TEST(LogStorage, GrownMemoryIsUsedWhenTheLogHasGoneRound) {
    LogOwners owners(64, 256);
    ASSERT_TRUE(owners.add_all({16, 16, 16, 16}));
    owners.remove(0);
    ASSERT_EQ(owners.oldest(), 1U);
    ASSERT_TRUE(owners.add(16));
    ASSERT_TRUE(owners.log.resize(128, nullptr));
    EXPECT_EQ(owners.log.size_bytes(), 128U);
    EXPECT_EQ(owners.log.free_bytes(), 64U);
    EXPECT_FALSE(owners.add(16));
    for (int n = 0; n < 3; ++n)
        ASSERT_TRUE(owners.keep_oldest());
    EXPECT_TRUE(owners.add(64));
    owners.check();
    EXPECT_FALSE(owners.log.resize(1 << 20, nullptr)) << "beyond what was reserved";
}

TEST(LogStorage, ShrinkingEvictsTheOldestAndKeepsTheOthers) {
    LogOwners owners(256, 256);
    for (int n = 0; n < 16; ++n)
        ASSERT_TRUE(owners.add(16));
    const auto evict = [&](std::uint32_t owner) { owners.remove(owner); };
    owners.payloads.at(9).pinned = true;
    EXPECT_FALSE(owners.log.resize(128, evict));
    EXPECT_EQ(owners.payloads.size(), 16U);
    owners.payloads.at(9).pinned = false;
    EXPECT_TRUE(owners.log.resize(128, evict));
    EXPECT_EQ(owners.log.size_bytes(), 128U);
    EXPECT_EQ(owners.payloads.size(), 8U);
    EXPECT_EQ(owners.payloads.begin()->first, 8U);
    owners.check();
    EXPECT_TRUE(owners.log.resize(8, evict));
    EXPECT_EQ(owners.log.free_bytes(), 8U);
    owners.check();
}

TEST(LogStorage, RandomOperationsKeepAllBytes) {
    for (std::uint32_t seed = 1; seed <= 30; ++seed) {
        std::mt19937 random(seed);
        const std::uint64_t least = 1024, most = 16 * 1024;
        LogOwners owners(most, 2 * most);
        for (int step = 0; step < 4000; ++step) {
            const auto chosen =
                owners.payloads.empty()
                    ? owners.payloads.end()
                    : std::next(owners.payloads.begin(),
                                static_cast<std::ptrdiff_t>(random() % owners.payloads.size()));
            switch (random() % 8) {
                case 0:
                case 1:
                case 2:
                    (void)owners.add(1 + random() % (random() % 4 == 0 ? 5000 : 200),
                                     static_cast<std::uint8_t>(random() % 64));
                    break;
                case 3:
                    if (chosen != owners.payloads.end()) owners.remove(chosen->first);
                    break;
                case 4:
                    if (chosen != owners.payloads.end()) chosen->second.pinned = random() % 4 == 0;
                    break;
                case 5:
                case 6:
                    if (const std::uint32_t owner = owners.oldest(); owner != LogStorage::none) {
                        if (random() % 2 == 0 && !owners.payloads.at(owner).pinned)
                            owners.remove(owner);
                        else
                            ASSERT_TRUE(owners.keep_oldest());
                    }
                    break;
                default:
                    if (random() % 20 == 0)
                        (void)owners.log.resize(least + random() % (2 * most - least),
                                                [&](std::uint32_t owner) { owners.remove(owner); });
            }
            if (step % 20 == 0) owners.check();
        }
        owners.check();
    }
}

}  // namespace
}  // namespace nearfetch

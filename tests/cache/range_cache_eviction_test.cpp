// SPDX-License-Identifier: Apache-2.0
//
// Eviction from a full cache, and refused admissions.

#include <gtest/gtest.h>

#include <vector>

#include "range_cache_rig.hpp"

namespace nearfetch {
namespace {

using namespace testing;  // NOLINT: the tests' own

TEST(RangeCache, ReadingAheadInAFullCacheHasToPay) {
    RangeCacheConfig config = small_config(4);
    config.read_ahead_bytes = 1024;
    RangeCache cache(config, 2);
    EXPECT_TRUE(cache.read_ahead().pays(128, true)) << "there is room";
    const auto ahead = [&](std::uint64_t offset) {
        const Admission admission = cache.read_ahead().admit(1, {offset, offset + 256});
        ASSERT_NE(admission.entry, nullptr);
        cache.commit(admission.entry, remote_bytes(1, offset, 256).data());
    };
    for (std::uint64_t i = 0; i < 20; ++i) {
        ahead(i * 256);
        for (int use = 0; use < 4; ++use)
            EXPECT_TRUE(hits(cache, 1, i * 256 + 8, 8));
    }
    EXPECT_TRUE(cache.read_ahead().pays(128, true)) << "those that were evicted had been used";
    EXPECT_EQ(cache.read_ahead().region_bytes(), 1024u);
    for (std::uint64_t i = 0; i < 40; ++i)
        ahead((100 + i) * 256);
    EXPECT_EQ(cache.read_ahead().region_bytes(), 256u) << "smaller ones first, then none";
    int allowed = 0;
    for (int i = 0; i < 640; ++i)
        allowed += cache.read_ahead().pays(128, true) ? 1 : 0;
    EXPECT_EQ(allowed, 10) << "now and then, to find out";
}

TEST(RangeCache, BlocksThatStayCountForReadingAheadToo) {
    RangeCacheConfig config = small_config(32);
    config.policy = "density";
    config.index_entries = config.index_entries_max = 16;
    config.read_ahead_bytes = 1024;
    RangeCache cache(config, 1);
    const auto get = [&](std::uint64_t block) {
        if (hits(cache, 0, block * 256 + 8, 8)) return;
        const Admission admission = cache.read_ahead().admit(0, {block * 256, block * 256 + 256});
        if (admission.entry != nullptr)
            cache.commit(admission.entry, remote_bytes(0, block * 256, 256).data());
    };
    // Room for 8. Six ranges are used all the time; the others come twice, so that they are admitted and
    // evicted.
    for (std::uint64_t round = 0; round < 100; ++round) {
        for (std::uint64_t popular = 0; popular < 6; ++popular)
            for (int use = 0; use < 4; ++use)
                get(popular);
        for (std::uint64_t passing = 0; passing < 4; ++passing)
            get(100 + (round / 2) * 4 + passing);
    }
    EXPECT_GT(cache.counters().evictions, 50u);
    EXPECT_TRUE(hits(cache, 0, 8, 8)) << "the popular ones stay";
    EXPECT_EQ(cache.read_ahead().region_bytes(), 1024u);
    EXPECT_TRUE(cache.read_ahead().pays(256, true));
}

// GDSF: an item's rank starts with that of the last victim, here 1000 / 64. Another use does not add that
// again.
TEST(RangeCache, CreditForReadAheadIsNoMoreThanAUse) {
    RangeCacheConfig config = small_config(2);
    config.storage = "best_fit";
    config.sample_entries = 64;
    config.policy = "gdsf";
    config.read_ahead_bytes = 1024;
    RangeCache cache(config, 1);
    const auto use = [&](std::uint64_t offset, std::uint64_t bytes, int times, bool ahead = false) {
        const Admission admission = ahead ? cache.read_ahead().admit(0, {offset, offset + bytes})
                                          : cache.admit(0, offset, bytes, cache.now(), true);
        ASSERT_NE(admission.entry, nullptr);
        cache.commit(admission.entry, remote_bytes(0, offset, bytes).data());
        for (int time = 1; time < times; ++time)
            EXPECT_TRUE(hits(cache, 0, offset, bytes));
    };
    use(0, 64, 1000);
    use(128, 128, 1);
    use(256, 64, 1, true);
    use(320, 64, 20);
    use(384, 64, 1);
    EXPECT_EQ(cache.counters().evictions, 3u);
    EXPECT_TRUE(hits(cache, 0, 320, 64)) << "rather than the block, which was used once";
}

// The next region's room is made while the transfer of this one is outstanding.
TEST(RangeCache, ReadingAheadFindsRoomThatWasMadeBefore) {
    RangeCacheConfig config = small_config(256, 1024);
    config.read_ahead_bytes = 1024;
    RangeCache cache(config, 1);
    for (std::uint64_t region = 0; region < 200; ++region) {
        const std::uint64_t before = cache.counters().evictions;
        const Admission admission = cache.read_ahead().admit(0, {region * 1024, region * 1024 + 1024});
        ASSERT_NE(admission.entry, nullptr);
        if (region > 17) {
            EXPECT_EQ(cache.counters().evictions, before);
        }
        cache.read_ahead().make_room_ahead();
        cache.commit(admission.entry, remote_bytes(0, region * 1024, 1024).data());
        cache.check_invariants();
    }
    EXPECT_GT(cache.counters().evictions, 150u);
}

TEST(RangeCache, WhatWasReadAheadAndWentStaleUnusedIsNoticedAtOnce) {
    RangeCacheConfig config = small_config(1024);
    config.read_ahead_bytes = 256;
    RangeCache cache(config, 1);
    int admitted = 0;
    for (std::uint64_t i = 0; i < 40; ++i) {
        if (cache.read_ahead().pays(256, false)) {
            const Admission admission = cache.read_ahead().admit(0, {i * 256, i * 256 + 256});
            ASSERT_NE(admission.entry, nullptr);
            cache.commit(admission.entry, remote_bytes(0, i * 256, 256).data());
            ++admitted;
        }
        cache.acquire();
    }
    EXPECT_LT(admitted, 12) << "although there is room for all";
    EXPECT_TRUE(cache.read_ahead().pays(256, true)) << "what lasts may be used yet";
}

TEST(RangeCache, StaleEntriesGoBeforeFreshOnes) {
    RangeCache cache(small_config(4), 2);
    store(cache, 0, 0, 64);
    store(cache, 1, 0, 64);
    store(cache, 1, 64, 64);
    store(cache, 0, 64, 64);
    EXPECT_TRUE(hits(cache, 1, 0, 64));
    EXPECT_TRUE(hits(cache, 0, 0, 64));
    cache.acquire(1);
    // LRU would evict 0, 64 (never used again), but target 1's are stale.
    EXPECT_EQ(store(cache, 0, 128, 64), AccessType::direct);
    EXPECT_EQ(store(cache, 0, 192, 64), AccessType::direct);
    EXPECT_EQ(cache.counters().evictions, 0u);
    EXPECT_TRUE(hits(cache, 0, 0, 64));
    EXPECT_TRUE(hits(cache, 0, 64, 64));
    EXPECT_EQ(store(cache, 0, 256, 64), AccessType::capacity);
    EXPECT_EQ(cache.counters().evictions, 1u);
}

// Four lines: A B C D. D and C are used again, so A and B leave, and C and D are where they were or moved
// there.
TEST(RangeCache, RoomOfAnySizeComesFromTheOldestThatAreNotUsed) {
    for (const std::uint64_t bytes : {65U, 100U, 128U}) {
        RangeCache cache(small_config(4), 1);
        store_lines(cache, 0, 4);
        EXPECT_TRUE(hits(cache, 0, 128, 64));
        EXPECT_TRUE(hits(cache, 0, 192, 64));
        int tries = 0;
        while (store(cache, 0, 1000, bytes) == AccessType::failing && tries < 4)
            ++tries;
        EXPECT_EQ(cache.counters().evictions, 2u);
        EXPECT_TRUE(hits(cache, 0, 1000, bytes));
        EXPECT_TRUE(hits(cache, 0, 128, 64));
        EXPECT_TRUE(hits(cache, 0, 192, 64));
    }
}

TEST(RangeCache, TheWorkForANewcomerIsBounded) {
    RangeCache cache(small_config(1024, 4096), 1);
    store_lines(cache, 0, 1024);
    EXPECT_EQ(store(cache, 0, 1 << 20, 512 * 64), AccessType::failing) << "more than a few would have to go";
    EXPECT_LE(cache.counters().evictions, 8u);
    EXPECT_GE(cache.occupancy().entries, 1024u - 8);
}

// Lines: A P B C, P in flight. Room for two lines is behind it.
TEST(RangeCache, EntriesInFlightAreNeverVictimsAndStay) {
    RangeCache cache(small_config(4), 1);
    store(cache, 0, 0, 64);
    const Admission pending = cache.admit(0, 64, 64, cache.now(), true);
    std::byte* const where = pending.entry->data();
    store(cache, 0, 128, 64);
    store(cache, 0, 192, 64);
    int tries = 0;
    while (store(cache, 0, 2000, 128) == AccessType::failing && tries < 8)
        ++tries;
    EXPECT_TRUE(hits(cache, 0, 2000, 128));
    EXPECT_EQ(pending.entry->data(), where);
    EXPECT_TRUE(cache.commit(pending.entry, remote_bytes(0, 64, 64).data()));
    EXPECT_TRUE(hits(cache, 0, 64, 64));
    EXPECT_EQ(store(cache, 0, 4000, 257), AccessType::failing) << "larger than the buffer";
}

TEST(RangeCache, InABestFitBufferOneIsEvictedWhichMayNotSuffice) {
    RangeCacheConfig config = small_config(4);
    config.storage = "best_fit";
    config.sample_entries = 64;
    RangeCache cache(config, 1);
    store_lines(cache, 0, 4);
    EXPECT_EQ(store(cache, 0, 1000, 64), AccessType::capacity);
    EXPECT_EQ(cache.counters().evictions, 1u);
    EXPECT_EQ(store(cache, 0, 2000, 128), AccessType::failing);
    EXPECT_EQ(cache.counters().evictions, 2u);
    EXPECT_EQ(cache.occupancy().free_bytes, 64u);
    EXPECT_EQ(store(cache, 0, 2000, 128), AccessType::capacity) << "the second eviction is a neighbour";
}

TEST(RangeCache, AFullIndexMakesConflictingAccesses) {
    for (const char* const storage : {"log", "best_fit"}) {
        RangeCacheConfig config = small_config(64, 8);
        config.storage = storage;
        RangeCache cache(config, 1);
        std::uint64_t direct = 0, conflicting = 0;
        for (std::uint64_t i = 0; i < 20; ++i) {
            const AccessType type = store(cache, 0, i * 64, 64);
            direct += type == AccessType::direct ? 1 : 0;
            conflicting += type == AccessType::conflicting ? 1 : 0;
        }
        EXPECT_EQ(direct + conflicting, 20u);
        EXPECT_EQ(cache.occupancy().entries, direct);
        EXPECT_GE(direct, 7u);
        EXPECT_LE(direct, 8u);
        EXPECT_EQ(cache.counters().evictions, conflicting);
        EXPECT_TRUE(hits(cache, 0, 19 * 64, 64));
    }
}

// A short item that is used once is worth more per byte than a long one that is used often, and less per
// slot.
TEST(RangeCache, WhereSlotsAreShortBytesDoNotCount) {
    RangeCacheConfig config = small_config(4096, 16);
    config.policy = "density";
    RangeCache cache(config, 1);
    constexpr std::uint64_t long_bytes = 4096, rounds = 50;
    std::uint64_t used_once = 1 << 20, found = 0;
    for (std::uint64_t round = 0; round < rounds; ++round) {
        for (std::uint64_t i = 0; i < 12; ++i) {
            if (hits(cache, 0, i * long_bytes, long_bytes))
                ++found;
            else
                store(cache, 0, i * long_bytes, long_bytes);
        }
        for (int i = 0; i < 12; ++i, used_once += 8)
            store(cache, 0, used_once, 8);
    }
    cache.check_invariants();
    EXPECT_GE(found, 12 * (rounds - 1) * 9 / 10);
}

TEST(RangeCache, AnIndexFullOfEntriesInFlightFails) {
    RangeCache cache(small_config(64, 4), 1);
    std::vector<Entry*> pending;
    for (std::uint64_t i = 0; i < 10; ++i)
        if (Entry* entry = cache.admit(0, i * 64, 64, cache.now(), true).entry) pending.push_back(entry);
    EXPECT_LE(pending.size(), 4u);
    EXPECT_GE(pending.size(), 3u);
    cache.check_invariants();
    for (Entry* entry : pending)
        cache.abandon(entry);
    EXPECT_EQ(cache.occupancy().free_bytes, cache.occupancy().buffer_bytes);
}

TEST(RangeCache, DensityKeepsWhatIsUsedMoreThanTheNewcomer) {
    RangeCacheConfig config = small_config(4);
    config.policy = "density";
    RangeCache cache(config, 1);
    store_lines(cache, 0, 4);
    for (int i = 0; i < 3; ++i)
        for (const std::uint64_t offset : {0, 64, 128})
            EXPECT_TRUE(hits(cache, 0, offset, 64));
    EXPECT_EQ(store(cache, 0, 1000, 128), AccessType::failing)
        << "used once, would displace one used four times";
    EXPECT_EQ(cache.counters().evictions, 0u);
    EXPECT_EQ(store(cache, 0, 2000, 64), AccessType::capacity)
        << "newer than the one that was never used again";
    EXPECT_EQ(cache.find(0, 192, 64), nullptr);
    for (const std::uint64_t offset : {0, 64, 128})
        EXPECT_TRUE(hits(cache, 0, offset, 64));
    int refusals = 0;
    while (store(cache, 0, 1000, 128) == AccessType::failing && refusals < 100)
        ++refusals;
    EXPECT_TRUE(hits(cache, 0, 1000, 128)) << "asked for again and again, it is remembered and gets in";
    EXPECT_GE(refusals, 2);
    EXPECT_LE(refusals, 12);
}

TEST(RangeCache, TheApplicationsScoreDecides) {
    RangeCacheConfig config = small_config(2);
    config.policy = "application";
    config.application_score = [](Rank target, std::uint64_t offset, std::uint64_t size) {
        EXPECT_EQ(target, 0);
        EXPECT_EQ(size, 64u);
        return static_cast<double>(offset);
    };
    RangeCache cache(config, 1);
    store(cache, 0, 640, 64);
    store(cache, 0, 64, 64);
    store(cache, 0, 1280, 64);
    EXPECT_TRUE(hits(cache, 0, 640, 64));
    EXPECT_TRUE(hits(cache, 0, 1280, 64));
    EXPECT_EQ(cache.find(0, 64, 64), nullptr);
}

}  // namespace
}  // namespace nearfetch

// SPDX-License-Identifier: Apache-2.0
//
// Lookups: what is found, read and planned, for given contents.

#include <gtest/gtest.h>

#include <cstring>
#include <utility>
#include <vector>

#include "range_cache_rig.hpp"

namespace nearfetch {
namespace {

using namespace testing;  // NOLINT: the tests' own

TEST(RangeCache, AnySubRangeOfAnEntryHits) {
    RangeCache cache(small_config(), 2);
    EXPECT_EQ(store(cache, 1, 1000, 200), AccessType::direct);
    EXPECT_TRUE(hits(cache, 1, 1000, 200));
    EXPECT_TRUE(hits(cache, 1, 1000, 1));
    EXPECT_TRUE(hits(cache, 1, 1199, 1));
    EXPECT_TRUE(hits(cache, 1, 1063, 100));
    EXPECT_EQ(cache.find(1, 1000, 201), nullptr);
    EXPECT_EQ(cache.find(1, 999, 2), nullptr);
    EXPECT_EQ(cache.find(1, 1199, 2), nullptr);
    EXPECT_EQ(cache.find(1, 1200, 1), nullptr);
    EXPECT_EQ(cache.find(0, 1000, 1), nullptr);
    // Also after other entries were used.
    EXPECT_EQ(store(cache, 1, 0, 8), AccessType::direct);
    EXPECT_TRUE(hits(cache, 1, 0, 8));
    EXPECT_TRUE(hits(cache, 1, 1100, 100));
}

TEST(RangeCache, LargeEntriesThatAlternateAreFoundAmongRecentOnes) {
    RangeCache cache(small_config(1024), 2);
    const auto mru = [&](Rank target, std::uint64_t offset) {
        return cache.find_recent(target, offset, 8) != nullptr;
    };
    for (const std::uint64_t offset : {0u, 6000u, 12000u})
        store(cache, 1, offset, 4096);
    store(cache, 1, 20000, 64);
    store(cache, 1, 20064, 64);
    // Each lookup follows another one, in each region of 4 KiB that the entry spans; the last entry counts.
    for (const std::uint64_t offset : {2000u, 7000u, 12200u, 6900u, 14000u, 9000u, 20010u, 20070u})
        EXPECT_TRUE(hits(cache, 1, offset, 8));
    for (const std::uint64_t offset : {3000u, 12500u, 6500u, 15000u, 9500u, 4080u, 7900u})
        EXPECT_TRUE(mru(1, offset)) << offset;
    EXPECT_FALSE(mru(1, 12200)) << "there another one was used since";
    EXPECT_FALSE(mru(1, 4092)) << "ends beyond the entry";
    EXPECT_FALSE(mru(0, 3000)) << "another target's";
    EXPECT_FALSE(mru(1, 20010)) << "small ones are not kept";
    cache.check_invariants();
    cache.drop(1, 6000, 8);
    cache.check_invariants();
    EXPECT_FALSE(mru(1, 6500));
    EXPECT_FALSE(mru(1, 9500));
    EXPECT_TRUE(mru(1, 3000));
    cache.acquire(1);
    EXPECT_FALSE(mru(1, 3000)) << "stale";
    store(cache, 0, 64 * 4096, 4096);  // shares a slot of the table
    EXPECT_TRUE(hits(cache, 0, 64 * 4096 + 100, 8));
    EXPECT_FALSE(mru(1, 100));
    cache.check_invariants();
}

TEST(RangeCache, NeighboursAreReadTogetherOrNotAtAll) {
    RangeCache cache(small_config(), 2);
    for (const auto& [offset, size] : {std::pair{100u, 50u}, {150u, 30u}, {180u, 20u}, {300u, 10u}})
        store(cache, 1, offset, size);
    std::vector<std::byte> to(100);
    EXPECT_EQ(cache.read_across(1, 120, 70, to.data(), 0), (ByteRange{100, 200}));
    EXPECT_EQ(std::memcmp(to.data(), remote_bytes(1, 120, 70).data(), 70), 0);
    EXPECT_EQ(cache.read_across(1, 160, 10, to.data(), 0), (ByteRange{150, 180}));
    to.assign(100, std::byte{0x5a});
    for (const auto& [offset, size] : {std::pair{90u, 30u}, {190u, 20u}, {190u, 115u}, {250u, 10u}})
        EXPECT_TRUE(cache.read_across(1, offset, size, to.data(), 0).empty()) << offset;
    EXPECT_TRUE(cache.read_across(0, 120, 70, to.data(), 0).empty());
    EXPECT_EQ(to, std::vector<std::byte>(100, std::byte{0x5a}))
        << "nothing is copied of what is not all there";
    cache.acquire(1);
    EXPECT_TRUE(cache.read_across(1, 120, 70, to.data(), 0).empty()) << "stale";
}

TEST(RangeCache, AGapIsSurroundedByWhatIsThere) {
    RangeCache cache(small_config(), 2);
    store(cache, 1, 100, 50);
    store(cache, 1, 400, 50);
    EXPECT_EQ(cache.read_ahead().gap_around(1, {200, 210}, {0, 700}), (ByteRange{150, 400}));
    EXPECT_EQ(cache.read_ahead().gap_around(1, {200, 210}, {160, 300}), (ByteRange{160, 300}));
    EXPECT_EQ(cache.read_ahead().gap_around(1, {0, 10}, {0, 64}), (ByteRange{0, 64}));
    EXPECT_EQ(cache.read_ahead().gap_around(0, {200, 210}, {0, 700}), (ByteRange{0, 700}))
        << "another target";
    cache.acquire(1);
    EXPECT_EQ(cache.read_ahead().gap_around(1, {200, 210}, {0, 700}), (ByteRange{0, 700})) << "stale";
    EXPECT_EQ(cache.occupancy().entries, 0u);
}

TEST(RangeCache, WhatIsSmallAndWasUsedOnceIsFetchedAgainWithWhatIsAroundIt) {
    RangeCache cache(small_config(), 2);
    store(cache, 1, 100, 8);
    store(cache, 1, 300, 8);
    store(cache, 1, 400, 65);
    store(cache, 1, 600, 8);
    const ByteRange block{0, 1024}, gap{200, 208};
    EXPECT_EQ(cache.read_ahead().gap_around(1, gap, block), (ByteRange{0, 400}))
        << "up to what is more than a 16th of it";
    EXPECT_EQ(cache.read_ahead().gap_around(1, gap, {104, 1128}), (ByteRange{108, 400}))
        << "and not beyond the block";
    EXPECT_TRUE(hits(cache, 1, 100, 8));
    EXPECT_EQ(cache.read_ahead().gap_around(1, gap, block), (ByteRange{108, 400})) << "used again";
    EXPECT_EQ(cache.occupancy().entries, 4u) << "nothing has changed yet";

    const Admission admission = cache.read_ahead().admit(1, {108, 400});
    ASSERT_NE(admission.entry, nullptr);
    EXPECT_EQ(cache.occupancy().entries, 4u) << "one in the place of another";
    EXPECT_FALSE(hits(cache, 1, 300, 8)) << "until it has come";
    EXPECT_TRUE(cache.commit(admission.entry, remote_bytes(1, 108, 292).data()));
    EXPECT_TRUE(hits(cache, 1, 300, 8));
    EXPECT_TRUE(hits(cache, 1, 100, 8));
    cache.check_invariants();
}

TEST(RangeCache, SixtyFourBitDisplacements) {
    RangeCache cache(small_config(), 1);
    const std::uint64_t far = (std::uint64_t{1} << 40) + 8;
    store(cache, 0, 8, 8);
    store(cache, 0, far, 8);
    EXPECT_TRUE(hits(cache, 0, 8, 8));
    EXPECT_TRUE(hits(cache, 0, far, 8));
    EXPECT_EQ(cache.find(0, (std::uint64_t{1} << 32) + 8, 8), nullptr);
}

TEST(RangeCache, WithExactMatchOnlyTheSameDisplacementHits) {
    RangeCacheConfig config = small_config();
    config.exact_match = true;
    RangeCache cache(config, 1);
    store(cache, 0, 1000, 200);
    EXPECT_TRUE(hits(cache, 0, 1000, 200));
    EXPECT_TRUE(hits(cache, 0, 1000, 50));
    EXPECT_EQ(cache.find(0, 1010, 10), nullptr);
    EXPECT_EQ(store(cache, 0, 1010, 10), AccessType::direct) << "overlapping entries are allowed";
    EXPECT_TRUE(hits(cache, 0, 1010, 10));
    std::vector<LookupPart> parts;
    EXPECT_EQ(cache.find(0, 1000, 300), nullptr);
    cache.plan_lookup(0, 1000, 300, parts);
    EXPECT_EQ(text(parts), "r1000+200 g1200+100 ");
    EXPECT_EQ(store(cache, 0, 1200, 100), AccessType::direct);
    cache.plan_lookup(0, 1000, 300, parts);
    EXPECT_EQ(text(parts), "r1000+200 r1200+100 ");
}

TEST(RangeCache, LookupPlanNamesResidentPendingAndMissingPartsInOrder) {
    RangeCache cache(small_config(), 1);
    store(cache, 0, 100, 50);
    store(cache, 0, 150, 10);
    const Admission pending = cache.admit(0, 200, 40, cache.now(), true);
    ASSERT_NE(pending.entry, nullptr);
    std::vector<LookupPart> parts;
    EXPECT_EQ(cache.find(0, 90, 200), nullptr);
    cache.plan_lookup(0, 90, 200, parts);
    EXPECT_EQ(text(parts), "g90+10 r100+50 r150+10 g160+40 p200+40 g240+50 ");
    EXPECT_EQ(parts[4].entry, pending.entry);
    EXPECT_EQ(std::memcmp(parts[1].data, remote_bytes(0, 100, 50).data(), 50), 0);
    cache.plan_lookup(0, 120, 100, parts);
    EXPECT_EQ(text(parts), "r120+30 r150+10 g160+40 p200+20 ");
    cache.plan_lookup(0, 120, 40, parts);
    EXPECT_EQ(text(parts), "r120+30 r150+10 ") << "a hit across neighbours";
    EXPECT_TRUE(cache.commit(pending.entry, remote_bytes(0, 200, 40).data()));
    EXPECT_TRUE(hits(cache, 0, 210, 30));
}

}  // namespace
}  // namespace nearfetch

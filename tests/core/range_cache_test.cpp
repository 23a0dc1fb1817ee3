// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

#include "base/error.hpp"
#include "core/range_cache/range_cache.hpp"

namespace nearfetch {
namespace {

RangeCacheConfig small_config(std::uint64_t lines = 16, std::uint64_t index_entries = 64) {
    RangeCacheConfig config;
    config.buffer_bytes = config.buffer_bytes_max = 64 * lines;
    config.index_entries = config.index_entries_max = index_entries;
    config.adaptive = false;
    config.policy = "lru";
    return config;
}

/// Byte `offset` of a target's memory.
std::byte remote(Rank target, std::uint64_t offset) {
    return static_cast<std::byte>((offset * 7 + static_cast<std::uint64_t>(target) * 31) & 0xff);
}

std::vector<std::byte> remote_bytes(Rank target, std::uint64_t offset, std::uint64_t size) {
    std::vector<std::byte> bytes(size);
    for (std::uint64_t i = 0; i < size; ++i)
        bytes[i] = remote(target, offset + i);
    return bytes;
}

AccessType store(RangeCache& cache, Rank target, std::uint64_t offset, std::uint64_t size) {
    EXPECT_EQ(cache.find(target, offset, size), nullptr);
    const Admission admission = cache.admit(target, offset, size, cache.now(), true);
    if (admission.entry != nullptr) {
        EXPECT_TRUE(cache.commit(admission.entry, remote_bytes(target, offset, size).data()));
    }
    cache.check_invariants();
    return admission.type;
}

::testing::AssertionResult hits(RangeCache& cache, Rank target, std::uint64_t offset, std::uint64_t size) {
    const std::byte* data = cache.find(target, offset, size);
    if (data == nullptr) return ::testing::AssertionFailure() << "no hit at " << offset;
    if (std::memcmp(data, remote_bytes(target, offset, size).data(), size) != 0)
        return ::testing::AssertionFailure() << "wrong bytes at " << offset;
    return ::testing::AssertionSuccess();
}

std::string text(const std::vector<Segment>& segments) {
    std::string out;
    for (const Segment& segment : segments) {
        out += segment.kind == Segment::Kind::resident  ? 'r'
               : segment.kind == Segment::Kind::pending ? 'p'
                                                        : 'g';
        out += std::to_string(segment.offset) + "+" + std::to_string(segment.size) + " ";
    }
    return out;
}

TEST(RangeCache, HotFieldsOfAnEntryShareOneCacheLine) {
    EXPECT_EQ(sizeof(EvictionItem), 40u);
    EXPECT_EQ(alignof(Entry), 64u);
    EXPECT_LE(sizeof(Entry), 128u);
}

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
    // Not only as the most recently used one.
    EXPECT_EQ(store(cache, 1, 0, 8), AccessType::direct);
    EXPECT_TRUE(hits(cache, 1, 0, 8));
    EXPECT_TRUE(hits(cache, 1, 1100, 100));
}

TEST(RangeCache, NeighboursAreReadTogetherOrNotAtAll) {
    RangeCache cache(small_config(), 2);
    for (const auto& [offset, size] : {std::pair{100u, 50u}, {150u, 30u}, {180u, 20u}, {300u, 10u}})
        store(cache, 1, offset, size);
    std::vector<std::byte> to(100);
    EXPECT_EQ(cache.read_across(1, 120, 70, to.data()), (ByteRange{100, 200}));
    EXPECT_EQ(std::memcmp(to.data(), remote_bytes(1, 120, 70).data(), 70), 0);
    EXPECT_EQ(cache.read_across(1, 160, 10, to.data()), (ByteRange{150, 180}));
    to.assign(100, std::byte{0x5a});
    for (const auto& [offset, size] : {std::pair{90u, 30u}, {190u, 20u}, {190u, 115u}, {250u, 10u}})
        EXPECT_TRUE(cache.read_across(1, offset, size, to.data()).empty()) << offset;
    EXPECT_TRUE(cache.read_across(0, 120, 70, to.data()).empty());
    EXPECT_EQ(to, std::vector<std::byte>(100, std::byte{0x5a}))
        << "nothing is copied of what is not all there";
    cache.acquire(1);
    EXPECT_TRUE(cache.read_across(1, 120, 70, to.data()).empty()) << "stale";
}

TEST(RangeCache, NeighboursBecomeOneEntry) {
    RangeCache cache(small_config(), 2);
    store(cache, 1, 100, 50);
    store(cache, 1, 150, 30);
    std::vector<std::byte> to(100);
    cache.join(1, cache.read_across(1, 120, 50, to.data()));
    cache.check_invariants();
    EXPECT_EQ(cache.entries(), 1u);
    EXPECT_TRUE(hits(cache, 1, 100, 80));
    RangeCache full(small_config(4), 2);
    for (const std::uint64_t offset : {0u, 64u, 128u, 192u})
        store(full, 1, offset, 64);
    full.join(1, full.read_across(1, 32, 64, to.data()));
    full.check_invariants();
    EXPECT_EQ(full.entries(), 4u) << "there is no room for the new one beside the old ones";
}

TEST(RangeCache, AGapIsSurroundedByWhatIsThere) {
    RangeCache cache(small_config(), 2);
    store(cache, 1, 100, 50);
    store(cache, 1, 400, 50);
    EXPECT_EQ(cache.gap_around(1, {200, 210}, {0, 1000}), (ByteRange{150, 400}));
    EXPECT_EQ(cache.gap_around(1, {200, 210}, {160, 300}), (ByteRange{160, 300}));
    EXPECT_EQ(cache.gap_around(1, {0, 10}, {0, 64}), (ByteRange{0, 64}));
    EXPECT_EQ(cache.gap_around(0, {200, 210}, {0, 1000}), (ByteRange{0, 1000})) << "another target";
    cache.acquire(1);
    EXPECT_EQ(cache.gap_around(1, {200, 210}, {0, 1000}), (ByteRange{0, 1000})) << "stale";
    EXPECT_EQ(cache.entries(), 0u);
}

TEST(RangeCache, ReadingAheadInAFullCacheHasToPay) {
    RangeCache cache(small_config(4), 2);
    EXPECT_TRUE(cache.ahead_pays(128)) << "there is room";
    const auto ahead = [&](std::uint64_t offset) {
        const Admission admission = cache.admit(1, offset, 256, cache.now(), true);
        ASSERT_NE(admission.entry, nullptr);
        admission.entry->set_ahead();
        cache.commit(admission.entry, remote_bytes(1, offset, 256).data());
    };
    for (std::uint64_t i = 0; i < 20; ++i) {
        ahead(i * 256);
        for (int use = 0; use < 4; ++use)
            EXPECT_TRUE(hits(cache, 1, i * 256 + 8, 8));
    }
    EXPECT_TRUE(cache.ahead_pays(128)) << "those that were evicted had been used";
    for (std::uint64_t i = 0; i < 20; ++i)
        ahead((100 + i) * 256);
    int allowed = 0;
    for (int i = 0; i < 640; ++i)
        allowed += cache.ahead_pays(128) ? 1 : 0;
    EXPECT_EQ(allowed, 10) << "now and then, to find out";
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
    std::vector<Segment> segments;
    EXPECT_EQ(cache.find(0, 1000, 300), nullptr);
    cache.survey(0, 1000, 300, segments);
    EXPECT_EQ(text(segments), "r1000+200 g1200+100 ");
    EXPECT_EQ(store(cache, 0, 1200, 100), AccessType::direct);
    cache.survey(0, 1000, 300, segments);
    EXPECT_EQ(text(segments), "r1000+200 r1200+100 ");
}

TEST(RangeCache, SurveyNamesResidentPendingAndMissingPartsInOrder) {
    RangeCache cache(small_config(), 1);
    store(cache, 0, 100, 50);
    store(cache, 0, 150, 10);
    const Admission pending = cache.admit(0, 200, 40, cache.now(), true);
    ASSERT_NE(pending.entry, nullptr);
    std::vector<Segment> segments;
    EXPECT_EQ(cache.find(0, 90, 200), nullptr);
    cache.survey(0, 90, 200, segments);
    EXPECT_EQ(text(segments), "g90+10 r100+50 r150+10 g160+40 p200+40 g240+50 ");
    EXPECT_EQ(segments[4].entry, pending.entry);
    EXPECT_EQ(std::memcmp(segments[1].data, remote_bytes(0, 100, 50).data(), 50), 0);
    cache.survey(0, 120, 100, segments);
    EXPECT_EQ(text(segments), "r120+30 r150+10 g160+40 p200+20 ");
    cache.survey(0, 120, 40, segments);
    EXPECT_EQ(text(segments), "r120+30 r150+10 ") << "a hit across neighbours";
    EXPECT_TRUE(cache.commit(pending.entry, remote_bytes(0, 200, 40).data()));
    EXPECT_TRUE(hits(cache, 0, 210, 30));
}

TEST(RangeCache, AGapThatOverlapsAnEntryIsNotAdmitted) {
    RangeCache cache(small_config(), 2);
    store(cache, 0, 100, 50);
    for (const auto& [offset, size] : {std::pair{90, 11}, {149, 1}, {100, 50}, {0, 1000}, {110, 5}}) {
        const Admission admission = cache.admit(0, static_cast<std::uint64_t>(offset),
                                                static_cast<std::uint64_t>(size), cache.now(), true);
        EXPECT_EQ(admission.type, AccessType::failing) << offset;
        EXPECT_EQ(admission.entry, nullptr);
    }
    EXPECT_EQ(store(cache, 0, 90, 10), AccessType::direct);
    EXPECT_EQ(store(cache, 0, 150, 1), AccessType::direct);
    EXPECT_EQ(store(cache, 1, 100, 50), AccessType::direct);
}

TEST(RangeCache, TransfersMayWriteStraightIntoTheEntry) {
    RangeCache cache(small_config(), 1);
    const Admission admission = cache.admit(0, 64, 64, cache.now(), true);
    ASSERT_NE(admission.entry->data(), nullptr);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(admission.entry->data()) % 64, 0u);
    std::memcpy(admission.entry->data(), remote_bytes(0, 64, 64).data(), 64);
    EXPECT_EQ(cache.find(0, 64, 64), nullptr) << "not before it has completed";
    EXPECT_TRUE(cache.commit(admission.entry, admission.entry->data()));
    EXPECT_TRUE(hits(cache, 0, 64, 64));
}

TEST(RangeCache, WithoutStoringAnEntryIsKnownOnlyWhileInFlight) {
    RangeCache cache(small_config(), 1);
    const std::uint64_t free = cache.free_bytes();
    const Admission admission = cache.admit(0, 64, 640, cache.now(), false);
    ASSERT_NE(admission.entry, nullptr);
    EXPECT_EQ(admission.type, AccessType::direct);
    EXPECT_EQ(cache.free_bytes(), free);
    std::vector<Segment> segments;
    cache.survey(0, 64, 640, segments);
    EXPECT_EQ(text(segments), "p64+640 ");
    EXPECT_FALSE(cache.commit(admission.entry, remote_bytes(0, 64, 640).data()));
    EXPECT_EQ(cache.entries(), 0u);
    EXPECT_EQ(cache.counters().dropped, 0u);
    cache.check_invariants();
}

TEST(RangeCache, AbandonedEntriesLeaveNothingBehind) {
    RangeCache cache(small_config(), 1);
    const std::uint64_t free = cache.free_bytes();
    cache.abandon(cache.admit(0, 64, 64, cache.now(), true).entry);
    const Admission doomed = cache.admit(0, 64, 64, cache.now(), true);
    cache.drop(0, 64, 1);
    cache.abandon(doomed.entry);
    EXPECT_EQ(cache.free_bytes(), free);
    EXPECT_EQ(cache.entries(), 0u);
    cache.check_invariants();
    EXPECT_EQ(store(cache, 0, 64, 64), AccessType::direct);
}

TEST(RangeCache, PutsUpdateWhatIsCachedAndDoomWhatIsInFlight) {
    RangeCache cache(small_config(), 1);
    store(cache, 0, 100, 50);
    store(cache, 0, 160, 50);
    const Admission pending = cache.admit(0, 150, 10, cache.now(), true);
    std::vector<std::byte> put(40, std::byte{0xee});
    cache.update(0, 130, 40, put.data());
    EXPECT_TRUE(pending.entry->is_doomed());
    EXPECT_TRUE(hits(cache, 0, 100, 30));
    EXPECT_TRUE(hits(cache, 0, 170, 40));
    EXPECT_EQ(*cache.find(0, 130, 1), std::byte{0xee});
    EXPECT_EQ(*cache.find(0, 149, 1), std::byte{0xee});
    EXPECT_EQ(*cache.find(0, 160, 1), std::byte{0xee});
    EXPECT_EQ(*cache.find(0, 169, 1), std::byte{0xee});
    cache.check_invariants();
    // Its place can be taken at once; the overtaken transfer then enters nothing.
    const Admission again = cache.admit(0, 150, 10, cache.now(), true);
    ASSERT_NE(again.entry, nullptr);
    EXPECT_FALSE(cache.commit(pending.entry, remote_bytes(0, 150, 10).data()));
    EXPECT_EQ(cache.find(0, 150, 10), nullptr);
    EXPECT_TRUE(cache.commit(again.entry, put.data()));
    EXPECT_EQ(*cache.find(0, 155, 1), std::byte{0xee});
    EXPECT_EQ(cache.counters().dropped, 1u);
    EXPECT_EQ(cache.counters().committed, 3u);
    cache.check_invariants();
}

TEST(RangeCache, DropForgetsWhatOverlapsAndNothingElse) {
    for (const bool exact : {false, true}) {
        RangeCacheConfig config = small_config();
        config.exact_match = exact;
        RangeCache cache(config, 2);
        store(cache, 0, 100, 50);
        store(cache, 0, 200, 50);
        store(cache, 1, 100, 50);
        if (exact) {
            store(cache, 0, 90, 300);
        }
        cache.drop(0, 149, 51);
        EXPECT_TRUE(hits(cache, 0, 200, 50));
        EXPECT_TRUE(hits(cache, 1, 100, 50));
        EXPECT_EQ(cache.find(0, 100, 50), nullptr);
        EXPECT_EQ(cache.find(0, 90, 300), nullptr);
        EXPECT_EQ(cache.counters().dropped, exact ? 2u : 1u);
        cache.check_invariants();
    }
}

TEST(RangeCache, AcquireMakesStaleInItsScopeAndStaleDataIsFetchedAgain) {
    RangeCache cache(small_config(), 2);
    store(cache, 0, 0, 64);
    store(cache, 1, 0, 64);
    cache.acquire(0);
    EXPECT_EQ(cache.find(0, 0, 64), nullptr);
    EXPECT_TRUE(hits(cache, 1, 0, 64));
    std::vector<Segment> segments;
    cache.survey(0, 0, 64, segments);
    EXPECT_EQ(text(segments), "g0+64 ");
    EXPECT_EQ(cache.entries(), 1u) << "survey forgets what is stale";
    cache.acquire();
    EXPECT_EQ(cache.find(1, 0, 64), nullptr);
    EXPECT_EQ(cache.find(1, 10, 4), nullptr);
    EXPECT_EQ(store(cache, 1, 0, 64), AccessType::direct);
    EXPECT_TRUE(hits(cache, 1, 10, 4));
}

TEST(RangeCache, DataIssuedBeforeAnAcquireDoesNotEnterAfterIt) {
    RangeCache cache(small_config(), 1);
    const Admission early = cache.admit(0, 0, 64, cache.now(), true);
    cache.acquire();
    std::vector<Segment> segments;
    cache.survey(0, 0, 64, segments);
    EXPECT_EQ(text(segments), "g0+64 ") << "a get after the acquire joined a transfer from before it";
    EXPECT_FALSE(cache.commit(early.entry, remote_bytes(0, 0, 64).data()));
    const Admission second = cache.admit(0, 0, 64, cache.now(), true);
    cache.acquire();
    EXPECT_FALSE(cache.commit(second.entry, remote_bytes(0, 0, 64).data()));
    EXPECT_EQ(cache.entries(), 0u);
    EXPECT_EQ(cache.counters().dropped, 2u);
    cache.check_invariants();
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
    // LRU would evict 0, 64 (never used again); target 1's are stale.
    EXPECT_EQ(store(cache, 0, 128, 64), AccessType::direct);
    EXPECT_EQ(store(cache, 0, 192, 64), AccessType::direct);
    EXPECT_EQ(cache.counters().evictions, 0u);
    EXPECT_TRUE(hits(cache, 0, 0, 64));
    EXPECT_TRUE(hits(cache, 0, 64, 64));
    EXPECT_EQ(store(cache, 0, 256, 64), AccessType::capacity);
    EXPECT_EQ(cache.counters().evictions, 1u);
}

TEST(RangeCache, InvalidateForgetsAllAndDoomsWhatIsInFlight) {
    RangeCache cache(small_config(), 1);
    store(cache, 0, 0, 64);
    const Admission pending = cache.admit(0, 64, 64, cache.now(), true);
    cache.invalidate();
    EXPECT_EQ(cache.entries(), 0u);
    EXPECT_EQ(cache.find(0, 0, 64), nullptr);
    EXPECT_FALSE(cache.commit(pending.entry, remote_bytes(0, 64, 64).data()));
    EXPECT_EQ(cache.free_bytes(), cache.buffer_bytes());
    EXPECT_EQ(cache.counters().invalidations, 1u);
    cache.check_invariants();
}

// Four lines: A B C D. Room for two lines is made by two neighbours, not by the two oldest.
TEST(RangeCache, SeveralVictimsAreNeighbours) {
    RangeCache cache(small_config(4), 1);
    for (const std::uint64_t offset : {0, 64, 128, 192})
        store(cache, 0, offset, 64);
    EXPECT_TRUE(hits(cache, 0, 64, 64));
    EXPECT_TRUE(hits(cache, 0, 0, 64));  // oldest first: C D B A
    EXPECT_EQ(store(cache, 0, 1000, 128), AccessType::capacity);
    EXPECT_EQ(cache.counters().evictions, 2u);
    EXPECT_TRUE(hits(cache, 0, 0, 64));
    EXPECT_TRUE(hits(cache, 0, 64, 64));
    EXPECT_TRUE(hits(cache, 0, 1000, 128));
}

// Lines: A P B C, P in flight; oldest first A B C. Two lines cannot come from A and B, P lies between.
TEST(RangeCache, EntriesInFlightAreNeverVictimsAndNothingGoesForNothing) {
    RangeCache cache(small_config(4), 1);
    store(cache, 0, 0, 64);
    const Admission pending = cache.admit(0, 64, 64, cache.now(), true);
    store(cache, 0, 128, 64);
    store(cache, 0, 192, 64);
    EXPECT_EQ(store(cache, 0, 1000, 192), AccessType::failing);
    EXPECT_EQ(cache.counters().evictions, 0u) << "evicted and then failed to admit";
    EXPECT_TRUE(hits(cache, 0, 0, 64));
    EXPECT_EQ(store(cache, 0, 2000, 128), AccessType::capacity);
    EXPECT_TRUE(hits(cache, 0, 0, 64));
    EXPECT_TRUE(cache.commit(pending.entry, remote_bytes(0, 64, 64).data()));
    EXPECT_TRUE(hits(cache, 0, 64, 64));
    EXPECT_EQ(store(cache, 0, 4000, 257), AccessType::failing) << "larger than the buffer";
}

TEST(RangeCache, WeakAdmissionEvictsOneAndMayFail) {
    RangeCacheConfig config = small_config(4);
    config.weak_admission = true;
    RangeCache cache(config, 1);
    for (const std::uint64_t offset : {0, 64, 128, 192})
        store(cache, 0, offset, 64);
    EXPECT_EQ(store(cache, 0, 1000, 64), AccessType::capacity);
    EXPECT_EQ(cache.counters().evictions, 1u);
    EXPECT_EQ(store(cache, 0, 2000, 128), AccessType::failing);
    EXPECT_EQ(cache.counters().evictions, 2u);
    EXPECT_EQ(cache.free_bytes(), 64u);
    EXPECT_EQ(store(cache, 0, 2000, 128), AccessType::capacity) << "the second eviction is a neighbour";
}

TEST(RangeCache, AFullIndexMakesConflictingAccesses) {
    for (const bool weak : {false, true}) {
        RangeCacheConfig config = small_config(64, 8);
        config.weak_admission = weak;
        RangeCache cache(config, 1);
        std::uint64_t direct = 0, conflicting = 0;
        for (std::uint64_t i = 0; i < 20; ++i) {
            const AccessType type = store(cache, 0, i * 64, 64);
            direct += type == AccessType::direct ? 1 : 0;
            conflicting += type == AccessType::conflicting ? 1 : 0;
        }
        EXPECT_EQ(direct + conflicting, 20u);
        EXPECT_EQ(cache.entries(), direct);
        EXPECT_GE(direct, 7u);
        EXPECT_LE(direct, 8u);
        EXPECT_EQ(cache.counters().evictions, conflicting);
        EXPECT_TRUE(hits(cache, 0, 19 * 64, 64));
    }
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
    EXPECT_EQ(cache.free_bytes(), cache.buffer_bytes());
}

TEST(RangeCache, DensityKeepsWhatIsUsedMoreThanTheNewcomer) {
    RangeCacheConfig config = small_config(4);
    config.policy = "density";
    RangeCache cache(config, 1);
    for (const std::uint64_t offset : {0, 64, 128, 192})
        store(cache, 0, offset, 64);
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

TEST(RangeCacheConfig, ValuesThatMakeNoSenseAreErrorsThatNameThem) {
    const auto problem = [](const std::function<void(RangeCacheConfig&)>& change) -> std::string {
        RangeCacheConfig config = small_config();
        change(config);
        try {
            RangeCache cache(config, 1);
        } catch (const Error& error) {
            return error.what();
        }
        return "accepted";
    };
    EXPECT_EQ(problem([](RangeCacheConfig&) {}), "accepted");
    const auto names = [&](const char* name, const std::function<void(RangeCacheConfig&)>& change) {
        const std::string text = problem(change);
        EXPECT_NE(text.find(name), std::string::npos) << name << ": " << text;
    };
    names("buffer_bytes", [](auto& c) { c.buffer_bytes = 63; });
    names("buffer_bytes_max", [](auto& c) { c.buffer_bytes_max = c.buffer_bytes - 1; });
    names("buffer_bytes_max", [](auto& c) { c.buffer_bytes_max = std::uint64_t{1} << 62; });
    names("index_entries", [](auto& c) { c.index_entries = 0; });
    names("index_entries_max", [](auto& c) { c.index_entries_max = 1; });
    names("index_entries_max", [](auto& c) { c.index_entries_max = std::uint64_t{1} << 40; });
    names("sample_entries", [](auto& c) { c.sample_entries = 0; });
    names("policy", [](auto& c) { c.policy = "best"; });
    names("policy", [](auto& c) { c.policy = "application"; });
    names("conflict_threshold", [](auto& c) { c.adapt.conflict_threshold = 1.5; });
    names("sparsity_threshold", [](auto& c) { c.adapt.sparsity_threshold = -0.1; });
    names("capacity_threshold", [](auto& c) { c.adapt.capacity_threshold = 2; });
    names("stable_threshold", [](auto& c) { c.adapt.stable_threshold = 2; });
    names("free_threshold", [](auto& c) { c.adapt.free_threshold = 2; });
    names("index_increase_factor", [](auto& c) { c.adapt.index_increase_factor = 1; });
    names("index_decrease_factor", [](auto& c) { c.adapt.index_decrease_factor = 1; });
    names("memory_increase_factor", [](auto& c) { c.adapt.memory_increase_factor = 0.5; });
    names("memory_decrease_factor", [](auto& c) { c.adapt.memory_decrease_factor = 0; });
    names("adapt_interval_gets", [](auto& c) { c.adapt.interval_gets = 0; });
}

}  // namespace
}  // namespace nearfetch

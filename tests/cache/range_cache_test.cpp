// SPDX-License-Identifier: Apache-2.0
//
// The life of an entry: admitted, in flight, committed, joined, updated, dropped, stale.

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "range_cache_rig.hpp"

namespace nearfetch {
namespace {

using namespace testing;  // NOLINT: the tests' own

TEST(RangeCache, HotFieldsOfAnEntryShareOneCacheLine) {
    EXPECT_EQ(sizeof(EvictionItem), 32u);
    EXPECT_EQ(alignof(Entry), 64u);
    EXPECT_LE(sizeof(Entry), 128u);
}

// So that copies of aligned bytes from its middle are aligned.
TEST(RangeCache, InABestFitBufferWhatIsMoreThanAskedForLiesInItsLinesAsAtTheTarget) {
    const auto place = [](RangeCache& cache, std::uint64_t offset, std::uint64_t size) {
        return reinterpret_cast<std::uintptr_t>(cache.find(0, offset, size)) % 64;
    };
    RangeCacheConfig config = small_config(32);
    config.storage = "best_fit";
    RangeCache cache(config, 1);
    const auto ahead = [&](std::uint64_t begin, std::uint64_t end) {
        const Admission admission = cache.read_ahead().admit(0, {begin, end});
        EXPECT_EQ(admission.type, AccessType::direct);
        EXPECT_TRUE(cache.commit(admission.entry, remote_bytes(0, begin, end - begin).data()));
        cache.check_invariants();
    };
    store(cache, 0, 100, 64);
    EXPECT_EQ(place(cache, 100, 64), 0u) << "what is asked for begins at a line";
    ahead(1000, 1512);
    EXPECT_EQ(place(cache, 1000, 512), 1000 % 64);
    EXPECT_EQ(place(cache, 1280, 64), 0u);
    EXPECT_EQ(cache.occupancy().free_bytes, (32 - 1 - 9) * 64u) << "512 bytes and 40 before them";
    ahead(2007, 2071);
    // The alignment is kept when the entry moves with the end of the buffer,
    cache.drop(0, 1000, 1);
    ASSERT_TRUE(cache.resize(10 * 64));
    cache.check_invariants();
    EXPECT_TRUE(hits(cache, 0, 2007, 64));
    EXPECT_EQ(place(cache, 2007, 64), 2007 % 64);
    // and when two entries are joined.
    store(cache, 0, 2071, 100);
    std::vector<std::byte> to(164);
    EXPECT_EQ(cache.read_across(0, 2007, 164, to.data(), 164), (ByteRange{2007, 2171}));
    cache.check_invariants();
    EXPECT_TRUE(hits(cache, 0, 2007, 164));
    EXPECT_EQ(place(cache, 2007, 164), 2007 % 64);
}

TEST(RangeCache, InALogLongOnesLieInTheirLinesAsAtTheTarget) {
    RangeCache cache(small_config(1024), 1);
    store(cache, 0, 8, 8);
    for (const std::uint64_t begin : {1000U, 9007U}) {
        const Admission admission = cache.read_ahead().admit(0, {begin, begin + 4096});
        ASSERT_TRUE(cache.commit(admission.entry, remote_bytes(0, begin, 4096).data()));
        cache.check_invariants();
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(cache.find(0, begin, 8)) % 64, begin % 64);
    }
    ASSERT_TRUE(cache.resize(64 * 200));
    cache.check_invariants();
    EXPECT_TRUE(hits(cache, 0, 9007, 4096));
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(cache.find(0, 9007, 8)) % 64, 9007U % 64);
}

TEST(RangeCache, NeighboursBecomeOneEntry) {
    RangeCache cache(small_config(), 2);
    store(cache, 1, 100, 50);
    store(cache, 1, 150, 30);
    std::vector<std::byte> to(100);
    EXPECT_EQ(cache.read_across(1, 120, 50, to.data(), 79), (ByteRange{100, 180}));
    EXPECT_EQ(cache.occupancy().entries, 2u) << "together they are larger than that";
    EXPECT_EQ(cache.read_across(1, 120, 50, to.data(), 80), (ByteRange{100, 180}));
    cache.check_invariants();
    EXPECT_EQ(cache.occupancy().entries, 1u);
    EXPECT_TRUE(hits(cache, 1, 100, 80));
    RangeCache full(small_config(4), 2);
    store_lines(full, 1, 4);
    EXPECT_EQ(full.read_across(1, 32, 64, to.data(), 128), (ByteRange{0, 128}));
    full.check_invariants();
    EXPECT_EQ(full.occupancy().entries, 4u) << "there is no room for the new one beside the old ones";
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
    const std::uint64_t free = cache.occupancy().free_bytes;
    const Admission admission = cache.admit(0, 64, 640, cache.now(), false);
    ASSERT_NE(admission.entry, nullptr);
    EXPECT_EQ(admission.type, AccessType::direct);
    EXPECT_EQ(cache.occupancy().free_bytes, free);
    std::vector<LookupPart> parts;
    cache.plan_lookup(0, 64, 640, parts);
    EXPECT_EQ(text(parts), "p64+640 ");
    EXPECT_FALSE(cache.commit(admission.entry, remote_bytes(0, 64, 640).data()));
    EXPECT_EQ(cache.occupancy().entries, 0u);
    EXPECT_EQ(cache.counters().dropped, 0u);
    cache.check_invariants();
}

TEST(RangeCache, AbandonedEntriesLeaveNothingBehind) {
    RangeCache cache(small_config(), 1);
    const std::uint64_t free = cache.occupancy().free_bytes;
    cache.abandon(cache.admit(0, 64, 64, cache.now(), true).entry);
    const Admission invalidated = cache.admit(0, 64, 64, cache.now(), true);
    cache.drop(0, 64, 1);
    cache.abandon(invalidated.entry);
    EXPECT_EQ(cache.occupancy().free_bytes, free);
    EXPECT_EQ(cache.occupancy().entries, 0u);
    cache.check_invariants();
    EXPECT_EQ(store(cache, 0, 64, 64), AccessType::direct);
}

TEST(RangeCache, PutsUpdateWhatIsCachedAndInvalidateWhatIsInFlight) {
    RangeCache cache(small_config(), 1);
    store(cache, 0, 100, 50);
    store(cache, 0, 160, 50);
    const Admission pending = cache.admit(0, 150, 10, cache.now(), true);
    std::vector<std::byte> put(40, std::byte{0xee});
    cache.update(0, 130, 40, put.data());
    EXPECT_TRUE(pending.entry->is_invalidated());
    EXPECT_TRUE(hits(cache, 0, 100, 30));
    EXPECT_TRUE(hits(cache, 0, 170, 40));
    EXPECT_EQ(*cache.find(0, 130, 1), std::byte{0xee});
    EXPECT_EQ(*cache.find(0, 149, 1), std::byte{0xee});
    EXPECT_EQ(*cache.find(0, 160, 1), std::byte{0xee});
    EXPECT_EQ(*cache.find(0, 169, 1), std::byte{0xee});
    cache.check_invariants();
    // Its range can be admitted at once; the invalidated transfer then enters nothing.
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
    std::vector<LookupPart> parts;
    cache.plan_lookup(0, 0, 64, parts);
    EXPECT_EQ(text(parts), "g0+64 ");
    EXPECT_EQ(cache.occupancy().entries, 1u) << "plan_lookup removes stale entries";
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
    std::vector<LookupPart> parts;
    cache.plan_lookup(0, 0, 64, parts);
    EXPECT_EQ(text(parts), "g0+64 ") << "a get after the acquire joined a transfer from before it";
    EXPECT_FALSE(cache.commit(early.entry, remote_bytes(0, 0, 64).data()));
    const Admission second = cache.admit(0, 0, 64, cache.now(), true);
    cache.acquire();
    EXPECT_FALSE(cache.commit(second.entry, remote_bytes(0, 0, 64).data()));
    EXPECT_EQ(cache.occupancy().entries, 0u);
    EXPECT_EQ(cache.counters().dropped, 2u);
    cache.check_invariants();
}

TEST(RangeCache, InvalidateForgetsAllAndWhatIsInFlight) {
    RangeCache cache(small_config(), 1);
    store(cache, 0, 0, 64);
    const Admission pending = cache.admit(0, 64, 64, cache.now(), true);
    cache.invalidate();
    EXPECT_EQ(cache.occupancy().entries, 0u);
    EXPECT_EQ(cache.find(0, 0, 64), nullptr);
    EXPECT_FALSE(cache.commit(pending.entry, remote_bytes(0, 64, 64).data()));
    EXPECT_EQ(cache.occupancy().free_bytes, cache.occupancy().buffer_bytes);
    EXPECT_EQ(cache.counters().invalidations, 1u);
    cache.check_invariants();
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
    names("buffer_bytes", [](auto& c) { c.buffer_bytes_max = std::uint64_t{1} << 62; });
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

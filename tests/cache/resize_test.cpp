// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "workload.hpp"

namespace nearfetch {
namespace {

using testing::Runner;

RangeCacheConfig adaptive_config() {
    RangeCacheConfig config;
    config.buffer_bytes = 64 * 100;
    config.buffer_bytes_max = 64 * 1000;
    config.index_entries = 200;
    config.index_entries_max = 1000;
    config.policy = "lru";
    config.adapt.interval_gets = 100;
    return config;
}

void sweep(Runner& runner, std::uint64_t count, std::uint64_t size = 64) {
    for (std::uint64_t i = 0; i < count; ++i)
        runner.get(0, i * 4096, size);
    runner.cache.check_invariants();
}

TEST(Resize, GrowingKeepsEveryEntryWhereItIs) {
    Runner runner(adaptive_config());
    sweep(runner, 90);
    const std::byte* before = runner.cache.find(0, 0, 64);
    ASSERT_TRUE(runner.cache.resize(64 * 500));
    EXPECT_EQ(runner.cache.find(0, 0, 64), before);
    EXPECT_EQ(runner.cache.occupancy().entries, 90u);
    EXPECT_EQ(runner.cache.occupancy().buffer_bytes, 64u * 500);
    for (std::uint64_t i = 0; i < 90; ++i)
        EXPECT_NE(runner.cache.find(0, i * 4096, 64), nullptr);
    runner.cache.check_invariants();
}

TEST(Resize, ShrinkingMovesWhatFitsAndEvictsTheRest) {
    for (const char* storage : {"log", "best_fit"}) {
        RangeCacheConfig config = adaptive_config();
        config.storage = storage;
        Runner runner(config);
        sweep(runner, 80);
        for (std::uint64_t i = 0; i < 30; ++i)
            runner.cache.drop(0, i * 4096, 64);
        ASSERT_TRUE(runner.cache.resize(64 * 40));
        // The log keeps room for padding.
        const bool padded = storage == std::string("log");
        EXPECT_EQ(runner.cache.occupancy().entries, padded ? 39u : 40u);
        EXPECT_EQ(runner.cache.counters().evictions, padded ? 11u : 10u);
        EXPECT_EQ(runner.cache.occupancy().free_bytes, padded ? 64u : 0u);
        runner.cache.check_invariants();
    }
}

TEST(Resize, EntriesInFlightAreNotMoved) {
    RangeCache cache(adaptive_config(), 1);
    std::vector<Entry*> pending;
    for (std::uint64_t i = 0; i < 100; ++i)
        pending.push_back(cache.admit(0, i * 64, 64, cache.now(), true).entry);
    std::byte* const data = pending.back()->data();
    EXPECT_FALSE(cache.resize(64 * 50));
    EXPECT_EQ(cache.occupancy().buffer_bytes, 64u * 100);
    EXPECT_TRUE(cache.resize(64 * 200));
    EXPECT_EQ(pending.back()->data(), data);
    for (Entry* entry : pending)
        EXPECT_TRUE(cache.commit(entry, entry->data()));
    cache.check_invariants();
    EXPECT_FALSE(cache.resize(64 * 1001));
    EXPECT_FALSE(cache.resize(63));
}

TEST(Resize, WhatWasTakenAwayComesBackWithTheFirstEntryThatNeedsIt) {
    RangeCacheConfig config = adaptive_config();
    config.adaptive = true;
    Runner runner(config);
    for (int i = 0; i < 1000; ++i)
        runner.get(0, static_cast<std::uint64_t>(i % 4) * 4096, 64);
    runner.get(0, 5 * 4096, 64);  // adaptation runs at a miss
    for (int i = 0; i < 200; ++i)
        runner.get(0, 0, 64);
    runner.get(0, 6 * 4096, 64);
    ASSERT_LT(runner.cache.occupancy().buffer_bytes, config.buffer_bytes / 2);
    const RangeCacheCounters before = runner.counters();
    for (std::uint64_t i = 100; i < 180; ++i)
        runner.get(0, i * 4096, 64);
    runner.get(0, 200 * 4096, 14 * 64);
    EXPECT_EQ(runner.counters().direct - before.direct, 81u);
    EXPECT_EQ(runner.cache.counters().evictions, before.evictions);
    EXPECT_EQ(runner.cache.occupancy().buffer_bytes, config.buffer_bytes) << "and no further";
    runner.cache.check_invariants();
}

TEST(Resize, ThePapersResizeInvalidates) {
    RangeCacheConfig config = adaptive_config();
    config.keep_on_resize = false;
    config.storage = "best_fit";
    Runner runner(config);
    sweep(runner, 50);
    ASSERT_TRUE(runner.cache.resize(64 * 200));
    EXPECT_EQ(runner.cache.occupancy().entries, 0u);
    EXPECT_EQ(runner.cache.counters().invalidations, 1u);
    sweep(runner, 50);
    ASSERT_TRUE(runner.cache.resize(64 * 300));
    EXPECT_EQ(runner.cache.occupancy().entries, 0u);
}

TEST(Adapt, CapacityAccessesGrowTheBufferUpToItsBound) {
    Runner runner(adaptive_config());
    runner.cache.resize(64 * 100);
    for (int round = 0; round < 4; ++round)
        sweep(runner, 300);
    // 100 -> 200 -> 400 lines; then everything fits.
    EXPECT_EQ(runner.cache.occupancy().buffer_bytes, 64u * 400);
    EXPECT_EQ(runner.cache.counters().buffer_resizes, 2u);
    EXPECT_EQ(runner.cache.occupancy().entries, 300u);
    for (int round = 0; round < 10; ++round)
        sweep(runner, 950, 128);
    EXPECT_EQ(runner.cache.occupancy().buffer_bytes, 64u * 1000) << "the bound";
}

TEST(Adapt, ConflictingAccessesGrowThePapersIndexUpToItsBound) {
    RangeCacheConfig config = adaptive_config();
    config.storage = "best_fit";
    config.buffer_bytes = config.buffer_bytes_max;
    config.index_entries = 50;
    config.index_entries_max = 300;
    Runner runner(config);
    for (int round = 0; round < 3; ++round)
        sweep(runner, 200);
    // 50 -> 75 -> 112 -> 168 -> 252.
    EXPECT_EQ(runner.cache.occupancy().index_entries, 252u);
    EXPECT_EQ(runner.cache.counters().index_resizes, 4u);
    for (int round = 0; round < 10; ++round)
        sweep(runner, 500);
    EXPECT_EQ(runner.cache.occupancy().index_entries, 300u) << "the bound";
}

TEST(Adapt, AStableSetInAMostlyFreeBufferShrinksIt) {
    Runner runner(adaptive_config());
    runner.cache.resize(64 * 1000);
    for (int round = 0; round < 40; ++round) {
        sweep(runner, 90);
        // Adaptation runs on the miss path: one miss, removed at once.
        runner.get(0, 1 << 30, 64);
        runner.cache.drop(0, 1 << 30, 64);
    }
    // 1000 -> 500 -> 250 -> 125 lines: then less than half is free.
    EXPECT_EQ(runner.cache.occupancy().buffer_bytes, 64u * 125);
    EXPECT_EQ(runner.cache.counters().evictions, 0u) << "what is used was lost";
}

TEST(Adapt, ASparseIndexShrinks) {
    RangeCacheConfig config = adaptive_config();
    config.policy = "clampi";
    config.storage = "best_fit";
    config.buffer_bytes = config.buffer_bytes_max = 64 * 10;
    config.index_entries = 1000;
    Runner runner(config);
    for (int round = 0; round < 40; ++round)
        sweep(runner, 30);
    // 10 entries: q falls below 0.1 while there are more than 100 slots.
    EXPECT_LE(runner.cache.occupancy().index_entries, 140u);
    EXPECT_GE(runner.cache.occupancy().index_entries, 50u);
    EXPECT_GT(runner.cache.counters().index_resizes, 3u);
}

TEST(Adapt, InALogTheIndexFollowsTheNumberOfEntries) {
    RangeCacheConfig config;
    config.index_entries = 50;
    Runner runner(config);
    EXPECT_LE(runner.cache.occupancy().index_entries, 1024u);
    sweep(runner, 20000);
    EXPECT_EQ(runner.cache.occupancy().entries, 20000u) << "no conflict";
    EXPECT_GE(runner.cache.occupancy().index_entries, 2 * 20000u);
    EXPECT_LE(runner.cache.occupancy().index_entries, 4 * 20000u);
    for (int round = 0; round < 12; ++round) {
        runner.cache.invalidate();
        sweep(runner, 1000);
    }
    EXPECT_LE(runner.cache.occupancy().index_entries, 8192u);
    EXPECT_EQ(runner.cache.occupancy().entries, 1000u);
}

TEST(Budget, ACacheBeginsWithHalfOfWhatIsLeftAndGrowsToAll) {
    MemoryBudget memory;
    memory.set_limit(64 * 1000 + 200 * index_slot_bytes);
    RangeCacheConfig config = adaptive_config();
    config.memory = &memory;
    config.buffer_bytes = 64 * 800;
    config.index_entries = config.index_entries_max = 200;
    {
        Runner runner(config);
        const std::uint64_t first = memory.limit() / 2 / 64 * 64;
        EXPECT_EQ(runner.cache.occupancy().buffer_bytes, first);
        EXPECT_EQ(memory.taken(), first + memory.limit() / 4 / index_slot_bytes * index_slot_bytes);
        for (int round = 0; round < 10; ++round)
            sweep(runner, 180, 640);
        EXPECT_LE(memory.taken(), memory.limit());
        EXPECT_GT(runner.cache.occupancy().buffer_bytes, 64u * 900) << "something is kept for the index";
        RangeCacheConfig later = config;
        later.adaptive = false;
        later.buffer_bytes = 64 * 500;
        Runner fixed(later);
        EXPECT_EQ(fixed.cache.occupancy().buffer_bytes, 64u * 500) << "fixed sizes are had in any case";
        EXPECT_GT(memory.taken(), memory.limit());
    }
    EXPECT_EQ(memory.taken(), 0u);
}

TEST(Budget, TheIndexGrowsAsFarAsItGoes) {
    MemoryBudget memory;
    memory.set_limit(3000 * index_slot_bytes);
    RangeCacheConfig config;
    config.memory = &memory;
    config.buffer_bytes = 64 << 10;
    Runner runner(config);
    sweep(runner, 5000, 8);
    // 750 slots, then 1500, then what the buffer leaves.
    EXPECT_EQ(runner.cache.occupancy().index_entries, 3000 - config.buffer_bytes / index_slot_bytes);
    EXPECT_GT(runner.cache.occupancy().entries, 2200u);
    EXPECT_GT(runner.counters().conflicting, 1000u);
    EXPECT_LE(memory.taken(), memory.limit());
}

TEST(Budget, LittleIsKeptToAsWell) {
    for (const std::uint64_t bytes : {4096u, 20000u, 65536u}) {
        MemoryBudget memory;
        memory.set_limit(bytes);
        RangeCacheConfig config;
        config.memory = &memory;
        Runner runner(config);
        sweep(runner, 3000, 8);
        EXPECT_LE(memory.most_taken(), bytes);
        EXPECT_GE(memory.most_taken(), bytes / 2);
        EXPECT_GT(runner.cache.occupancy().entries, bytes / 512);
    }
}

TEST(Budget, TwoCachesShareIt) {
    MemoryBudget memory;
    memory.set_limit(4 << 20);
    RangeCacheConfig config;
    config.memory = &memory;
    Runner first(config);
    Runner second(config);
    EXPECT_EQ(first.cache.occupancy().buffer_bytes, 2u << 20);
    EXPECT_LT(second.cache.occupancy().buffer_bytes, 1u << 20);
    for (int round = 0; round < 20; ++round) {
        sweep(first, 1500, 4096);
        sweep(second, 1500, 4096);
    }
    EXPECT_LE(memory.taken(), memory.limit());
    EXPECT_GT(memory.taken(), memory.limit() / 2);
}

TEST(Adapt, APhaseOfHitsShrinksTheBufferAtItsNextAcquire) {
    Runner runner(adaptive_config(), 2);
    runner.cache.resize(64 * 1000);
    sweep(runner, 90);
    const std::uint64_t before = runner.cache.occupancy().buffer_bytes;
    for (int round = 0; round < 40; ++round) {
        sweep(runner, 90);
        runner.cache.acquire(1);
    }
    EXPECT_LT(runner.cache.occupancy().buffer_bytes, before / 4);
    EXPECT_EQ(runner.cache.counters().evictions, 0u);
}

TEST(Adapt, FixedSizesStayFixed) {
    RangeCacheConfig config = adaptive_config();
    config.adaptive = false;
    Runner runner(config);
    for (int round = 0; round < 5; ++round)
        sweep(runner, 500);
    EXPECT_EQ(runner.cache.occupancy().buffer_bytes, 64u * 100);
    EXPECT_EQ(runner.cache.occupancy().index_entries, 200u);
}

}  // namespace
}  // namespace nearfetch

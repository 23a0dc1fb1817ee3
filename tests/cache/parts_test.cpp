// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <random>
#include <set>
#include <vector>

#include "cache/counters/range_cache_counters.hpp"
#include "cache/eviction/ghost_memory.hpp"
#include "cache/sync_clock/sync_clock.hpp"

namespace nearfetch {
namespace {

TEST(SyncClock, FreshMeansIssuedAfterTheLastAcquireInScope) {
    SyncClock clock(3);
    const Stamp first = clock.now();
    EXPECT_TRUE(clock.fresh(first, 0));
    clock.acquire(1);
    EXPECT_TRUE(clock.fresh(first, 0));
    EXPECT_FALSE(clock.fresh(first, 1));
    EXPECT_TRUE(clock.fresh(first, 2));
    const Stamp second = clock.now();
    EXPECT_TRUE(clock.fresh(second, 1));
    clock.acquire();
    for (Rank target = 0; target < 3; ++target) {
        EXPECT_FALSE(clock.fresh(second, target));
        EXPECT_TRUE(clock.fresh(clock.now(), target));
    }
    const Stamp third = clock.now();
    clock.acquire(2);
    EXPECT_TRUE(clock.fresh(third, 0));
    EXPECT_TRUE(clock.fresh(third, 1));
    EXPECT_FALSE(clock.fresh(third, 2));
}

TEST(Counters, EachTypeCountsOnceAndGetsIsTheirSum) {
    RangeCacheCounters counters;
    const auto types = {AccessType::hit,     AccessType::partial_hit, AccessType::pending_hit,
                        AccessType::direct,  AccessType::conflicting, AccessType::capacity,
                        AccessType::failing, AccessType::bypassed};
    std::uint64_t times = 0;
    for (const AccessType type : types)
        for (std::uint64_t i = 0; i <= static_cast<std::uint64_t>(type); ++i, ++times)
            counters.count(type);
    EXPECT_EQ(counters.gets, times);
    EXPECT_EQ(counters.hits, 1u);
    EXPECT_EQ(counters.partial_hits, 2u);
    EXPECT_EQ(counters.pending_hits, 3u);
    EXPECT_EQ(counters.direct, 4u);
    EXPECT_EQ(counters.conflicting, 5u);
    EXPECT_EQ(counters.capacity, 6u);
    EXPECT_EQ(counters.failing, 7u);
    EXPECT_EQ(counters.bypassed, 8u);
}

TEST(Counters, TableHasEachCounterOnceWithItsMeaning) {
    std::set<std::string_view> names;
    for (const CounterInfo& info : range_cache_counter_table) {
        EXPECT_TRUE(names.insert(info.name).second) << info.name;
        EXPECT_FALSE(info.meaning.empty()) << info.name;
    }
    EXPECT_EQ(sizeof(RangeCacheCounters), names.size() * sizeof(std::uint64_t))
        << "a counter is not in the table";
}

TEST(GhostMemory, RemembersOnceAndForgetsTheLeast) {
    GhostMemory ghosts;
    ghosts.set_capacity(1);  // a single line of eight
    for (std::uint32_t key = 1; key <= 8; ++key)
        ghosts.remember(key * 16, key);
    ghosts.remember(9 * 16, 0);  // less than all: not remembered
    EXPECT_FALSE(ghosts.recall(9 * 16));
    ghosts.remember(10 * 16, 9);  // replaces the least
    EXPECT_FALSE(ghosts.recall(1 * 16));
    EXPECT_EQ(ghosts.recall(10 * 16), 9U);
    EXPECT_FALSE(ghosts.recall(10 * 16)) << "recalled twice";
    ghosts.set_capacity(1000);
    EXPECT_EQ(ghosts.recall(4 * 16), 4U);
    EXPECT_EQ(ghosts.recall(2 * 16), 2U);
}

TEST(GhostMemory, WhatIsTooMuchLeavesFewPerCall) {
    constexpr std::uint64_t keys = 10000;
    GhostMemory ghosts;
    ghosts.set_capacity(keys);
    for (std::uint64_t key = 1; key <= keys; ++key)
        ghosts.remember(key * 0x9e3779b97f4a7c15ull, 1);
    const auto known = [&] {
        std::uint64_t count = 0;
        for (std::uint64_t key = 1; key <= keys; ++key)
            if (const auto number = ghosts.recall(key * 0x9e3779b97f4a7c15ull)) {
                ghosts.remember(key * 0x9e3779b97f4a7c15ull, *number);
                ++count;
            }
        return count;
    };
    const std::uint64_t before = known();
    ghosts.set_capacity(100);
    EXPECT_GE(known() + 4 * 8, before);
    for (std::uint64_t call = 0; call < keys / 8; ++call)
        ghosts.set_capacity(100);
    EXPECT_LE(known(), 104u);
    EXPECT_GE(known(), 90u);
}

TEST(GhostMemory, GrowsAndForgetsFewWhileThereIsRoom) {
    constexpr std::uint64_t keys = 4096;
    GhostMemory ghosts;
    ghosts.set_capacity(4 * keys);
    std::mt19937_64 random(5);
    std::vector<std::uint64_t> all(keys);
    for (std::uint64_t& key : all) {
        key = random();
        ghosts.remember(key, static_cast<std::uint32_t>(key % 1000));
    }
    std::uint64_t known = 0;
    for (const std::uint64_t key : all) {
        const auto number = ghosts.recall(key);
        known += number ? 1 : 0;
        EXPECT_EQ(number.value_or(static_cast<std::uint32_t>(key % 1000)), key % 1000);
    }
    EXPECT_GE(known, keys * 98 / 100);
    EXPECT_FALSE(ghosts.recall(all[0]));
}

}  // namespace
}  // namespace nearfetch

// SPDX-License-Identifier: Apache-2.0
//
// The ordered index: by hand, against std::map, and when memory is refused.

#include "cache/range_cache/range_index.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <new>
#include <random>
#include <utility>
#include <vector>

#include "refusing_new.hpp"

namespace nearfetch {
namespace {

using testing::allocations_until_refusal;
using testing::refused_allocations;
using testing::refusing;

using Key = std::pair<Rank, std::uint64_t>;
using Model = std::map<Key, std::uint32_t>;

void expect_at(RangeIndex::Position place, const Key& key, std::uint32_t id) {
    ASSERT_TRUE(place);
    EXPECT_EQ(place.target(), key.first);
    EXPECT_EQ(place.offset(), key.second);
    EXPECT_EQ(place.id(), id);
}

void expect_same_lookup(const RangeIndex& index, const Model& model, const Key& key) {
    const auto above = model.upper_bound(key);
    if (above == model.begin())
        EXPECT_FALSE(index.floor(key.first, key.second));
    else
        expect_at(index.floor(key.first, key.second), std::prev(above)->first, std::prev(above)->second);
    if (above == model.end())
        EXPECT_FALSE(index.above(key.first, key.second));
    else
        expect_at(index.above(key.first, key.second), above->first, above->second);
}

void expect_same(const RangeIndex& index, const Model& model) {
    ASSERT_STREQ(index.fault(), nullptr);
    ASSERT_EQ(index.size(), model.size());
    auto place = index.begin();
    for (const auto& [key, id] : model) {
        ASSERT_NO_FATAL_FAILURE(expect_at(place, key, id));
        place = place.next();
    }
    EXPECT_FALSE(place);
}

TEST(RangeIndex, IsEmptyAtFirst) {
    const RangeIndex index;
    EXPECT_EQ(index.size(), 0u);
    EXPECT_FALSE(index.begin());
    EXPECT_FALSE(index.floor(0, 0));
    EXPECT_FALSE(index.above(0, 0));
    EXPECT_STREQ(index.fault(), nullptr);
    EXPECT_EQ(index.memory_bytes(), 0u);
}

TEST(RangeIndex, FindsTheEntryAtOrBeforeAndTheOneAfter) {
    RangeIndex index;
    index.insert(1, 100, 7);
    index.insert(1, 50, 8);
    index.insert(2, 10, 9);
    expect_at(index.begin(), {1, 50}, 8);
    EXPECT_FALSE(index.floor(1, 49));
    EXPECT_FALSE(index.floor(0, 1000));
    expect_at(index.floor(1, 50), {1, 50}, 8);
    expect_at(index.floor(1, 99), {1, 50}, 8);
    expect_at(index.floor(1, 100), {1, 100}, 7);
    expect_at(index.floor(2, 9), {1, 100}, 7);
    expect_at(index.above(1, 50), {1, 100}, 7);
    expect_at(index.above(1, 100), {2, 10}, 9);
    EXPECT_FALSE(index.above(2, 10));
    index.erase(1, 100);
    expect_at(index.floor(1, 100), {1, 50}, 8);
    expect_at(index.above(1, 50), {2, 10}, 9);
    EXPECT_EQ(index.size(), 2u);
}

TEST(RangeIndex, HoldsTheLargestAndTheSmallestKeys) {
    constexpr auto last_rank = std::numeric_limits<Rank>::max();
    constexpr auto last_offset = std::numeric_limits<std::uint64_t>::max();
    RangeIndex index;
    index.insert(last_rank, last_offset, 1);
    index.insert(0, 0, 2);
    index.insert(0, last_offset, 3);
    index.insert(last_rank, 0, 4);
    expect_same(index,
                {{{0, 0}, 2}, {{0, last_offset}, 3}, {{last_rank, 0}, 4}, {{last_rank, last_offset}, 1}});
    expect_at(index.floor(1, last_offset), {0, last_offset}, 3);
    expect_at(index.floor(last_rank, last_offset), {last_rank, last_offset}, 1);
    EXPECT_FALSE(index.above(last_rank, last_offset));
    index.erase(last_rank, last_offset);
    expect_at(index.floor(last_rank, last_offset), {last_rank, 0}, 4);
}

TEST(RangeIndex, RemembersTheLastAnswerOnlyWhileItIsRight) {
    RangeIndex index;
    for (std::uint64_t i = 0; i < 40; ++i)
        index.insert(0, i * 10, static_cast<std::uint32_t>(i));
    expect_at(index.floor(0, 205), {0, 200}, 20);
    index.insert(0, 203, 99);
    expect_at(index.floor(0, 205), {0, 203}, 99);
    index.erase(0, 100);  // before it
    expect_at(index.floor(0, 205), {0, 203}, 99);
    index.erase(0, 300);  // after it
    index.erase(0, 203);  // itself
    expect_at(index.floor(0, 205), {0, 200}, 20);
    expect_at(index.above(0, 205), {0, 210}, 21);
    index.insert(0, 204, 98);
    expect_at(index.floor(0, 205), {0, 204}, 98);
    index.clear();
    EXPECT_FALSE(index.floor(0, 205));
    EXPECT_STREQ(index.fault(), nullptr);
}

TEST(RangeIndex, AppendingFillsItsBlocks) {
    // Ascending, for one target and for eight interleaved ones.
    for (const Rank targets : {1, 8}) {
        RangeIndex index;
        Model model;
        for (std::uint32_t i = 0; i < 40000; ++i) {
            const Key key{static_cast<Rank>(i % targets), i * 64ull};
            index.insert(key.first, key.second, i);
            model[key] = i;
        }
        expect_same(index, model);
        EXPECT_LT(index.memory_bytes(), 40000u * (targets == 1 ? 28 : 38)) << targets << " targets";
    }
}

TEST(RangeIndex, DescendingKeysHalfFillTheirBlocks) {
    RangeIndex index;
    Model model;
    for (std::uint32_t i = 40000; i-- > 0;) {
        index.insert(3, i * 64ull, i);
        model[{3, i * 64ull}] = i;
    }
    expect_same(index, model);
    EXPECT_LT(index.memory_bytes(), 40000u * 52);
}

TEST(RangeIndex, ErasingGivesMemoryBack) {
    for (const bool forward : {false, true}) {
        RangeIndex index;
        Model model;
        for (std::uint32_t i = 0; i < 20000; ++i) {
            index.insert(0, i, i);
            model[{0, i}] = i;
        }
        const std::uint64_t most = index.memory_bytes();
        // All but every sixteenth, then the others.
        for (const bool rest : {false, true}) {
            for (std::uint32_t k = 0; k < 20000; ++k) {
                const std::uint32_t i = forward ? k : 19999 - k;
                if (rest != (i % 16 == 0)) continue;
                index.erase(0, i);
                model.erase({0, i});
            }
            expect_same(index, model);
            EXPECT_LT(index.memory_bytes(), most / 3);
        }
        EXPECT_EQ(index.size(), 0u);
        EXPECT_LT(index.memory_bytes(), 10000u);
        index.insert(0, 5, 5);
        expect_at(index.floor(0, 6), {0, 5}, 5);
    }
}

// Grows and shrinks alternately, over a few targets, with close offsets.
void run_random(std::uint64_t seed, std::uint64_t offsets, Rank targets, std::size_t most) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    RangeIndex index;
    Model model;
    std::vector<Key> keys;  // those that are there
    std::uint64_t inserted = 0;
    std::uint64_t erased = 0;
    bool growing = true;
    for (std::uint32_t step = 0; step < 60000; ++step) {
        const Key key{static_cast<Rank>(random() % static_cast<std::uint64_t>(targets)), random() % offsets};
        if (keys.size() >= most) growing = false;
        if (keys.empty()) growing = true;
        if (random() % 8 < (growing ? 6u : 2u)) {
            if (model.contains(key)) continue;
            // As admissions do: search, erase something, insert.
            expect_same_lookup(index, model, key);
            if (!keys.empty() && random() % 4 == 0) {
                const Key other = keys[random() % keys.size()];
                if (model.erase(other) > 0) index.erase(other.first, other.second);
                std::erase(keys, other);
                expect_same_lookup(index, model, key);
            }
            index.insert(key.first, key.second, step);
            model[key] = step;
            keys.push_back(key);
            ++inserted;
        } else if (!keys.empty()) {
            const std::size_t which = random() % keys.size();
            std::swap(keys[which], keys.back());
            index.erase(keys.back().first, keys.back().second);
            model.erase(keys.back());
            keys.pop_back();
            ++erased;
        }
        expect_same_lookup(index, model, key);
        if (step % 997 == 0) expect_same(index, model);
        if (::testing::Test::HasFailure()) return;
    }
    expect_same(index, model);
    EXPECT_GT(inserted, 10000u);
    EXPECT_GT(erased, 5000u);
}

TEST(RangeIndex, DoesWhatAMapDoes) {
    for (const std::uint64_t seed : {1u, 2u, 3u}) {
        run_random(seed, 1 << 20, 1, 6000);
        run_random(seed, 1 << 12, 5, 3000);
        run_random(seed, 1 << 10, 40, 150);
    }
}

TEST(RangeIndex, ThreeLevelsComeAndGo) {
    std::mt19937_64 random(11);
    std::vector<std::uint32_t> order(60000);
    for (std::uint32_t i = 0; i < order.size(); ++i)
        order[i] = i;
    RangeIndex index;
    Model model;
    std::shuffle(order.begin(), order.end(), random);
    for (const std::uint32_t i : order) {
        index.insert(0, i * 8ull, i);
        model[{0, i * 8ull}] = i;
    }
    expect_same(index, model);
    EXPECT_LT(index.memory_bytes(), order.size() * 40);
    std::shuffle(order.begin(), order.end(), random);
    for (std::size_t k = 0; k < order.size(); ++k) {
        index.erase(0, order[k] * 8ull);
        model.erase({0, order[k] * 8ull});
        if (k % 9973 == 0 || k + 50 > order.size()) expect_same(index, model);
    }
    EXPECT_EQ(index.size(), 0u);
}

TEST(RangeIndex, ARefusedAllocationChangesNothing) {
    RangeIndex index;
    Model model;
    refused_allocations = 0;
    for (std::uint32_t i = 0; i < 20000; ++i) {
        const std::uint64_t offset = i * 2654435761ull % 1000003;
        // Refuses the first, then the second allocation of this insertion, if it has them.
        for (std::uint64_t refuse_at = 1;; ++refuse_at) {
            allocations_until_refusal = refuse_at;
            bool refused = false;
            refusing = true;
            try {
                index.insert(0, offset, i);
            } catch (const std::bad_alloc&) {
                refused = true;
            }
            refusing = false;
            if (!refused) break;
            ASSERT_STREQ(index.fault(), nullptr);
            ASSERT_EQ(index.size(), model.size());
            expect_same_lookup(index, model, {0, offset});
        }
        model[{0, offset}] = i;
    }
    expect_same(index, model);
    EXPECT_GT(refused_allocations, 300u);
}

TEST(RangeIndex, WhatWasReservedIsThereWhateverIsErased) {
    RangeIndex index;
    Model model;
    std::mt19937_64 random(5);
    std::uint64_t allocations = 0;
    for (std::uint32_t i = 0; i < 20000; ++i) {
        const std::uint64_t before = index.memory_bytes();
        index.reserve();
        if (index.memory_bytes() > before) ++allocations;
        for (int k = 0; k < 3 && i % 3 == 0 && !model.empty(); ++k) {
            auto victim = model.lower_bound({0, random() % 1000003});
            if (victim == model.end()) victim = model.begin();
            index.erase(0, victim->first.second);
            model.erase(victim);
            if (i < 15000) break;
        }
        const std::uint64_t offset = i * 2654435761ull % 1000003;
        allocations_until_refusal = 1;
        refusing = true;
        EXPECT_NO_THROW(index.insert(0, offset, i));
        refusing = false;
        model[{0, offset}] = i;
    }
    expect_same(index, model);
    EXPECT_GT(allocations, 200u);
}

}  // namespace
}  // namespace nearfetch

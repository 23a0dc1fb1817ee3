// SPDX-License-Identifier: Apache-2.0
//
// Sets of numbers against std::set.

#include <gtest/gtest.h>

#include <algorithm>
#include <nearfetch/detail/cache/index_set.hpp>
#include <random>
#include <set>
#include <utility>

#include "cache/prefetch_buffer/prefetch_entry.hpp"
#include "policy/strategy_selector.hpp"

namespace nearfetch::detail {
namespace {

using Runs = std::vector<std::pair<std::int64_t, std::int64_t>>;

Runs runs_of(const std::set<std::int64_t>& numbers) {
    Runs runs;
    for (const std::int64_t i : numbers)
        if (!runs.empty() && runs.back().first + runs.back().second == i)
            ++runs.back().second;
        else
            runs.emplace_back(i, 1);
    return runs;
}

void expect_equal(const IndexSet& set, const std::set<std::int64_t>& model, std::int64_t end) {
    ASSERT_EQ(set.size(), static_cast<std::int64_t>(model.size()));
    std::int64_t before = 0;
    for (std::int64_t i = 0; i < end; ++i)
        ASSERT_EQ(set.position(i), model.contains(i) ? before++ : -1) << i;
    Runs runs;
    set.for_each_run([&](std::int64_t first, std::int64_t count) { runs.emplace_back(first, count); });
    EXPECT_EQ(runs, runs_of(model));
    EXPECT_EQ(set.runs(), static_cast<std::int64_t>(runs.size()));
}

TEST(IndexSet, RandomNumbersAndRuns) {
    for (unsigned seed = 1; seed <= 40; ++seed) {
        std::mt19937 dice(seed);
        const std::int64_t end = 1 + static_cast<std::int64_t>(dice() % 3000);
        std::uniform_int_distribution<std::int64_t> any(0, end - 1);
        IndexSet set;
        std::set<std::int64_t> model;
        for (unsigned n = dice() % 200; n > 0; --n) {
            const std::int64_t first = any(dice);
            const std::int64_t count =
                dice() % 3 != 0 ? 1 : std::min<std::int64_t>(end - first, dice() % 150);
            if (count == 1)
                EXPECT_TRUE(set.insert(first));
            else
                set.insert_run(first, count);
            for (std::int64_t i = first; i < first + count; ++i)
                model.insert(i);
        }
        set.complete();
        expect_equal(set, model, end);
    }
}

TEST(IndexSet, LargeNumbers) {
    IndexSet set;
    const std::int64_t most = INT64_MAX - 1;
    for (const std::int64_t i : {most, std::int64_t{0}, most - 1, std::int64_t{1} << 40})
        EXPECT_TRUE(set.insert(i));
    set.complete();
    EXPECT_EQ(set.position(0), 0);
    EXPECT_EQ(set.position(std::int64_t{1} << 40), 1);
    EXPECT_EQ(set.position(most - 1), 2);
    EXPECT_EQ(set.position(most), 3);
    EXPECT_EQ(set.position(most - 2), -1);
    EXPECT_EQ(set.runs(), 3);
}

// Each `step`th number: up to 4 in a table of positions, else in words.
TEST(IndexSet, DenseOnesHaveAPlaceForEachNumber) {
    for (std::int64_t step = 1; step <= 6; ++step)
        for (const std::int64_t first : {std::int64_t{0}, std::int64_t{1} << 50}) {
            IndexSet set;
            for (std::int64_t n = 0; n < 1000; ++n)
                set.insert(first + n * step);
            const std::uint64_t of_words = set.memory();
            set.complete();
            EXPECT_EQ(set.memory(), step <= 4 ? 4 * static_cast<std::uint64_t>(999 * step + 1) : of_words);
            for (std::int64_t i = std::max<std::int64_t>(0, first - step); i < first + 1001 * step; ++i) {
                const bool is_there = i >= first && (i - first) % step == 0 && i < first + 1000 * step;
                ASSERT_EQ(set.position(i), is_there ? (i - first) / step : -1) << i;
            }
        }
}

TEST(IndexSet, ClosesSmallGaps) {
    const auto set_of = [](const std::set<std::int64_t>& numbers) {
        IndexSet set;
        for (const std::int64_t i : numbers)
            set.insert(i);
        set.complete();
        return set;
    };
    const std::set<std::int64_t> numbers{3, 5, 8, 9, 63, 65, 69, 1000, 1003};
    IndexSet set = set_of(numbers);
    set.close_gaps(0);
    expect_equal(set, numbers, 1100);
    set.close_gaps(1);
    expect_equal(set, {3, 4, 5, 8, 9, 63, 64, 65, 69, 1000, 1003}, 1100);
    set = set_of(numbers);
    set.close_gaps(2);
    expect_equal(set, {3, 4, 5, 6, 7, 8, 9, 63, 64, 65, 69, 1000, 1001, 1002, 1003}, 1100);
    IndexSet none = set_of({});
    none.close_gaps(INT64_MAX);
    EXPECT_EQ(none.size(), 0);
}

TEST(IndexSet, KeepsWithinItsMemory) {
    IndexSet set;
    const std::uint64_t first = set.memory();
    std::int64_t added = 0;
    for (; set.insert(64 * added, 3 * first - 1); ++added)
        ;
    EXPECT_EQ(added, 12) << "three quarters of 16 words";
    EXPECT_EQ(set.memory(), first);
    EXPECT_FALSE(set.insert(64 * added, 3 * first - 1));
    EXPECT_TRUE(set.insert(1, 0)) << "in a word that is there";
    EXPECT_TRUE(set.insert(64 * added, 3 * first));
    EXPECT_EQ(set.memory(), 2 * first);
    EXPECT_EQ(set.size(), 14);
}

TEST(IndexSet, TravelsInAByteForEachSmallNumber) {
    IndexSet set;
    for (std::int64_t i = 0; i < 1000; ++i)
        set.insert(10 * i);
    set.complete();
    EXPECT_EQ(set.encoded().size(), 2000u);
    IndexSet none;
    none.complete();
    EXPECT_TRUE(none.encoded().empty());
    EXPECT_EQ(none.position(5), -1);
}

TEST(IndexSet, IsSpreadByAnEntryWhereAllOfThePartWouldBe) {
    Slice part{1, 64, 4};
    part.part[3] = part.extent[3] = 10;
    IndexSet set;
    for (const std::int64_t i : {2, 3, 7})
        set.insert(i);
    set.complete();
    StrategySelector choice;
    std::vector<std::uint32_t> place(10, 99);
    PrefetchEntry entry(part, true, Packer::owner, std::make_unique<const IndexSet>(std::move(set)),
                        {reinterpret_cast<std::byte*>(place.data()), &choice});
    EXPECT_EQ(entry.bytes(), 12u);
    EXPECT_EQ(entry.data_bytes(), 40u);
    const std::vector<std::uint32_t> packed{20, 30, 70};
    entry.publish(reinterpret_cast<const std::byte*>(packed.data()), 1);
    EXPECT_EQ(place, (std::vector<std::uint32_t>{99, 99, 20, 30, 99, 99, 99, 70, 99, 99}));
    const auto position = [&](std::int64_t i) { return entry.position(std::array<std::int64_t, 1>{i}, i); };
    EXPECT_EQ(position(2), 2);
    EXPECT_EQ(position(7), 7);
    EXPECT_EQ(position(4), -1) << "it has room, but is not there";
    EXPECT_EQ(entry.position_of(std::array<std::int64_t, 1>{3}), 3);
    EXPECT_EQ(entry.packed_position(7), 2);
    std::uint32_t value = 0;
    EXPECT_TRUE(entry.read(7 * 4, &value, 4, 1));
    EXPECT_EQ(value, 70u);
}

}  // namespace
}  // namespace nearfetch::detail

// SPDX-License-Identifier: Apache-2.0
//
// The parts of the page cache alone: dirty bits, the table, read-ahead, the prefetch distance.

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <vector>

#include "cache/page_cache/dirty_pages.hpp"
#include "cache/page_cache/page_table.hpp"
#include "cache/page_cache/prefetch_distance.hpp"
#include "cache/page_cache/read_ahead.hpp"

namespace nearfetch {
namespace {

TEST(DirtyBits, AgreeWithAnArrayOfBooleans) {
    constexpr std::uint64_t page_bytes = 256;
    DirtyPages dirty(2, page_bytes);
    dirty.attach(7);
    const std::uint32_t entry = dirty.attach(9);
    EXPECT_TRUE(dirty.full());
    EXPECT_EQ(dirty.page(entry), 9u);
    std::vector<bool> model(page_bytes, false);
    std::mt19937_64 random(1);
    for (int i = 0; i < 20000; ++i) {
        const std::uint64_t begin = random() % page_bytes;
        const std::uint64_t end = begin + 1 + random() % std::min<std::uint64_t>(page_bytes - begin, 100);
        const bool set = random() % 2 == 0;
        if (set)
            dirty.set(entry, begin, end);
        else
            dirty.clear(entry, begin, end);
        std::fill(model.begin() + static_cast<long>(begin), model.begin() + static_cast<long>(end), set);
        const std::uint64_t from = random() % page_bytes;
        const auto next = [&](bool value) {
            std::uint64_t at = from;
            while (at < page_bytes && model[at] != value)
                ++at;
            return at;
        };
        ASSERT_EQ(dirty.next_set(entry, from), next(true));
        ASSERT_EQ(dirty.next_clear(entry, from), next(false));
        const std::uint64_t to = from + 1 + random() % (page_bytes - from);
        ASSERT_EQ(dirty.all(entry, from, to), next(false) >= to);
        ASSERT_EQ(dirty.any(entry, from, to), next(true) < to);
        std::uint64_t tail = page_bytes;
        while (tail > 0 && model[tail - 1])
            --tail;
        ASSERT_EQ(dirty.tail_begin(entry), tail);
    }
}

TEST(DirtyBits, EntriesStandInTheOrderOfTheirLastWrite) {
    DirtyPages dirty(3, 64);
    const std::uint32_t a = dirty.attach(1), b = dirty.attach(2), c = dirty.attach(3);
    dirty.set(a, 0, 1);
    EXPECT_EQ(dirty.oldest(), b);
    EXPECT_EQ(dirty.newer(b), c);
    EXPECT_EQ(dirty.newer(c), a);
    dirty.detach(b);
    EXPECT_EQ(dirty.oldest(), c);
    EXPECT_EQ(dirty.count(), 2u);
    EXPECT_EQ(dirty.attach(4), b);
    EXPECT_EQ(dirty.newer(a), b);
}

TEST(PageTables, AgreeWithAMap) {
    constexpr std::uint32_t pages_max = 50;
    PageTable table(pages_max);
    std::map<std::pair<Rank, std::uint64_t>, std::uint32_t> model;
    std::mt19937_64 random(2);
    for (int i = 0; i < 50000; ++i) {
        const Rank target = static_cast<Rank>(random() % 3);
        const std::uint64_t number =
            random() % 4 == 0 ? (std::uint64_t{1} << 40) + random() % 40 : random() % 60;
        const auto found = model.find({target, number});
        ASSERT_EQ(table.find(target, number), found == model.end() ? PageTable::nothing : found->second);
        if (found != model.end()) {
            table.erase(target, number);
            model.erase(found);
        } else if (model.size() < pages_max) {
            table.insert(target, number, static_cast<std::uint32_t>(i));
            model[{target, number}] = static_cast<std::uint32_t>(i);
        }
        if (i % 100 != 0) continue;
        std::vector<std::uint32_t> seen, expected;
        table.for_each(target, 10, 44, [&](std::uint32_t page) {
            seen.push_back(page);
            return true;
        });
        for (const auto& [key, page] : model)
            if (key.first == target && key.second >= 10 && key.second <= 44) expected.push_back(page);
        ASSERT_EQ(seen, expected);
    }
}

TEST(PageTables, NoStrideComesToLieInOnePlace) {
    // 832040 / 2^64 * the usual factor is nearly a whole number; and all ranks' first pages.
    for (const std::uint64_t stride : {1, 16, 1024, 6765, 196418, 832040, 1 << 30}) {
        std::map<std::uint64_t, int> buckets;
        for (std::uint64_t i = 0; i < 1024; ++i)
            ++buckets[mixed_name(0, i * stride) >> 53];
        EXPECT_GT(buckets.size(), 700u) << "stride " << stride;
    }
    std::map<std::uint64_t, int> buckets;
    for (Rank target = 0; target < 1024; ++target)
        ++buckets[mixed_name(target, 5) >> 53];
    EXPECT_GT(buckets.size(), 700u);
}

ReadAheadConfig pages_of_1024() {
    ReadAheadConfig config;
    config.items_max = 16;
    return config;
}

TEST(ReadAheads, NeverHaveMoreAheadThanWasRead) {
    ReadAhead read_ahead(pages_of_1024());
    const ByteRange part{0, 1 << 20};
    const auto mark = read_ahead.sequential(3, 10, 1);
    std::uint64_t fetched_until = 11 * 1024;
    for (std::uint64_t page = 10; page < 200; ++page) {
        if (!read_ahead.record_use(mark, 3, page * 1024, page * 100, 0)) continue;
        for (ByteRange range; !(range = read_ahead.next(mark, 3, part)).empty();) {
            EXPECT_EQ(range.begin, fetched_until) << "without holes";
            EXPECT_LE(range.size(), 4096u);
            fetched_until = range.end;
        }
        const std::uint64_t ahead = fetched_until / 1024 - page - 1;
        EXPECT_LE(ahead, page - 10 + 1);
        EXPECT_LE(ahead, 16u);
        EXPECT_GE(ahead, 1u);
    }
    EXPECT_FALSE(read_ahead.record_use(mark, 4, 200 * 1024, 0, 0)) << "another target's page";
    EXPECT_FALSE(read_ahead.record_use(mark, 3, 900 * 1024, 0, 0)) << "not where the stream is";
    EXPECT_FALSE(read_ahead.record_use(mark, 3, 5 * 1024, 0, 0)) << "behind it";
}

TEST(ReadAheads, StayWithinWhatCanBeRead) {
    ReadAhead read_ahead(pages_of_1024());
    const auto mark = read_ahead.sequential(0, 1, -1);
    EXPECT_TRUE(read_ahead.record_use(mark, 0, 1500, 0, 0));
    EXPECT_EQ(read_ahead.next(mark, 0, {300, 1 << 20}), (ByteRange{300, 1024}));
    EXPECT_TRUE(read_ahead.record_use(mark, 0, 1000, 0, 0));
    EXPECT_TRUE(read_ahead.next(mark, 0, {300, 1 << 20}).empty());
    EXPECT_TRUE(read_ahead.next(mark, 0, {0, 1 << 20}).empty()) << "below 0";
}

TEST(ReadAheads, TwoEqualDistancesAreAStream) {
    ReadAhead read_ahead(pages_of_1024());
    // Two interleaved patterns and some distant noise.
    EXPECT_EQ(read_ahead.missed(0, 0, 8), 0);
    EXPECT_EQ(read_ahead.missed(0, std::uint64_t{1} << 30, 8), 0);
    EXPECT_EQ(read_ahead.missed(0, 5000, 8), 0);
    EXPECT_EQ(read_ahead.missed(1, 77, 8), 0);
    EXPECT_EQ(read_ahead.missed(0, (std::uint64_t{1} << 30) + 3000, 8), 0);
    const auto mark = read_ahead.missed(0, 10000, 8);
    ASSERT_NE(mark, 0);
    EXPECT_TRUE(read_ahead.next(mark, 1, {0, 1 << 20}).empty()) << "the stream is at target 0";
    EXPECT_EQ(read_ahead.next(mark, 0, {0, 1 << 20}), (ByteRange{15000, 15008}));
    EXPECT_EQ(read_ahead.next(mark, 0, {0, 1 << 20}), (ByteRange{20000, 20008}));
    EXPECT_EQ(read_ahead.next(mark, 0, {0, 1 << 20}), (ByteRange{25000, 25008}));
    EXPECT_TRUE(read_ahead.next(mark, 0, {0, 1 << 20}).empty()) << "three were read";
    EXPECT_NE(read_ahead.missed(0, (std::uint64_t{1} << 30) + 6000, 8), 0);
    EXPECT_EQ(read_ahead.streams(), 2u);
}

// A program: each access computes for `gap` ticks and then uses an item requested `distance` accesses before.
// A message occupies the link for `per_message` and arrives after `latency`.
struct Network {
    std::uint64_t latency;
    std::uint64_t per_message;
    std::uint64_t gap;
};
struct Outcome {
    std::uint64_t ticks;
    std::uint32_t distance;
};

Outcome simulate(const Network& net, std::uint32_t fixed, int accesses = 30000) {
    PrefetchDistanceConfig config;
    config.start = 1;
    PrefetchDistance tuner(config);
    std::uint64_t now = 0, link_free = 0;
    std::vector<std::uint64_t> arrival(static_cast<std::size_t>(accesses), 0);
    int asked = 0;
    const auto ask = [&] {
        link_free = std::max(now, link_free) + net.per_message;
        arrival[static_cast<std::size_t>(asked++)] = link_free + net.latency;
    };
    for (int i = 0; i < accesses; ++i) {
        const std::uint32_t distance = fixed != 0 ? fixed : tuner.distance();
        asked = std::max(asked, i);
        while (asked < accesses && asked <= i + static_cast<int>(distance))
            ask();
        now += net.gap;
        const std::uint64_t there = arrival[static_cast<std::size_t>(i)];
        const std::uint64_t waited = there > now ? there - now : 0;
        if (i == 0) tuner.latency(there);
        tuner.access(now, waited);
        now += waited;
    }
    return {now, tuner.distance()};
}

std::uint64_t best_fixed(const Network& net) {
    std::uint64_t best = ~std::uint64_t{0};
    for (const std::uint32_t distance : {1, 2, 3, 4, 6, 8, 11, 16, 22, 32, 45, 64, 90, 128})
        best = std::min(best, simulate(net, distance).ticks);
    return best;
}

TEST(PrefetchDistances, ByHand) {
    // Latency 1000, gap 100: 10 in flight, one more, and perhaps a step.
    EXPECT_GE(simulate({1000, 0, 100}, 0).distance, 11u);
    EXPECT_LE(simulate({1000, 0, 100}, 0).distance, 14u);
    // A gap longer than the latency: a distance of one suffices.
    EXPECT_LE(simulate({1000, 0, 5000}, 0).distance, 2u);
    // Before anything was measured.
    EXPECT_EQ(PrefetchDistance().distance(), 4u);
}

TEST(PrefetchDistances, WhatIsToSpareGoesFirstWhenItIsNotUsed) {
    PrefetchDistance tuner({.most = 32, .start = 4, .margin = 8});
    EXPECT_EQ(tuner.distance(), 12u);
    tuner.latency(300);
    std::uint64_t now = 0;
    const auto round = [&] { tuner.access(now += 100 * 24, 0, 24); };
    round();
    EXPECT_EQ(tuner.distance(), 12u);
    tuner.unused(7);
    round();
    EXPECT_EQ(tuner.distance(), 2u);
    // Never more than the limit, whatever the margin.
    EXPECT_EQ(PrefetchDistance({.most = 10, .start = 4, .margin = 8}).distance(), 10u);
}

TEST(PrefetchDistances, WithinFivePercentOfTheBestFixedOne) {
    // Like the networks of 000, Table I, in ns: latency, time per message of a line; and extremes.
    for (const std::uint64_t latency : {300, 1700, 2100, 16000, 49000})
        for (const std::uint64_t per_message : {0, 50, 150, 1000, 6000})
            for (const std::uint64_t gap : {20, 100, 400, 1500, 10000}) {
                const Network net{latency, per_message, gap};
                const Outcome tuned = simulate(net, 0);
                EXPECT_LE(static_cast<double>(tuned.ticks), 1.05 * static_cast<double>(best_fixed(net)))
                    << "latency " << latency << " per message " << per_message << " gap " << gap
                    << " distance " << tuned.distance;
            }
}

TEST(PrefetchDistances, WhereTheLinkIsTheBoundItDoesNotRunAway) {
    // 500 per message, latency 2000: five in flight fill the link, whatever the gap.
    EXPECT_LE(simulate({2000, 500, 10}, 0).distance, 32u);
    EXPECT_LE(simulate({49000, 6000, 20}, 0).distance, 64u);
}

TEST(PrefetchDistances, FollowsAProgramThatChanges) {
    PrefetchDistance tuner;
    tuner.latency(1000);
    std::uint64_t now = 0;
    const auto run = [&](std::uint64_t gap, int accesses) {
        for (int i = 0; i < accesses; ++i) {
            now += gap;
            const std::uint64_t covered = tuner.distance() * gap;
            const std::uint64_t waited = covered < 1000 ? (1000 - covered) / tuner.distance() : 0;
            tuner.access(now, waited);
            now += waited;
        }
        return tuner.distance();
    };
    EXPECT_GE(run(50, 2000), 19u);
    EXPECT_LE(run(1000, 2000), 4u);
    EXPECT_GE(run(50, 2000), 19u);
}

TEST(PrefetchDistances, WhatIsNeverUsedHalvesIt) {
    PrefetchDistanceConfig config;
    config.start = 32;
    PrefetchDistance tuner(config);
    tuner.latency(1);
    std::uint64_t now = 0;
    const auto round = [&](std::uint32_t unused) {
        const std::uint32_t before = tuner.distance();
        for (std::uint32_t i = 0; i < 2 * before; ++i)
            tuner.access(now += 100, 50);
        tuner.unused(unused);
        return before;
    };
    tuner.unused(20);
    round(0);
    EXPECT_EQ(tuner.distance(), 16u);
    tuner.unused(9);
    round(0);
    EXPECT_EQ(tuner.distance(), 8u);
    tuner.unused(1);
    round(0);
    EXPECT_EQ(tuner.distance(), 8u) << "a few are no reason";
}

}  // namespace
}  // namespace nearfetch

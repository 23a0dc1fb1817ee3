// SPDX-License-Identifier: Apache-2.0
//
// Entries of the prefetch buffer: freshness, exclusive changes, and atomic updates.

#include "cache/prefetch_buffer/prefetch_buffer.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

namespace nearfetch {
namespace {

using detail::Packer;
using detail::PrefetchedSlice;
using detail::Slice;

Slice slice_of(Rank owner, std::int64_t first, std::int64_t count, std::uint64_t element_bytes = 8) {
    Slice slice{owner, 64, element_bytes};
    slice.part[3] = 100;
    slice.lower[3] = first;
    slice.extent[3] = count;
    return slice;
}

PrefetchEntry::Releases thread_of_the_rank() { return std::make_shared<std::atomic<std::uint64_t>>(0); }

TEST(RankClock, ComparesTheAcquiresOfAllThreads) {
    RankClock clock;
    const Stamp often = clock.acquire();
    EXPECT_GT(often, 0u);
    const Stamp fetched = clock.issue();
    EXPECT_GE(fetched, often);
    const Stamp rarely = clock.acquire();
    EXPECT_LT(fetched, rarely) << "fetched before that thread's acquire";
    EXPECT_GE(clock.now(), rarely);
    EXPECT_GE(clock.issue(), rarely);
}

TEST(RankClock, IsWrittenByAnAcquireOnlyAfterGetsWereIssued) {
    RankClock clock;
    const Stamp begin = clock.now();
    for (int i = 0; i < 3; ++i)
        EXPECT_EQ(clock.acquire(), begin);
    EXPECT_EQ(clock.now(), begin);
    const Stamp first = clock.issue();
    EXPECT_EQ(clock.issue(), first) << "no acquire has come between";
    const Stamp after = clock.acquire();
    EXPECT_GT(after, first);
    EXPECT_EQ(clock.acquire(), after);
    EXPECT_EQ(clock.now(), after);
}

// A thread writes and tells another one, which acquires. A third one fetches all the time. What it has
// fetched without that write is stale for the second one.
TEST(RankClock, CallsNothingFreshThatWasFetchedBeforeAnAcquire) {
    constexpr std::uint64_t rounds = 5'000;
    RankClock clock;
    std::atomic<std::uint64_t> written{0}, told{0}, answered{0};
    // The last fetch, overwritten as in a seqlock.
    std::atomic<std::uint64_t> sequence{0}, value{0}, stamp{0};
    std::atomic<bool> ends{false};
    const auto wait_for = [](const std::atomic<std::uint64_t>& number, std::uint64_t round) {
        while (number.load(std::memory_order_acquire) != round)
            std::this_thread::yield();
    };
    std::thread writer([&] {
        for (std::uint64_t round = 1; round <= rounds; ++round) {
            written.store(round, std::memory_order_relaxed);
            told.store(round, std::memory_order_release);
            wait_for(answered, round);
        }
    });
    std::thread fetcher([&] {
        for (std::uint64_t n = 0; !ends.load(std::memory_order_relaxed); n += 2) {
            const Stamp issued = clock.issue();
            const std::uint64_t fetched = written.load(std::memory_order_relaxed);
            sequence.store(n + 1);
            value.store(fetched);
            stamp.store(issued);
            sequence.store(n + 2);
            std::this_thread::yield();
        }
    });
    std::uint64_t fresh = 0, wrong = 0;
    for (std::uint64_t round = 1; round <= rounds; ++round) {
        wait_for(told, round);
        const Stamp acquired = clock.acquire();
        for (bool is_fresh = false; !is_fresh;) {
            const std::uint64_t before = sequence.load();
            const std::uint64_t seen = value.load(), issued = stamp.load();
            if (before % 2 != 0 || sequence.load() != before) continue;
            is_fresh = issued >= acquired;
            fresh += is_fresh;
            wrong += is_fresh && seen < round;
            if (!is_fresh) std::this_thread::yield();
        }
        answered.store(round, std::memory_order_release);
    }
    ends = true;
    writer.join();
    fetcher.join();
    EXPECT_EQ(fresh, rounds);
    EXPECT_EQ(wrong, 0u);
}

TEST(PrefetchEntry, IsStaleUntilItIsFetchedAndAfterAnAcquire) {
    RankClock clock;
    PrefetchEntry entry(slice_of(1, 10, 4), true, Packer::owner);
    std::uint64_t value = 0;
    Stamp acquired = clock.acquire();
    EXPECT_FALSE(entry.read(0, &value, 8, acquired)) << "never fetched";
    const std::vector<std::uint64_t> there{5, 6, 7, 8};
    ASSERT_TRUE(entry.try_lock());
    EXPECT_FALSE(entry.try_lock()) << "one at a time";
    entry.publish(reinterpret_cast<const std::byte*>(there.data()), clock.issue());
    entry.unlock();
    EXPECT_TRUE(entry.read(16, &value, 8, acquired));
    EXPECT_EQ(value, 7u);
    acquired = clock.acquire();
    EXPECT_FALSE(entry.read(16, &value, 8, acquired));
    EXPECT_EQ(entry.position(std::array<std::int64_t, 1>{10}, 10), 0);
    EXPECT_EQ(entry.position(std::array<std::int64_t, 1>{13}, 13), 3);
    EXPECT_EQ(entry.position(std::array<std::int64_t, 1>{9}, 9), -1);
    EXPECT_EQ(entry.position(std::array<std::int64_t, 1>{14}, 14), -1);
}

TEST(PrefetchEntry, IsFreshForEverybodyUntilAnybodyAcquires) {
    RankClock clock;
    PrefetchEntry entry(slice_of(1, 10, 2), true, Packer::owner);
    entry.acquires = &clock.now();
    const PrefetchedSlice& slice = entry;
    const Stamp acquired = clock.acquire();
    std::uint64_t value = 0;
    EXPECT_FALSE(slice.read(0, value)) << "never fetched";
    const std::vector<std::uint64_t> there{5, 6};
    entry.publish(reinterpret_cast<const std::byte*>(there.data()), clock.issue());
    EXPECT_TRUE(slice.read(1, value));
    EXPECT_EQ(value, 6u);
    const Stamp others = clock.acquire();
    EXPECT_FALSE(slice.read(1, value)) << "look closer";
    EXPECT_TRUE(entry.read(8, &value, 8, acquired));
    EXPECT_FALSE(entry.read(8, &value, 8, others));

    PrefetchEntry manual(slice_of(1, 10, 2), false, Packer::owner);
    manual.mark_fetched(clock.issue());
    clock.acquire();
    EXPECT_TRUE(static_cast<const PrefetchedSlice&>(manual).read(1, value)) << "until it is updated";
}

TEST(PrefetchEntry, WritesCountWhileATransferIsOnItsWay) {
    PrefetchEntry entry(slice_of(0, 0, 2), false, Packer::owner);
    PrefetchedSlice& slice = entry;
    const std::uint64_t value = 9;
    slice.write(1, value);
    entry.write(0, &value, 8);
    EXPECT_EQ(entry.writes, 0u);
    ++entry.pending_transfers;
    slice.write(0, value);
    EXPECT_EQ(entry.writes, 1u);
    entry.write(0, &value, 8);
    EXPECT_EQ(entry.writes, 2u);
    std::uint64_t read = 0;
    EXPECT_TRUE(slice.read(1, read));
    EXPECT_EQ(read, 9u);
}

TEST(PrefetchEntry, WhatWasPublishedUnreadIsThereForWhoeverRevealsIt) {
    PrefetchEntry entry(slice_of(0, 0, 1), true, Packer::owner);
    EXPECT_TRUE(entry.was_used()) << "nobody can have";
    EXPECT_FALSE(entry.publish_unread(1));
    std::uint64_t there = 5, value = 0;
    const auto publish_unread = [&](Stamp issued) {
        entry.begin_update();
        EXPECT_FALSE(entry.read(0, &value, 8, 0)) << "being overwritten";
        entry.publish_fragment(0, std::as_bytes(std::span(&there, 1)));
        entry.end_update();
        entry.mark_fetched_unread(issued);
    };
    publish_unread(2);
    EXPECT_FALSE(entry.was_used());
    EXPECT_EQ(entry.fetched(), 2u);
    EXPECT_FALSE(entry.read(0, &value, 8, 1)) << "not yet";
    EXPECT_TRUE(entry.publish_unread(1));
    EXPECT_TRUE(entry.was_used());
    EXPECT_TRUE(entry.read(0, &value, 8, 2));
    EXPECT_EQ(value, 5u);
    there = 6;
    publish_unread(3);
    EXPECT_TRUE(entry.read(0, &value, 8, 2)) << "for who has not acquired since";
    EXPECT_FALSE(entry.publish_unread(4)) << "too old, but wanted";
    EXPECT_TRUE(entry.was_used());
    publish_unread(5);
    entry.publish(reinterpret_cast<const std::byte*>(&there), 6);
    EXPECT_TRUE(entry.was_used());
    EXPECT_EQ(entry.fetched(), 6u);
    publish_unread(7);
    entry.mark_lost();
    EXPECT_FALSE(entry.publish_unread(1));
    EXPECT_FALSE(entry.read(0, &value, 8, 1));
}

TEST(PrefetchEntry, ElementsOfEverySizeAreCopied) {
    for (const std::uint64_t size : {1, 2, 3, 4, 6, 8, 12, 16, 24}) {
        PrefetchEntry entry(slice_of(0, 0, 10, size), true, Packer::owner);
        std::vector<unsigned char> there(10 * size), got(size);
        std::iota(there.begin(), there.end(), static_cast<unsigned char>(1));
        entry.publish(reinterpret_cast<const std::byte*>(there.data()), 1);
        for (std::uint64_t i = 0; i < 10; ++i) {
            ASSERT_TRUE(entry.read(i * size, got.data(), size, 1));
            EXPECT_TRUE(
                std::equal(got.begin(), got.end(), there.begin() + static_cast<std::ptrdiff_t>(i * size)));
        }
        std::fill(got.begin(), got.end(), static_cast<unsigned char>(255));
        entry.write(3 * size, got.data(), size);
        std::fill(there.begin() + static_cast<std::ptrdiff_t>(3 * size),
                  there.begin() + static_cast<std::ptrdiff_t>(4 * size), static_cast<unsigned char>(255));
        EXPECT_EQ(std::memcmp(entry.data, there.data(), there.size()), 0);
    }
}

TEST(PrefetchEntry, WhatAThreadHasNotReleasedIsHeldAgainstOthers) {
    PrefetchEntry entry(slice_of(0, 0, 1), true, Packer::owner);
    const auto one = thread_of_the_rank();
    const auto other = thread_of_the_rank();
    EXPECT_FALSE(entry.is_held_by_other(one));
    entry.hold(one, 1);
    EXPECT_FALSE(entry.is_held_by_other(one));
    EXPECT_TRUE(entry.is_held_by_other(other));
    ++*other;
    EXPECT_TRUE(entry.is_held_by_other(other)) << "that was not its release";
    ++*one;
    EXPECT_FALSE(entry.is_held_by_other(other));
    const std::uint64_t value = 1;
    entry.hold(one, 1);
    entry.publish(reinterpret_cast<const std::byte*>(&value), 1);
    EXPECT_TRUE(entry.is_held_by_other(other)) << "the holder has updated, but not released";
}

TEST(PrefetchEntry, ReadersSeeAllOfAnUpdateOrNothing) {
    struct Wide {
        std::uint64_t words[8];
    };
    PrefetchEntry entry(slice_of(0, 0, 4, sizeof(Wide)), true, Packer::owner);
    std::atomic<bool> over{false};
    std::atomic<std::uint64_t> seen{0};
    std::vector<std::thread> readers;
    for (const bool one_element : {true, true, false})
        readers.emplace_back([&, one_element] {
            const PrefetchedSlice& slice = entry;
            std::uint64_t last = 0;
            while (!over) {
                Wide wide;
                if (one_element ? !slice.read(2, wide)
                                : !entry.read(2 * sizeof(Wide), &wide, sizeof(Wide), 1))
                    continue;
                for (const std::uint64_t word : wide.words)
                    ASSERT_EQ(word, wide.words[0]);
                ASSERT_GE(wide.words[0], last);
                last = wide.words[0];
                ++seen;
            }
        });
    std::vector<Wide> there(4);
    for (std::uint64_t round = 1; round <= 20000 || seen == 0; ++round) {
        for (Wide& wide : there)
            for (std::uint64_t& word : wide.words)
                word = round;
        while (!entry.try_lock()) {
        }
        entry.publish(reinterpret_cast<const std::byte*>(there.data()), round);
        entry.unlock();
    }
    over = true;
    for (std::thread& reader : readers)
        reader.join();
    EXPECT_GT(seen, 0u);
}

TEST(PrefetchBuffer, KeepsASliceOnceAndForgetsAHooksAtOnce) {
    PrefetchBuffer buffer;
    const int here = 0, there = 0;
    PrefetchEntry* const large = buffer.add(&here, slice_of(1, 0, 10), true, Packer::requester);
    EXPECT_EQ(buffer.add(&here, slice_of(1, 2, 3), true, Packer::requester), large) << "it has that";
    EXPECT_EQ(large->packer, Packer::requester);
    buffer.add(&here, slice_of(1, 2, 3), true, Packer::owner);
    EXPECT_EQ(large->packer, Packer::owner) << "no promise about the domain any more";
    EXPECT_NE(buffer.add(&here, slice_of(1, 2, 9), true, Packer::owner), large);
    EXPECT_NE(buffer.add(&here, slice_of(2, 2, 3), true, Packer::owner), large);
    EXPECT_NE(buffer.add(&here, slice_of(1, 2, 3), false, Packer::owner), large);
    EXPECT_NE(buffer.add(&there, slice_of(1, 2, 3), true, Packer::owner), large);
    EXPECT_EQ(buffer.entries(), 5u);
    EXPECT_EQ(buffer.bytes(), 8u * (10 + 9 + 3 + 3 + 3));
    buffer.evict(&here);
    EXPECT_EQ(buffer.entries(), 1u);
    EXPECT_EQ(buffer.bytes(), 24u);
    buffer.evict(&here);
    buffer.evict(&there);
    EXPECT_EQ(buffer.bytes(), 0u);
}

}  // namespace
}  // namespace nearfetch

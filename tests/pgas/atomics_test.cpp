// SPDX-License-Identifier: Apache-2.0
//
// Atomic operations, and what they order, in the C++ interface, with and without a cache.

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <nearfetch/pgas.hpp>

#include "all_networks.hpp"

namespace nearfetch {
namespace {

class Atomics : public CachedOrNot {};

TEST_P(Atomics, AtomicsSeePutsAndGetsSeeAtomics) {
    launch(options(), [] {
        const auto a = allocate<std::int64_t>(1).at_rank(1);
        if (rank() == 0) {
            for (const std::memory_order order : {std::memory_order_seq_cst, std::memory_order_relaxed}) {
                put(a, 40);
                EXPECT_EQ(atomic_fetch_add(a, -2, order), 40);
                EXPECT_EQ(get(a), 38);
                EXPECT_EQ(atomic_exchange(a, 7, order), 38);
                std::int64_t expected = 8;
                EXPECT_FALSE(atomic_compare_exchange(a, expected, 9, order));
                EXPECT_EQ(expected, 7);
                EXPECT_TRUE(atomic_compare_exchange(a, expected, 9, order));
                EXPECT_EQ(get(a), 9);
                EXPECT_EQ(atomic_load(a.as<double>(), order), std::bit_cast<double>(std::int64_t{9}));
            }
        }
        barrier();
    });
}

TEST_P(Atomics, DoublesAreAddedAtomically) {
    launch(options(), [] {
        const auto sum = allocate<double>(1).at_rank(1);
        for (const std::memory_order order : {std::memory_order_seq_cst, std::memory_order_relaxed}) {
            if (rank() == 0) {
                put(sum, 1.5);
                EXPECT_EQ(atomic_fetch_add(sum, -2.25, order), 1.5);
                EXPECT_EQ(get(sum), -0.75) << "not the cached value";
            }
            barrier();
            for (int i = 0; i < 100; ++i)
                atomic_fetch_add(sum, 0.5, order);
            barrier();
            EXPECT_EQ(get(sum), 100 * 0.5 * ranks() - 0.75);
            barrier();
        }
    });
}

TEST_P(Atomics, AdditionsAreCompleteAtARelease) {
    launch(options(), [] {
        const auto sum = allocate<double>(1).at_rank(1);
        const auto count = allocate<std::int64_t>(1).at_rank(0);
        if (rank() == 0) {
            put(sum, 1.5);
            unordered_add(sum, -2.25);
            get(sum);
            release();
            EXPECT_EQ(get(sum), -0.75) << "not what was cached in the meantime";
            unordered_add(sum, 0.75);
            release(sum, 1);
            EXPECT_EQ(get(sum), 0);
        }
        barrier();
        // More than are outstanding at once.
        constexpr int times = 3000;
        for (int i = 0; i < times; ++i) {
            unordered_add(sum, 0.5);
            unordered_add(count, i % 2 == 0 ? 3 : -1);
        }
        barrier();
        EXPECT_EQ(get(sum), 0.5 * times * ranks());
        EXPECT_EQ(get(count), std::int64_t{times} * ranks());
        barrier();
        spawn([count] { unordered_add(count, -7); }).join();
        barrier();
        EXPECT_EQ(get(count), (std::int64_t{times} - 7) * ranks()) << "a task ends with a release";
        EXPECT_THROW(unordered_add(count.at_rank(2), 1), Error);
        EXPECT_THROW(unordered_add(GlobalPtr<std::int64_t>(0, count.address() + 4), 1), Error);
    });
}

TEST_P(Atomics, RelaxedAtomicsFlushNothing) {
    launch(options(), [cached = GetParam()] {
        const auto counter = allocate<std::int64_t>(1).at_rank(1);
        const auto data = allocate<long>(128).at_rank(1);
        if (rank() == 0) {
            EXPECT_EQ(get(data), 0);
            put(data + 64, 1);
            const std::uint64_t before = statistics()["get_messages"];
            for (int i = 0; i < 10; ++i)
                atomic_fetch_add(counter, 1, std::memory_order_relaxed);
            EXPECT_EQ(get(data), 0);
            EXPECT_EQ(statistics()["get_messages"], cached ? before : before + 1);
            EXPECT_EQ(statistics()["put_messages"], cached ? 0u : 1u);
        }
        barrier();
        EXPECT_EQ(get(counter), 10);
    });
}

TEST_P(Atomics, AdditionsWithoutAResultKeepTheCache) {
    launch(options(), [cached = GetParam()] {
        const auto counter = allocate<std::int64_t>(1).at_rank(1);
        const auto data = allocate<long>(128).at_rank(1);
        if (rank() == 0) {
            const auto gets = [data] {
                const std::uint64_t before = statistics()["get_messages"];
                EXPECT_EQ(get(data), 0);
                return statistics()["get_messages"] - before;
            };
            EXPECT_EQ(gets(), 1U);
            put(data + 64, 1);
            for (int i = 0; i < 10; ++i)
                atomic_add(counter, 1);
            EXPECT_EQ(statistics()["put_messages"], 1U) << "it releases";
            EXPECT_EQ(gets(), cached ? 0U : 1U);
            atomic_store(counter, 10);
            EXPECT_EQ(gets(), cached ? 0U : 1U) << "a store acquires nothing";
            atomic_load(counter, std::memory_order_relaxed);
            EXPECT_EQ(gets(), 1U) << "now it may be known what the additions came after";
            atomic_load(counter, std::memory_order_relaxed);
            EXPECT_EQ(gets(), cached ? 0U : 1U);
            atomic_add(counter, 0);
            EXPECT_EQ(gets(), 1U) << "after a relaxed load its place may be known";
            put(data + 65, 1);
            const std::uint64_t puts = statistics()["put_messages"];
            EXPECT_EQ(atomic_load(counter), 10);
            EXPECT_EQ(statistics()["put_messages"], puts) << "a load releases nothing";
            EXPECT_EQ(gets(), 1U);
        }
        barrier();
    });
}

// Litmus: the reader has the old value in its cache, and adds after the store. Ways to know that it did.
TEST_P(Atomics, WhatWasReleasedBeforeAnAdditionIsReadOnceItsPlaceIsSeen) {
    std::atomic<long> stored{0};
    launch_on_all_networks(options(3), [&stored] {
        constexpr std::int64_t added = std::int64_t{1} << 32;
        const auto turn = allocate<std::int64_t>(1).at_rank(2), back = allocate<std::int64_t>(1).at_rank(2);
        const auto data = allocate<long>(1).at_rank(2);
        const auto relaxed = std::memory_order_relaxed;
        const std::function<std::int64_t()> looks[] = {
            [=] { return atomic_load(turn, relaxed); },
            [=] { return atomic_load(turn); },
            [=] { return atomic_fetch_add(turn, 0, relaxed); },
            [=] { return atomic_exchange(turn, 0, relaxed); },
            [=] { return on(2, [turn] { return atomic_load(turn); }); },
        };
        stored = 0;
        barrier();
        long round = 0;
        for (const bool seen_first : {true, false})
            for (const auto order : {std::memory_order_acquire, std::memory_order_seq_cst})
                for (const auto& look : looks) {
                    ++round;
                    if (rank() == 0) {
                        put(data, round);
                        atomic_store(turn, round, std::memory_order_release);
                        stored = round;
                        while (atomic_load(back) != round)
                            yield();
                    } else if (rank() == 1) {
                        while (seen_first && atomic_load(turn, relaxed) != round)
                            yield();
                        while (stored != round)
                            yield();
                        atomic_add(turn, added, order);
                        if (!seen_first) {
                            EXPECT_EQ(look(), round + added);
                        }
                        ASSERT_EQ(get(data), round) << "and not what is cached of the round before";
                        acquire();
                        ASSERT_EQ(get(data), round);
                        atomic_store(back, round);
                    }
                }
        barrier();
    });
}

INSTANTIATE_TEST_SUITE_P(Caches, Atomics, ::testing::Bool(), CachedOrNot::name);

}  // namespace
}  // namespace nearfetch

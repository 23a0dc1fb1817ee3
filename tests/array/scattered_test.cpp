// SPDX-License-Identifier: Apache-2.0
//
// Scattered elements: reads, writes and updates in all distributions against brute force, and how many
// messages they take.

#include <complex>
#include <numeric>

#include "array_rig.hpp"

namespace nearfetch {
namespace {

template <class D>
class ScatteredAccesses : public ::testing::Test {};
using Distributions = ::testing::Types<Block, Cyclic, BlockCyclic>;
TYPED_TEST_SUITE(ScatteredAccesses, Distributions);

using Indices = std::vector<Index<2>>;

Indices random_indices(const Box<2>& bounds, std::size_t count, std::mt19937& dice) {
    Indices indices(bounds.empty() ? 0 : count);
    for (Index<2>& i : indices)
        for (std::size_t d = 0; d < 2; ++d)
            i[d] = std::uniform_int_distribution<std::int64_t>(bounds.lower[d], bounds.upper[d] - 1)(dice);
    return indices;
}

Strided<2> random_strided(const Box<2>& bounds, std::mt19937& dice) {
    std::uniform_int_distribution<std::int64_t> step(1, 4);
    return {random_part(bounds, dice), {step(dice), step(dice)}};
}

/// Messages of this thread, one way: GETs, PUTs, and calls of owners.
std::uint64_t messages() {
    const Statistics seen = statistics();
    return seen["get_messages"] + seen["put_messages"] + seen["calls"];
}

TYPED_TEST(ScatteredAccesses, ReadAndWriteWhatTheIndicesName) {
    for (const Rank count : {1, 3, 4, 6})
        for (const bool cached : {true, false})
            launch(array_options(count, cached), [] {
                std::mt19937 dice(static_cast<unsigned>(rank()) + 5);
                for (const Box<2>& bounds : odd_boxes()) {
                    DistributedArray<long, 2, TypeParam> a(bounds, balanced_grid<2>(ranks()), {2, 3});
                    a.for_each([](const Index<2>& i, long& element) { element = value_at(i); });
                    barrier();
                    for (const std::size_t size : {0u, 1u, 30u}) {
                        const Indices indices = random_indices(bounds, size, dice);
                        std::vector<long> seen(indices.size());
                        a.get_scattered(indices, seen);
                        for (std::size_t k = 0; k < seen.size(); ++k)
                            ASSERT_EQ(seen[k], value_at(indices[k]));
                        const Strided<2> strided = random_strided(bounds, dice);
                        seen.assign(static_cast<std::size_t>(strided.size()), 0);
                        a.get_strided(strided, seen);
                        std::size_t k = 0;
                        for_each_index(strided,
                                       [&](const Index<2>& i) { ASSERT_EQ(seen[k++], value_at(i)); });
                        ASSERT_EQ(k, seen.size());
                    }
                    barrier();
                    // One rank writes, and reads its own writes. Then all see them.
                    std::mt19937 same(17);
                    std::map<Index<2>, long> written;
                    const Indices indices = random_indices(bounds, 25, same);
                    const Strided<2> strided = random_strided(bounds, same);
                    std::vector<long> values(indices.size()),
                        others(static_cast<std::size_t>(strided.size()));
                    std::iota(values.begin(), values.end(), 1000);
                    std::iota(others.begin(), others.end(), 5000);
                    for (std::size_t k = 0; k < indices.size(); ++k)
                        written[indices[k]] = values[k];  // the last one counts
                    std::size_t n = 0;
                    for_each_index(strided, [&](const Index<2>& i) { written[i] = others[n++]; });
                    if (rank() == ranks() - 1) {
                        a.put_scattered(indices, values);
                        a.put_strided(strided, others);
                        for (const auto& [i, value] : written)
                            ASSERT_EQ(a.read(i), value);
                    }
                    barrier();
                    for_each_index(bounds, [&](const Index<2>& i) {
                        ASSERT_EQ(a.read(i), written.contains(i) ? written[i] : value_at(i));
                    });
                    barrier();
                }
            });
}

TYPED_TEST(ScatteredAccesses, OneAndFourDimensions) {
    launch(array_options(3), [] {
        DistributedArray<double, 1, TypeParam> one({{-5}, {60}}, {ranks()}, {3});
        DistributedArray<short, 4, TypeParam> four({{1, 0, -1, 2}, {3, 3, 3, 5}}, balanced_grid<4>(ranks()),
                                                   {1, 2, 1, 2});
        const auto check = [](auto& a, const auto& strided) {
            using T = std::remove_cvref_t<decltype(a.read(strided.box.lower))>;
            a.for_each([](const auto& i, auto& element) { element = static_cast<T>(value_at(i) % 1009); });
            barrier();
            std::vector<T> seen(static_cast<std::size_t>(strided.size()));
            a.get_strided(strided, seen);
            std::size_t k = 0;
            for_each_index(strided, [&](const auto& i) { ASSERT_EQ(seen[k++], value_at(i) % 1009); });
            barrier();
        };
        check(one, Strided<1>{{{-4}, {59}}, {7}});
        check(four, Strided<4>{four.bounds(), {1, 2, 3, 2}});
    });
}

TYPED_TEST(ScatteredAccesses, TakeAtMostTwoMessagesForEachOwner) {
    launch(array_options(4), [] {
        constexpr std::int64_t size = 4'000;
        DistributedArray<long, 1, TypeParam> a({{0}, {size}}, {ranks()}, {5});
        a.for_each([](const Index<1>& i, long& element) { element = i[0]; });
        barrier();
        if (rank() == 0) {
            const std::uint64_t most = 2 * 3;
            std::mt19937 dice(1);
            std::vector<Index<1>> indices(1'500);
            for (Index<1>& i : indices)
                i[0] = std::uniform_int_distribution<std::int64_t>(0, size - 1)(dice);
            std::vector<long> values(indices.size());
            for (const auto& strided : {Strided<1>{{{0}, {size}}, {2}}, Strided<1>{{{1}, {size}}, {999}}}) {
                std::vector<long> some(static_cast<std::size_t>(strided.size()));
                for (const auto& access : std::vector<std::function<void()>>{
                         [&] { a.get_strided(strided, some); }, [&] { a.put_strided(strided, some); },
                         [&] { a.get_scattered(indices, values); }, [&] { a.put_scattered(indices, values); },
                         [&] { a.accumulate(indices, values); }}) {
                    acquire();
                    const std::uint64_t before = messages();
                    access();
                    release();
                    EXPECT_LE(messages() - before, most);
                    EXPECT_GT(messages() - before, 0u);
                }
            }
        }
        barrier();
    });
}

// 8 MiB of elements at a time.
TEST(ScatteredPortions, LargeRequestsAreMadeInPortions) {
    LaunchOptions options = array_options(2);
    launch(options, [] {
        constexpr auto portion = static_cast<std::int64_t>(detail::most_scattered_bytes / sizeof(long));
        BlockArray<long, 1> a({4 * portion + 40});
        if (rank() == 0) {
            const Strided<1> far{{{2 * portion + 20}, {4 * portion + 40}}, {2}};
            std::vector<long> values(static_cast<std::size_t>(far.size())), seen(values.size());
            std::iota(values.begin(), values.end(), 1);
            const std::uint64_t before = messages();
            a.put_strided(far, values);
            a.get_strided(far, seen);
            EXPECT_EQ(messages() - before, 2u * 2u) << "for each portion one, and here are two";
            EXPECT_EQ(seen, values);
        }
        barrier();
    });
}

TYPED_TEST(ScatteredAccesses, UpdatesOfAllRanksAddUp) {
    for (const Rank count : {1, 3, 4})
        for (const bool cached : {true, false})
            launch(array_options(count, cached), [] {
                DistributedArray<double, 1, TypeParam> a({{0}, {50}}, {ranks()}, {4});
                BlockArray<std::int64_t, 1> turns({3});
                std::vector<Index<1>> indices;
                for (std::int64_t k = 0; k < 120; ++k)
                    indices.push_back({7 * k % 50});
                const std::vector<double> ones(indices.size(), 1);
                std::int64_t sum = 0;
                for (int n = 0; n < 20; ++n) {
                    a.accumulate(indices, ones);
                    a.fetch_add({n}, 0.5);
                    sum += turns.fetch_add({1}, 1);
                }
                barrier();
                double expected = 0;
                for (std::int64_t i = 0; i < 50; ++i) {
                    const auto named = std::count(indices.begin(), indices.end(), Index<1>{i});
                    expected = 20.0 * static_cast<double>(named) + (i < 20 ? 0.5 : 0.0);
                    ASSERT_EQ(a.read({i}), ranks() * expected) << i;
                }
                // Each number was given once.
                EXPECT_EQ(turns.read({1}), 20 * ranks());
                BlockArray<std::int64_t, 1> sums({ranks()});
                sums.write({rank()}, sum);
                barrier();
                const std::int64_t all = 20 * ranks();
                EXPECT_EQ(sums.sum(), all * (all - 1) / 2);
            });
}

TEST(ScatteredUpdates, OfAnyOperationAndType) {
    launch(array_options(3), [] {
        BlockArray<std::int16_t, 1> small({9});
        BlockArray<std::complex<double>, 2> wide(Index<2>{3, 3});
        const std::vector<Index<1>> everywhere{{0}, {4}, {8}, {4}};
        const std::vector<std::int16_t> values{5, -3, 7, static_cast<std::int16_t>(2 + rank())};
        small.accumulate(everywhere, values, [](std::int16_t a, std::int16_t b) { return std::max(a, b); });
        wide.accumulate(std::vector<Index<2>>{{0, 0}, {2, 2}, {2, 2}},
                        std::vector<std::complex<double>>{{1, 2}, {0, 1}, {0, 1}});
        barrier();
        EXPECT_EQ(small(0), 5);
        EXPECT_EQ(small(4), 4);
        EXPECT_EQ(small(8), 7);
        EXPECT_EQ(wide.read({0, 0}), std::complex<double>(3, 6));
        EXPECT_EQ(wide.read({2, 2}), std::complex<double>(0, 6));
        barrier();
    });
}

TYPED_TEST(ScatteredAccesses, CompareAndSwapHasOneWinner) {
    launch(array_options(4), [] {
        DistributedArray<double, 1, TypeParam> a({{0}, {10}}, {ranks()}, {2});
        BlockArray<long, 1> wins({ranks()});
        for (std::int64_t i = 0; i < 10; ++i)
            if (a.compare_and_swap({i}, 0.0, rank() + 1.0) == 0.0) wins(rank()) = wins(rank()) + 1;
        barrier();
        EXPECT_EQ(wins.sum(), 10);
        for (std::int64_t i = 0; i < 10; ++i) {
            const double winner = a.read({i});
            EXPECT_TRUE(winner >= 1 && winner <= 4) << winner;
            EXPECT_EQ(a.compare_and_swap({i}, 0.0, 9.0), winner);
            EXPECT_EQ(a.compare_and_swap({i}, -0.0, 9.0), winner) << "bytes are compared";
        }
        barrier();
    });
}

// A put that the cache has kept, a request, and reads of what the cache has: in the program's order.
TYPED_TEST(ScatteredAccesses, KeepTheOrderOfOwnWritesInTheCache) {
    for (const bool cached : {true, false})
        launch(array_options(2, cached), [] {
            DistributedArray<long, 1, TypeParam> a({{0}, {400}}, {ranks()}, {3});
            if (rank() == 0) {
                std::vector<Index<1>> indices;
                for (std::int64_t i = 0; i < 400; i += 2)
                    indices.push_back({i});
                std::vector<long> values(indices.size(), 7), seen(indices.size());
                for (std::int64_t i = 0; i < 400; ++i)
                    a(i) = 1;
                a.get_scattered(indices, seen);
                EXPECT_EQ(seen, std::vector<long>(indices.size(), 1)) << "what was put before";
                a.put_scattered(indices, values);
                for (std::int64_t i = 0; i < 400; ++i)
                    ASSERT_EQ(a.read({i}), i % 2 == 0 ? 7 : 1);
                a(10) = 2;
                a.accumulate(indices, values);
                for (std::int64_t i = 0; i < 400; ++i)
                    ASSERT_EQ(a.read({i}), i % 2 != 0 ? 1 : i == 10 ? 9 : 14);
                a(10) = 3;
                EXPECT_EQ(a.fetch_add({10}, 4), 3);
                EXPECT_EQ(a.read({10}), 7);
                a(10) = 5;
                EXPECT_EQ(a.compare_and_swap({10}, 5, 6), 5);
                EXPECT_EQ(a.read({10}), 6);
                a(10) = 8;
                a.put_scattered(indices, values);
                EXPECT_EQ(a.read({10}), 7);
            }
            barrier();
            EXPECT_EQ(a.read({10}), 7);
            EXPECT_EQ(a.read({12}), 7);
            EXPECT_EQ(a.read({13}), 1);
            barrier();
        });
}

TYPED_TEST(ScatteredAccesses, ReadAndWritePrefetchedElements) {
    for (const bool consistent : {true, false})
        launch(array_options(3), [consistent] {
            DistributedArray<long, 2, TypeParam> a({{0, 0}, {12, 9}}, balanced_grid<2>(ranks()), {2, 2});
            a.for_each([](const Index<2>& i, long& element) { element = value_at(i); });
            barrier();
            a.prefetch_all_to_all({.consistent = consistent});
            Indices all;
            for_each_index(a.bounds(), [&](const Index<2>& i) { all.push_back(i); });
            std::vector<long> seen(all.size());
            const std::uint64_t updates = prefetch_statistics().updates;
            a.get_scattered(all, seen);
            const std::uint64_t before = messages();
            a.get_scattered(all, seen);
            EXPECT_EQ(messages(), before);
            EXPECT_LE(prefetch_statistics().updates - updates, 2u) << "a slice of each owner";
            for (std::size_t k = 0; k < all.size(); ++k)
                ASSERT_EQ(seen[k], value_at(all[k]));
            barrier();
            if (rank() == 0) {
                const Strided<2> strided{a.bounds(), {2, 3}};
                std::vector<long> values(static_cast<std::size_t>(strided.size()), 4);
                a.put_strided(strided, values);
                seen.assign(values.size(), 0);
                a.get_strided(strided, seen);
                EXPECT_EQ(seen, std::vector<long>(values.size(), 4));
                for_each_index(a.bounds(), [&](const Index<2>& i) {
                    ASSERT_EQ(a.read(i), i[0] % 2 == 0 && i[1] % 3 == 0 ? 4 : value_at(i));
                });
                if (consistent) {
                    a.accumulate(all, std::vector<long>(all.size(), 100));
                    EXPECT_EQ(a.read({0, 0}), 104);
                    EXPECT_EQ(a.read({11, 8}), value_at(Index<2>{11, 8}) + 100);
                    a.fetch_add({11, 8}, 1);
                    EXPECT_EQ(a.read({11, 8}), value_at(Index<2>{11, 8}) + 101);
                }
            }
            barrier();
        });
}

// The owner is in a long update of its element most of the time, while its server makes those of the others.
TEST(ScatteredUpdates, OfTheOwnerAndOfOthersAtTheSameTime) {
    launch(array_options(3), [] {
        constexpr int rounds = 300;
        constexpr std::size_t many = 4'000;
        BlockArray<double, 1> a({3});
        const std::vector<Index<1>> indices(rank() == 0 ? many : 1, Index<1>{0});
        const std::vector<double> ones(indices.size(), 1);
        for (int n = 0; n < rounds; ++n) {
            a.accumulate(indices, ones);
            if (rank() != 0) a.fetch_add({0}, 1);
        }
        barrier();
        EXPECT_EQ(a.read({0}), rounds * (static_cast<double>(many) + 2 * 2));
        barrier();
    });
}

TEST(ScatteredUpdates, OfSeveralThreadsOfARank) {
    launch(array_options(2), [] {
        BlockArray<long, 1> a({20});
        std::vector<Index<1>> all;
        for (std::int64_t i = 0; i < 20; ++i)
            all.push_back({i});
        in_tasks(3, [&](std::int64_t) {
            for (int n = 0; n < 50; ++n)
                a.accumulate(all, std::vector<long>(all.size(), 1));
        });
        barrier();
        for (std::int64_t i = 0; i < 20; ++i)
            EXPECT_EQ(a.read({i}), 2 * 3 * 50);
        barrier();
    });
}

TEST(ScatteredErrors, NameWhatIsWrongAndMoveNothing) {
    const auto says = [](const std::string& text, const auto& wrong) {
        const std::string seen = failure([&](BlockArray<long, 1>& a) {
            std::vector<long> two(2, 1);
            if (rank() == 1) wrong(a, two);
            barrier();
        });
        EXPECT_NE(seen.find(text), std::string::npos) << seen;
    };
    using Array = BlockArray<long, 1>;
    using Values = std::vector<long>;
    const std::vector<Index<1>> outside{{3}, {10}}, one{{3}};
    says("(10)", [&](Array& a, Values& two) { a.get_scattered(outside, two); });
    says("(10)", [&](Array& a, Values& two) { a.accumulate(outside, two); });
    says("(-1)", [&](Array& a, Values&) { a.fetch_add({-1}, 1); });
    says("(10)", [&](Array& a, Values&) { a.compare_and_swap({10}, 0, 1); });
    says("put_scattered", [&](Array& a, Values& two) { a.put_scattered(one, two); });
    says("get_strided", [&](Array& a, Values& two) { a.get_strided(Strided<1>{{{0}, {9}}, {4}}, two); });
    says("(12)", [&](Array& a, Values& two) { a.put_strided(Strided<1>{{{6}, {13}}, {6}}, two); });
    says("a step of 0", [&](Array& a, Values& two) { a.get_strided(Strided<1>{{{6}, {8}}, {0}}, two); });
    launch(array_options(2), [&] {
        BlockArray<long, 1> a({10});
        if (rank() == 0) {
            std::vector<long> two(2, 1);
            EXPECT_THROW(a.put_scattered(std::vector<Index<1>>{{9}, {10}}, two), Error);
            EXPECT_THROW(a.accumulate(std::vector<Index<1>>{{9}, {-1}}, two), Error);
        }
        EXPECT_EQ(a.sum(), 0);
    });
}

}  // namespace
}  // namespace nearfetch

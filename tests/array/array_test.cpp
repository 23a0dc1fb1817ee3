// SPDX-License-Identifier: Apache-2.0
//
// Distributed arrays against brute force, for each distribution, on 1 to 9 ranks.

#include <nearfetch/gather.hpp>

#include "../pgas/no_more_memory.hpp"
#include "array_rig.hpp"

namespace nearfetch {
namespace {

template <class D>
class Arrays : public ::testing::Test {};
using Distributions = ::testing::Types<Block, Cyclic, BlockCyclic>;
TYPED_TEST_SUITE(Arrays, Distributions);

TYPED_TEST(Arrays, EveryRankWritesAndReadsEveryElement) {
    for (Rank count = 1; count <= 9; ++count)
        for (const bool cached : {true, false})
            launch(array_options(count, cached), [] {
                for (const Box<2>& bounds : odd_boxes()) {
                    DistributedArray<long, 2, TypeParam> a(bounds, balanced_grid<2>(ranks()), {2, 3});
                    long writer = 0;
                    for_each_index(bounds, [&](const Index<2>& i) {
                        if (writer++ % ranks() == rank()) a(i[0], i[1]) = value_at(i);
                    });
                    barrier();
                    const auto& same = a;
                    std::int64_t own = 0;
                    for_each_index(bounds, [&](const Index<2>& i) {
                        ASSERT_EQ(a[i], value_at(i));
                        ASSERT_EQ(same(i[0], i[1]), value_at(i));
                        ASSERT_EQ(a.own(i) != nullptr, a.owner(i) == rank());
                        own += a.own(i) != nullptr;
                    });
                    EXPECT_EQ(a.local().size(), own);
                    a.for_each([&](const Index<2>& i, long& element) {
                        ASSERT_EQ(&element, a.own(i));
                        --own;
                    });
                    EXPECT_EQ(own, 0);
                    barrier();
                }
            });
}

TYPED_TEST(Arrays, OwnElementsOfABoxAreVisitedInTheirOrder) {
    for (Rank count = 1; count <= 9; ++count)
        launch(array_options(count), [] {
            std::mt19937 dice(static_cast<unsigned>(rank()) + 3);
            for (const Box<2>& bounds : odd_boxes()) {
                DistributedArray<long, 2, TypeParam> a(bounds, balanced_grid<2>(ranks()), {2, 3});
                for (int n = 0; n < 10; ++n) {
                    Box<2> box = random_part(bounds, dice);
                    if (n == 0) box = {{-100, -100}, {100, 100}};
                    std::vector<Index<2>> visited, expected;
                    a.for_each(box, [&](const Index<2>& i, long& element) {
                        ASSERT_EQ(&element, a.own(i));
                        visited.push_back(i);
                    });
                    for_each_index(bounds, [&](const Index<2>& i) {
                        if (box.contains(i) && a.owner(i) == rank()) expected.push_back(i);
                    });
                    ASSERT_EQ(visited, expected);
                }
            }
        });
}

TYPED_TEST(Arrays, OneThreeAndFourDimensions) {
    for (const Rank count : {1, 4, 6})
        launch(array_options(count), [] {
            const auto check = [](auto& a) {
                a.for_each(
                    [](const auto& i, auto& element) { element = static_cast<short>(value_at(i) % 1009); });
                barrier();
                for_each_index(a.bounds(), [&](const auto& i) { ASSERT_EQ(a[i], value_at(i) % 1009); });
                barrier();
            };
            DistributedArray<short, 1, TypeParam> one({{-5}, {18}}, {ranks()}, {3});
            DistributedArray<short, 3, TypeParam> three(Index<3>{3, 5, 2});
            DistributedArray<short, 4, TypeParam> four({{1, 0, -1, 2}, {3, 3, 3, 5}},
                                                       balanced_grid<4>(ranks()), {1, 2, 1, 2});
            check(one);
            check(three);
            check(four);
        });
}

TYPED_TEST(Arrays, BoxesAreFetchedAndWritten) {
    for (Rank count = 1; count <= 9; ++count)
        for (const bool cached : {true, false})
            launch(array_options(count, cached), [] {
                std::mt19937 dice(static_cast<unsigned>(rank()) + 7);
                for (const Box<2>& bounds : odd_boxes()) {
                    DistributedArray<long, 2, TypeParam> a(bounds, balanced_grid<2>(ranks()), {2, 3});
                    a.for_each([](const Index<2>& i, long& element) { element = value_at(i); });
                    barrier();
                    for (int n = 0; n < 10; ++n) {
                        const Box<2> box = random_part(bounds, dice);
                        std::vector<long> got(static_cast<std::size_t>(box.size()), -1), expected;
                        a.get(box, got);
                        for_each_index(box, [&](const Index<2>& i) { expected.push_back(value_at(i)); });
                        ASSERT_EQ(got, expected);
                    }
                    for (Rank writer = 0; writer < ranks(); ++writer) {
                        barrier();
                        std::mt19937 same(static_cast<unsigned>(writer));
                        const Box<2> box = random_part(bounds, same);
                        std::vector<long> values;
                        for_each_index(box,
                                       [&](const Index<2>& i) { values.push_back(value_at(i, writer + 1)); });
                        if (writer == rank()) {
                            if (!box.empty()) a[box.lower] = -7;  // a later write replaces it
                            a.put(box, values);
                            if (!box.empty()) {
                                EXPECT_EQ(a[box.lower], values[0]);
                                a[box.lower] = values[0] = -8;  // a write is fetched at once
                                std::vector<long> got(values.size());
                                a.get(box, got);
                                EXPECT_EQ(got, values);
                                a[box.lower] = values[0] = value_at(box.lower, writer + 1);
                            }
                        }
                        barrier();
                        std::vector<long> got(values.size());
                        a.get(box, got);
                        ASSERT_EQ(got, values);
                        for_each_index(box,
                                       [&](const Index<2>& i) { ASSERT_EQ(a[i], value_at(i, writer + 1)); });
                    }
                    barrier();
                }
            });
}

/// The sum of all indices, and the place of the largest element. \pre elements are value_at(i)
template <class Array>
void check_reductions_by_index(Array& a) {
    struct Found {
        long value;
        Index<2> at;
    };
    long sum = 0;
    Found most{-1, {}};
    for_each_index(a.bounds(), [&](const Index<2>& i) {
        sum += 3 * i[0] - i[1];
        if (value_at(i) > most.value) most = {value_at(i), i};
    });
    EXPECT_EQ(a.reduce(0l, std::plus<>(), [](const Index<2>& i, long) { return 3 * i[0] - i[1]; }), sum);
    const Found found = a.reduce(
        Found{-1, {}}, [](const Found& x, const Found& y) { return y.value > x.value ? y : x; },
        [](const Index<2>& i, long value) { return Found{value, i}; });
    EXPECT_EQ(found.value, most.value);
    EXPECT_EQ(found.at, most.at);
}

TYPED_TEST(Arrays, AtomicsOnElements) {
    for (Rank count = 1; count <= 4; ++count)
        launch(array_options(count), [] {
            DistributedArray<double, 2, TypeParam> a({{0, 0}, {5, 7}}, balanced_grid<2>(ranks()), {2, 3});
            for_each_index(a.bounds(), [&](const Index<2>& i) {
                atomic_fetch_add(&a[i], 0.5 * static_cast<double>(i[0] - 2 * i[1]),
                                 std::memory_order_relaxed);
            });
            barrier();
            for_each_index(a.bounds(), [&](const Index<2>& i) {
                ASSERT_EQ(a[i], 0.5 * ranks() * static_cast<double>(i[0] - 2 * i[1]));
            });
            EXPECT_THROW(static_cast<void>(&a(5, 0)), Error);
        });
}

TYPED_TEST(Arrays, TheWholeArray) {
    for (Rank count = 1; count <= 9; ++count)
        launch(array_options(count), [] {
            for (const Box<2>& bounds : odd_boxes()) {
                DistributedArray<long, 2, TypeParam> a(bounds, balanced_grid<2>(ranks()), {2, 3});
                a.fill(3);
                EXPECT_EQ(a.sum(), 3 * bounds.size());
                BlockArray<long, 2> block(bounds);
                BlockCyclicArray<long, 2> dealt(bounds, {1, ranks()}, {1, 4});
                block.for_each([](const Index<2>& i, long& element) { element = value_at(i); });
                a.assign(block);
                dealt.assign(a);
                block.fill(0);
                block.assign(dealt);
                long sum = 0, most = -1;
                for_each_index(bounds, [&](const Index<2>& i) {
                    ASSERT_EQ(a[i], value_at(i));
                    ASSERT_EQ(dealt[i], value_at(i));
                    ASSERT_EQ(block[i], value_at(i));
                    sum += value_at(i);
                    most = std::max(most, value_at(i));
                });
                EXPECT_EQ(a.sum(), sum);
                EXPECT_EQ(a.reduce(-1l, [](long x, long y) { return std::max(x, y); }), most);
                EXPECT_EQ(a.reduce(0, std::plus<>(), [](long x) { return static_cast<int>(x % 2); }),
                          block.reduce(0, std::plus<>(), [](long x) { return static_cast<int>(x % 2); }));
                check_reductions_by_index(a);
                barrier();
            }
        });
}

TEST(Array, ABoxIsAMessagePerOwner) {
    launch(array_options(4), [] {
        BlockArray<long, 2> a({64, 128});
        a.for_each([](const Index<2>& i, long& element) { element = value_at(i); });
        barrier();
        if (rank() == 0) {
            const auto messages = [&](const Box<2>& box) {
                std::vector<long> got(static_cast<std::size_t>(box.size()));
                const std::uint64_t before = statistics()["get_messages"];
                a.get(box, got);
                std::size_t k = 0;
                for_each_index(box, [&](const Index<2>& i) { EXPECT_EQ(got[k++], value_at(i)); });
                return statistics()["get_messages"] - before;
            };
            EXPECT_EQ(messages({{0, 0}, {32, 64}}), 0u) << "its own";
            EXPECT_EQ(messages({{32, 0}, {64, 64}}), 1u) << "all of another rank's, 16 KiB side by side";
            EXPECT_EQ(messages({{0, 80}, {32, 81}}), 0u) << "a column: its owner packs it, which is no GET";
            EXPECT_EQ(messages({{0, 90}, {17, 91}}), 1u) << "of a short one 8 KiB are between the elements";
        }
        barrier();
    });
}

TEST(Array, ElementsReadAndWriteLikeNumbers) {
    launch(array_options(3), [] {
        BlockArray<double, 1> a({9});
        a.fill(1);
        if (rank() == 1) {
            for (int i = 0; i < 9; ++i) {
                a(i) += i;
                a(i) *= 2;
                a(i) -= 1;
                a(i) /= 2;
            }
            a(0) = a(8);
            a(1) = a(2) + a(3) * 2 - 1.5;
            EXPECT_EQ(a(0), 8.5);
            EXPECT_EQ(a(1), 2.5 + 3.5 * 2 - 1.5);
        }
        barrier();
        EXPECT_EQ(a(0), 8.5);
        barrier();
    });
}

// std::vector<bool> would have no elements.
TEST(Array, OfTruthValues) {
    launch(array_options(3), [] {
        BlockArray<bool, 1> a({40});
        CyclicArray<bool, 1> b({40});
        const auto is_set = [](std::int64_t i) { return i % 3 == 0 || i > 30; };
        const auto expect_set = [&](const auto& array) {
            bool got[40];
            array.get(array.bounds(), got);
            for (std::int64_t i = 0; i < 40; ++i) {
                EXPECT_EQ(got[i], is_set(i)) << i;
                EXPECT_EQ(array(i), is_set(i)) << i;
            }
            barrier();
        };
        bool values[40];
        for (std::int64_t i = 0; i < 40; ++i)
            values[i] = is_set(i);
        if (rank() == 1) a.put(a.bounds(), values);
        barrier();
        expect_set(a);
        b.assign(a);
        expect_set(b);
        b.prefetch_all_to_all();
        expect_set(b);
        a.resize({50});
        a.resize({40});
        expect_set(a);
        const std::int64_t indices[] = {39, 0, 1, 3, 0};
        Gather gathered(a, indices);
        gathered.update();
        for (std::size_t k = 0; k < gathered.size(); ++k)
            EXPECT_EQ(gathered[k], is_set(indices[k]));
        a.prefetch_all_to_all();
        a.contribute({1}, true, [](bool& sum, bool value) { sum = sum || value; });
        a.accumulate_ghosts([](bool& sum, bool value) { sum = sum || value; });
        EXPECT_TRUE(a(1));
        EXPECT_FALSE(a(2));
        a.fill(true);
        EXPECT_EQ(a.reduce(0, std::plus<>()), 40);
        barrier();
    });
}

TEST(Array, OutOfBoundsIsNamed) {
    launch(array_options(4), [] {
        BlockArray<long, 2> a({{1, 1}, {9, 5}});
        CyclicArray<long, 1> c({{-2}, {3}});
        for (const Index<2>& i :
             {Index<2>{0, 1}, {1, 0}, {9, 1}, {1, 5}, {INT64_MIN, INT64_MAX}, {INT64_MAX, 1}}) {
            EXPECT_THROW(a(i[0], i[1]) = 1, Error);
            EXPECT_THROW((void)static_cast<long>(a[i]), Error);
            EXPECT_THROW((void)a.owner(i), Error);
        }
        EXPECT_THROW(c(-3) = 1, Error);
        EXPECT_THROW(c(3) = 1, Error);
        EXPECT_THROW((void)static_cast<long>(c(INT64_MIN)), Error);
        try {
            a(9, 1) = 1;
        } catch (const Error& error) {
            EXPECT_STREQ(
                error.what(),
                "index (9, 1) (the array's bounds are (1, 1) up to, and without, (9, 5)): use one of these");
        }
        std::vector<long> some(4);
        EXPECT_THROW(a.get({{1, 1}, {3, 3}}, std::span(some).first(3)), Error);
        EXPECT_THROW(a.get({{0, 1}, {2, 3}}, some), Error);
        EXPECT_THROW(a.put({{8, 4}, {10, 6}}, some), Error);
        EXPECT_THROW(a.put({{1, 1}, {2, 2}}, some), Error);
        constexpr std::int64_t many = std::int64_t{1} << 32;
        EXPECT_THROW(a.get({{1, 1}, {1 + many, 1 + many}}, {}), Error) << "they cannot be counted";
        a.get({{40, 1}, {40, 9}}, {});
    });
}

std::string failure(const std::function<void()>& body, Rank count = 3) {
    try {
        launch(array_options(count), body);
    } catch (const Error& error) {
        return error.what();
    }
    return "none";
}

TEST(Array, RanksThatDoNotCallTheSameAreNamed) {
    EXPECT_NE(failure([] { BlockArray<long, 1> a({10 + rank() / 2}); }).find("in DistributedArray at "),
              std::string::npos);
    EXPECT_NE(failure([] {
                  BlockArray<long, 1> a({10});
                  if (rank() == 1)
                      barrier();
                  else
                      a.fill(1);
              }).find("rank 1 in barrier at "),
              std::string::npos);
    EXPECT_NE(failure([] {
                  BlockArray<long, 1> a({10}), b({10});
                  if (rank() == 2)
                      a.fill(1);
                  else
                      b.fill(1);
              }).find("ranks 0 and 1 in fill at "),
              std::string::npos);
    EXPECT_NE(failure([] { BlockArray<long, 1>({10}).fill(rank() / 2); }).find("in fill at "),
              std::string::npos);
    EXPECT_NE(failure([] {
                  BlockArray<double, 1> a({10});
                  a.fill(0.5 + rank());
              }).find("in fill at "),
              std::string::npos);
    EXPECT_NE(failure([] {
                  BlockArray<long, 1> a({10}), b({10}), c({10});
                  a.assign(rank() == 2 ? b : c);
              }).find("in assign at "),
              std::string::npos);
    EXPECT_NE(failure([] {
                  BlockArray<long, 1> a({10}), b({10});
                  CyclicArray<long, 1> c({10});
                  if (rank() == 2)
                      a.assign(b);
                  else
                      a.assign(c);
              }).find("in assign at "),
              std::string::npos);
    EXPECT_NE(failure([] { BlockArray<long, 2> a({{0, 0}, {4, 4}}, {2, 2}); }).find("the program has 3"),
              std::string::npos);
    EXPECT_NE(failure([] {
                  BlockArray<long, 1> a({10}), b({11});
                  a.assign(b);
              }).find("other bounds"),
              std::string::npos);
    EXPECT_EQ(failure([] { BlockArray<long, 1> a({10}); }), "none");
}

// A large slice that is scattered at its owner arrives in fragments.
TEST(Array, LargeSlicesComeWhole) {
    LaunchOptions options = array_options(3);
    launch(options, [] {
        const auto check = [](auto& a) {
            a.for_each([](const auto& i, long& element) { element = value_at(i); });
            a.prefetch_all_to_all({.consistent = false});
            std::vector<long> all(static_cast<std::size_t>(a.bounds().size()));
            a.get(a.bounds(), all);
            const long* element = all.data();
            for_each_index(a.bounds(), [&](const auto& i) {
                ASSERT_EQ(a[i], value_at(i));
                ASSERT_EQ(*element++, value_at(i));
            });
            barrier();
        };
        BlockArray<long, 2> rows(Box<2>({0, 0}, {300, 240}), {1, 3});
        check(rows);
        // A row of the first dimension is larger than a fragment.
        BlockArray<long, 3> planes(Box<3>({0, 0, 0}, {2, 200, 300}), {1, 1, 3});
        check(planes);
    });
}

TEST(Arrays, OwnersPackAtTheSameTime) {
    LaunchOptions options = array_options(6);
    options.network = "1gbe";
    options.virtual_time = true;
    launch(options, [] {
        BlockArray<long, 2> a(Box<2>({}, {60, 200}), {ranks(), 1});
        a.for_each([](const Index<2>& i, long& element) { element = value_at(i); });
        barrier();
        if (rank() == 2) {
            const auto column_ns = [&](std::int64_t rows) {
                const Box<2> box({0, 1}, {rows, 2});
                std::vector<long> got(static_cast<std::size_t>(box.size()));
                const std::uint64_t before = now_ns();
                a.get(box, got);
                for (std::int64_t i = 0; i < rows; ++i)
                    EXPECT_EQ(got[static_cast<std::size_t>(i)], value_at(Index<2>{i, 1}));
                return now_ns() - before;
            };
            column_ns(60);  // from now on there are threads that answer
            const std::uint64_t one_owner_ns = column_ns(10);
            EXPECT_LT(column_ns(60), 2 * one_owner_ns);
        }
        barrier();
    });
}

TEST(Arrays, AGatheringWithoutRoomIsOneTheNextTimeToo) {
    if (!NoMoreMemory::is_possible) GTEST_SKIP() << "with a sanitizer";
    launch(array_options(2), [] {
        detail::Gathering gathering;
        const std::vector<std::byte> own(1 << 22);
        std::vector<std::byte> all(2 * own.size());
        barrier();
        std::optional<NoMoreMemory> limit;
        if (rank() == 0) limit.emplace();
        for (int time = 0; time < 2; ++time)
            EXPECT_THROW(gathering.all(own.data(), own.size(), all.data()), Error);
        EXPECT_EQ(gathering.all(rank()), (std::vector<Rank>{0, 1}));
    });
}

}  // namespace
}  // namespace nearfetch

// SPDX-License-Identifier: Apache-2.0
//
// for_each_part against a(i, j), for everything that may be prefetched; in place where that is promised.

#include <nearfetch/array.hpp>

#include "array_rig.hpp"

namespace nearfetch {
namespace {

using Matrix = BlockArray<long, 2>;

void fill(Matrix& a, long round = 0) {
    a.for_each([round](const Index<2>& i, long& element) { element = value_at(i, round); });
    barrier();
}

/// Reads a box by its parts: they cover it once, each has one owner, and values equal a(i, j).
template <class T, std::size_t N>
void check(const BlockArray<T, N>& a, const Box<N>& box) {
    std::multiset<Index<N>> visited, expected;
    Rank last = -1;
    for_each_part(a, box, [&](const Box<N>& part, const auto& element) {
        ASSERT_FALSE(part.empty());
        const Rank owner = a.owner(part.lower);
        ASSERT_GT(owner, last);
        last = owner;
        for_each_index(part, [&](const Index<N>& i) {
            visited.insert(i);
            ASSERT_EQ(a.owner(i), owner);
            ASSERT_EQ(element[i], a.read(i));
            ASSERT_EQ(std::apply(element, i), a.read(i));
        });
    });
    for_each_index(box, [&](const Index<N>& i) { expected.insert(i); });
    EXPECT_EQ(visited, expected);
}

TEST(Parts, AreAllOfABox) {
    for (Rank count = 1; count <= 9; ++count)
        launch(array_options(count), [] {
            std::mt19937 dice(static_cast<unsigned>(rank()));
            for (const Box<2>& bounds : odd_boxes())
                for (const bool consistent : {true, false}) {
                    Matrix a(bounds);
                    fill(a);
                    const auto check_some = [&] {
                        check(a, bounds);
                        for (int n = 0; n < 5; ++n)
                            check(a, random_part(bounds, dice));
                    };
                    check_some();
                    a.prefetch_row_wise({.consistent = consistent});
                    check_some();
                    a.prefetch_all_to_all({.consistent = !consistent});
                    check_some();
                    barrier();
                }
        });
}

TEST(Parts, OfOneAndThreeDimensionsAndElementsOfSeveralWords) {
    struct Three {
        long a, b, c;
        bool operator==(const Three&) const = default;
    };
    launch(array_options(4), [] {
        for (const bool consistent : {true, false}) {
            BlockArray<short, 1> line(Box<1>({-5}, {18}));
            line.for_each([](const Index<1>& i, short& x) { x = static_cast<short>(value_at(i)); });
            BlockArray<Three, 3> cube(Box<3>({0, 1, 2}, {7, 6, 9}));
            cube.for_each([](const Index<3>& i, Three& x) { x = {value_at(i), i[0], i[2]}; });
            barrier();
            line.prefetch_all_to_all({.consistent = consistent});
            cube.prefetch_stencil(2, true, {.consistent = consistent});
            check(line, line.bounds());
            check(cube, cube.bounds());
            check(cube, {{1, 2, 3}, {6, 5, 8}});
            Index<3> far = cube.own_box().lower;
            far[0] = far[0] == 0 ? cube.own_box().upper[0] : far[0] - 1;
            EXPECT_EQ(static_cast<bool>(cube.resident({far, {far[0] + 1, far[1] + 1, far[2] + 1}})),
                      !consistent)
                << "several words are read in place where nobody else brings them anew";
            barrier();
        }
    });
}

TEST(Parts, AreReadWhereTheyAre) {
    launch(array_options(2), [] {
        Matrix a(Box<2>({0, 0}, {10, 20}), {1, 2});
        fill(a);
        const Box<2> own = a.own_box();
        const Box<2> others = rank() == 0 ? Box<2>({0, 10}, {10, 20}) : Box<2>({0, 0}, {10, 10});
        EXPECT_EQ(a.resident(own).elements.data(), a.own(own.lower));
        EXPECT_FALSE(a.resident(others)) << "not prefetched";
        a.prefetch_all_to_all({.consistent = false});
        EXPECT_FALSE(a.resident(a.bounds())) << "not in one piece";
        EXPECT_FALSE(a.resident({})) << "nothing";
        const Resident<long, 2> here = a.resident(others);
        ASSERT_TRUE(here);
        EXPECT_FALSE(here.shared);
        EXPECT_EQ(here.elements(3, 4), value_at(Index<2>{3, others.lower[1] + 4}));
        // A thread outside of the program: any use of the runtime fails there.
        long sum = 0, expected = 0;
        std::thread([&] {
            for_each_part(a, a.bounds(), [&](const Box<2>& part, const auto& element) {
                for_each_index(part, [&](const Index<2>& i) { sum += element[i]; });
            });
        }).join();
        for_each_index(a.bounds(), [&](const Index<2>& i) { expected += value_at(i); });
        EXPECT_EQ(sum, expected);
        barrier();
    });
}

TEST(Parts, HaveTheValuesOfAnAccess) {
    for (const bool consistent : {true, false})
        launch(array_options(2), [consistent] {
            Matrix a({10, 20});
            fill(a);
            a.prefetch_all_to_all({.consistent = consistent});
            check(a, a.bounds());
            barrier();
            fill(a, 1);
            const long round = consistent ? 1 : 0;
            const auto check_others = [&](long expected) {
                for_each_part(a, a.bounds(), [&](const Box<2>& part, const auto& element) {
                    if (a.owner(part.lower) != rank()) {
                        EXPECT_EQ(element[part.lower], value_at(part.lower, expected));
                    }
                });
            };
            check_others(round);
            check(a, a.bounds());
            a.update_prefetch();
            check_others(1);
            barrier();
        });
}

// An access reads the first slice with its element. A box over two different slices may not be taken from
// one.
TEST(Parts, OfSeveralSlicesAreReadAsAnAccessDoes) {
    launch(array_options(2), [] {
        Matrix a(Box<2>({0, 0}, {10, 20}), {1, 2});
        fill(a);
        a.prefetch_all_to_all({.consistent = false});
        a.prefetch_custom({{Box<2>({2, 12}, {5, 17})}, {Box<2>({2, 2}, {5, 7})}});
        barrier();
        fill(a, 1);
        const std::int64_t left = rank() == 0 ? 10 : 0;
        EXPECT_TRUE(a.resident({{2, left + 2}, {5, left + 7}}).shared) << "the consistent one";
        EXPECT_FALSE(a.resident({{2, left + 2}, {6, left + 7}})) << "both";
        EXPECT_TRUE(a.resident({{5, left}, {10, left + 10}})) << "the other one";
        check(a, a.bounds());
        barrier();
    });
}

TEST(Parts, OfALearnedSetAreReadOneByOne) {
    launch(array_options(2), [] {
        Matrix a({10, 20});
        fill(a);
        a.observe();
        long sum = 0;
        for_each_index(a.bounds(), [&](const Index<2>& i) {
            if ((i[0] + i[1]) % 3 == 0) sum += a.read(i);
        });
        EXPECT_NE(sum, 0);
        a.prefetch_observed({.consistent = false});
        check(a, a.bounds());
        barrier();
    });
}

TEST(Parts, OutsideAreErrors) {
    launch(array_options(2), [] {
        Matrix a({10, 20});
        a.prefetch_all_to_all();
        const auto nothing = [](const Box<2>&, const auto&) { FAIL() << "visits something"; };
        EXPECT_THROW(for_each_part(a, {{0, 0}, {11, 20}}, nothing), Error);
        EXPECT_THROW(for_each_part(a, {{-1, 0}, {2, 3}}, nothing), Error);
        EXPECT_THROW(a.resident({{9, 19}, {10, 21}}), Error);
        for_each_part(a, {{3, 5}, {3, 9}}, nothing);
        barrier();
    });
}

TEST(Parts, AreReadWhileOtherThreadsBringThemAnew) {
    launch(array_options(2), [] {
        Matrix a({60, 40});
        a.prefetch_all_to_all();
        for (long round = 0; round < 10; ++round) {
            fill(a, round);
            std::vector<Task> tasks;
            for (int t = 0; t < 3; ++t)
                tasks.push_back(spawn([&a, round] {
                    for (int n = 0; n < 5; ++n) {
                        for_each_part(a, a.bounds(), [&](const Box<2>& part, const auto& element) {
                            for_each_index(
                                part, [&](const Index<2>& i) { ASSERT_EQ(element[i], value_at(i, round)); });
                        });
                        acquire();
                    }
                }));
            for (Task& task : tasks)
                task.join();
            barrier();
        }
    });
}

}  // namespace
}  // namespace nearfetch

// SPDX-License-Identifier: Apache-2.0
//
// Stencil loops against brute force: which elements they visit, and which values the accessors return.

#include <nearfetch/stencil.hpp>

#include "array_rig.hpp"

namespace nearfetch {
namespace {

/// Reads everything within `depth` of each index of a box.
template <std::size_t N>
void check(const Box<N>& bounds, const Box<N>& box, const Stencil& stencil, bool prefetch,
           const Prefetch& how = {}) {
    BlockArray<long, N> of(bounds);
    BlockArray<short, N> to(bounds);
    of.for_each([](const Index<N>& i, long& element) { element = value_at(i); });
    barrier();
    if (prefetch) of.prefetch_stencil(stencil, how);
    Box<N> around;
    for (std::size_t d = 0; d < N; ++d) {
        around.lower[d] = -stencil.depth[d];
        around.upper[d] = stencil.depth[d] + 1;
    }
    std::vector<Index<N>> visited, expected;
    for_each_stencil(to, of, box, stencil, [&](const Index<N>& i, short& element, const auto& at) {
        ASSERT_EQ(&element, to.own(i));
        visited.push_back(i);
        for_each_index(around, [&](const Index<N>& away) {
            Index<N> there = i;
            for (std::size_t d = 0; d < N; ++d)
                there[d] += away[d];
            for (std::size_t d = 0; d < N; ++d)
                if (stencil.periodic[d]) there[d] = wrapped(there, bounds)[d];
            if (bounds.contains(there)) {
                ASSERT_EQ(std::apply(at, away), value_at(there));
            }
        });
    });
    for_each_index(bounds, [&](const Index<N>& i) {
        if (box.contains(i) && to.owner(i) == rank()) expected.push_back(i);
    });
    EXPECT_EQ(visited, expected);
    barrier();
}

TEST(Stencil, SeesWhatIsNear) {
    for (Rank count = 1; count <= 9; ++count)
        for (const std::int64_t depth : {1, 2, 9})
            launch(array_options(count), [depth] {
                std::mt19937 dice(static_cast<unsigned>(depth));
                for (const Box<2>& bounds : odd_boxes())
                    for (const bool prefetch : {true, false}) {
                        check(bounds, {{-100, -100}, {100, 100}}, {depth}, prefetch);
                        check(bounds, random_part(bounds, dice), {depth}, prefetch);
                    }
            });
}

TEST(Stencil, OneAndThreeDimensions) {
    for (const Rank count : {1, 4, 8})
        launch(array_options(count), [] {
            check<1>({{-5}, {18}}, {{-4}, {17}}, {1}, true);
            check<3>({{0, 1, 2}, {7, 6, 9}}, {{1, 2, 3}, {6, 5, 8}}, {1}, true);
        });
}

TEST(Stencil, RowsOfOthers) {
    for (const Rank count : {1, 4, 6, 9})
        launch(array_options(count), [] {
            for (const std::int64_t depth : {1, 3})
                for (const bool consistent : {true, false}) {
                    const Prefetch how{.consistent = consistent};
                    check<2>({{-3, 2}, {11, 65}}, {{-3, 2}, {11, 65}}, {depth}, true, how);
                    check<2>({{-3, 2}, {11, 65}}, {{-1, 5}, {11, 64}}, {depth}, true, how);
                    check<3>({{0, 0, 0}, {6, 7, 30}}, {{0, 0, 0}, {6, 7, 30}}, {depth}, true, how);
                }
            check<2>({{-3, 2}, {11, 65}}, {{-3, 2}, {11, 65}}, {2}, false);
        });
}

TEST(Stencil, Periodic) {
    for (const Rank count : {1, 2, 3, 6, 8})
        for (const std::int64_t depth : {1, 2, 9})
            launch(array_options(count), [depth] {
                const Stencil stencil{.depth = depth, .periodic = true};
                for (const Box<2>& bounds : odd_boxes())
                    check(bounds, bounds, stencil, depth < 9);
                for (const bool consistent : {true, false}) {
                    const Prefetch how{.consistent = consistent};
                    check<1>({{-5}, {18}}, {{-5}, {18}}, stencil, true, how);
                    check<2>({{-3, 2}, {11, 65}}, {{-3, 2}, {11, 65}}, stencil, true, how);
                    if (depth > 2) continue;
                    check<3>({{0, -1, 2}, {6, 5, 30}}, {{0, -1, 2}, {6, 5, 30}}, stencil, true, how);
                }
            });
}

TEST(Stencil, EachDimensionItsOwn) {
    const std::vector<Stencil> in_2d = {{.depth = {1, 3}},
                                        {.depth = {2, 0}, .periodic = {true, false}},
                                        {.depth = {0, 1}, .periodic = {false, true}},
                                        {.depth = {3, 1}, .periodic = {true, true}}};
    const std::vector<Stencil> in_3d = {{.depth = {1, 0, 2}, .periodic = {false, true, false}},
                                        {.depth = {2, 1, 1}, .periodic = {true, false, false}},
                                        {.depth = {0, 2, 3}, .periodic = {true, true, false}}};
    for (const Rank count : {1, 2, 3, 6, 8})
        launch(array_options(count), [&] {
            for (const bool consistent : {true, false}) {
                const Prefetch how{.consistent = consistent};
                for (const Stencil& stencil : in_2d) {
                    for (const Box<2>& bounds : odd_boxes())
                        check(bounds, bounds, stencil, true, how);
                    check<2>({{-3, 2}, {11, 65}}, {{-3, 2}, {11, 65}}, stencil, true, how);
                    check<2>({{-3, 2}, {11, 65}}, {{-1, 5}, {11, 64}}, stencil, false, how);
                }
                for (const Stencil& stencil : in_3d)
                    check<3>({{0, -1, 2}, {6, 5, 30}}, {{0, -1, 2}, {6, 5, 30}}, stencil, true, how);
            }
        });
}

TEST(Stencil, WrongOnesAreNamed) {
    launch(array_options(2), [] {
        BlockArray<long, 2> a({4, 4});
        const auto message = [&](const Stencil& stencil) {
            try {
                a.prefetch_stencil(stencil);
            } catch (const Error& error) {
                return std::string(error.what());
            }
            return std::string("none");
        };
        EXPECT_EQ(message({.depth = {1, 2, 3}}),
                  "a stencil with 3 values of depth (the array has 2 "
                  "dimensions): use one for each, or one for all");
        EXPECT_NE(message({.periodic = {true, true, true, true, true}}).find("5 values of periodic"),
                  std::string::npos);
        EXPECT_NE(message({.depth = {1, -2}}).find("depth -2"), std::string::npos);
        EXPECT_NE(message({.depth = {0, 0}}).find("depth 0"), std::string::npos);
        EXPECT_EQ(message({.depth = {0, 1}}), "none");
    });
}

/// Planes next to own ones: every other row, or all in two slices.
TEST(Stencil, PlanesInSeveralSlices) {
    launch(array_options(4), [] {
        const Box<3> bounds({0, 0, 0}, {8, 9, 20});
        for (const bool consistent : {true, false})
            for (const std::int64_t rows : {1, 5}) {
                BlockArray<long, 3> of(bounds, {4, 1, 1}), to(bounds, {4, 1, 1});
                of.for_each([](const Index<3>& i, long& element) { element = value_at(i); });
                std::vector<std::vector<Box<3>>> table(4);
                for (std::int64_t r = 0; r < 4; ++r)
                    for (const std::int64_t plane : {2 * r - 1, 2 * r + 2})
                        for (std::int64_t row = 0; row < 9; row += rows == 1 ? 2 : rows)
                            table[static_cast<std::size_t>(r)].push_back(
                                {{plane, row, 0}, {plane + 1, std::min<std::int64_t>(row + rows, 9), 20}});
                barrier();
                of.prefetch_custom(table, {.consistent = consistent});
                for_each_stencil(to, of, {{1, 1, 1}, {7, 8, 19}}, 1,
                                 [&](const Index<3>& i, long&, const auto& at) {
                                     const auto [x, y, z] = i;
                                     ASSERT_EQ(at(-1, 0, 0), value_at(Index<3>{x - 1, y, z}));
                                     ASSERT_EQ(at(1, -1, 1), value_at(Index<3>{x + 1, y - 1, z + 1}));
                                     ASSERT_EQ(at(0, 1, -1), value_at(Index<3>{x, y + 1, z - 1}));
                                     ASSERT_EQ(at(-1, 1, 0), value_at(Index<3>{x - 1, y + 1, z}));
                                 });
                barrier();
            }
    });
}

/// Rows that no body reads are not fetched.
TEST(Stencil, OnlyWhatIsAskedForIsFetched) {
    launch(array_options(4), [] {
        BlockArray<long, 2> of(Box<2>({0, 0}, {8, 40}), {4, 1}), to(Box<2>({0, 0}, {8, 40}), {4, 1});
        of.for_each([](const Index<2>& i, long& element) { element = value_at(i); });
        barrier();
        of.prefetch_stencil(1, true, {.static_domain = true});
        const std::uint64_t before = prefetch_statistics().updates;
        const Box<2> inside({1, 1}, {7, 39});
        for_each_stencil(to, of, inside, 1,
                         [&](const Index<2>& i, long&, const auto& at) { ASSERT_EQ(at(0, 0), value_at(i)); });
        EXPECT_EQ(prefetch_statistics().updates, before);
        for_each_stencil(to, of, inside, 1, [&](const Index<2>& i, long&, const auto& at) {
            ASSERT_EQ(at(-1, 1), value_at(Index<2>{i[0] - 1, i[1] + 1}));
        });
        // The first access refreshes all stale slices together.
        const std::uint64_t slices = rank() == 3 ? 1 : 2;
        EXPECT_EQ(prefetch_statistics().updates - before, rank() == 0 ? 0 : slices);
        barrier();
    });
}

TEST(Stencil, OwnElementsAreReadWhereTheyAre) {
    launch(array_options(4), [] {
        BlockArray<long, 2> of({20, 20}), to({20, 20});
        std::int64_t here = 0;
        for_each_stencil(to, of, {{1, 1}, {19, 19}}, 1, [&](const Index<2>& i, long&, const auto& at) {
            using Element = decltype(at(0, 0));
            if constexpr (std::is_reference_v<Element>) {
                ASSERT_EQ(&at(0, 1), of.own({i[0], i[1] + 1}));
                ++here;
            }
        });
        EXPECT_EQ(here, 8 * 8) << "of 10 x 10 the outermost have remote neighbours, or are outermost of all";
        barrier();
    });
}

}  // namespace
}  // namespace nearfetch

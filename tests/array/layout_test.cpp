// SPDX-License-Identifier: Apache-2.0
//
// Layouts against brute force: every index has one owner, and the mapping is invertible, for all grids of 1
// to 9 ranks and uneven shapes.

#include <gtest/gtest.h>

#include <map>
#include <nearfetch/detail/array/slices.hpp>
#include <vector>

namespace nearfetch {
namespace {

template <std::size_t N>
std::vector<std::array<Rank, N>> grids_of(Rank ranks) {
    if constexpr (N == 1) {
        return {{ranks}};
    } else {
        std::vector<std::array<Rank, N>> all;
        for (Rank first = 1; first <= ranks; ++first) {
            if (ranks % first != 0) continue;
            for (const auto& rest : grids_of<N - 1>(ranks / first)) {
                std::array<Rank, N> grid{first};
                std::copy(rest.begin(), rest.end(), grid.begin() + 1);
                all.push_back(grid);
            }
        }
        return all;
    }
}

/// The numbers of each part, as lists: obvious and slow.
std::vector<std::vector<std::int64_t>> dealt(const Block&, std::int64_t size, Rank parts, std::int64_t) {
    std::vector<std::vector<std::int64_t>> hands(static_cast<std::size_t>(parts));
    std::int64_t next = 0;
    for (std::int64_t part = 0; part < parts; ++part)
        for (std::int64_t n = size / parts + (part < size % parts ? 1 : 0); n > 0; --n)
            hands[static_cast<std::size_t>(part)].push_back(next++);
    return hands;
}
std::vector<std::vector<std::int64_t>> dealt(const BlockCyclic&, std::int64_t size, Rank parts,
                                             std::int64_t block) {
    std::vector<std::vector<std::int64_t>> hands(static_cast<std::size_t>(parts));
    std::size_t part = 0;
    for (std::int64_t i = 0; i < size;) {
        for (std::int64_t n = 0; n < block && i < size; ++n)
            hands[part].push_back(i++);
        part = (part + 1) % hands.size();
    }
    return hands;
}
std::vector<std::vector<std::int64_t>> dealt(const Cyclic&, std::int64_t size, Rank parts, std::int64_t) {
    return dealt(BlockCyclic(), size, parts, 1);
}

template <class D>
class Dealing : public ::testing::Test {};
using Distributions = ::testing::Types<Block, Cyclic, BlockCyclic>;
TYPED_TEST_SUITE(Dealing, Distributions);

TEST(Divisor, DividesAsDivisionDoes) {
    const std::int64_t edge = std::int64_t{1} << 32;
    std::vector<std::int64_t> some{0, 1, 2, 3, 5, 7, 63, 64, 65, 1000, 65535, 65537, edge / 3, edge / 2 - 1};
    for (std::int64_t n = 1; n <= 4; ++n)
        some.insert(some.end(), {edge - n, edge - 1 + n});
    some.push_back(INT64_MAX);
    for (const std::int64_t divisor : some) {
        if (divisor == 0) continue;
        for (const std::int64_t x : some)
            // Multiples and their neighbours are the critical values.
            for (const std::int64_t y : {x, x / divisor * divisor, x / divisor * divisor - 1}) {
                if (y < 0) continue;
                const detail::Divisor d(divisor, x);
                ASSERT_EQ(d.quotient(y), y / divisor) << y << " / " << divisor;
                ASSERT_EQ(d.remainder(y), y % divisor);
            }
    }
}

TYPED_TEST(Dealing, OneDimensionAgreesWithBruteForce) {
    static_assert(Distribution<TypeParam>);
    for (std::int64_t size : {0, 1, 2, 3, 5, 8, 9, 10, 17, 31})
        for (Rank parts = 1; parts <= 9; ++parts)
            for (std::int64_t block : {1, 2, 3, 7}) {
                const TypeParam d(size, parts, block);
                const auto hands = dealt(d, size, parts, block);
                std::int64_t seen = 0;
                for (Rank part = 0; part < parts; ++part) {
                    const auto& hand = hands[static_cast<std::size_t>(part)];
                    for (std::size_t local = 0; local < hand.size(); ++local, ++seen) {
                        ASSERT_EQ(d.part(hand[local]), part);
                        ASSERT_EQ(d.local(hand[local]), static_cast<std::int64_t>(local));
                        ASSERT_EQ(d.global(part, static_cast<std::int64_t>(local)), hand[local]);
                    }
                    for (std::int64_t i = 0; i <= size; ++i)
                        ASSERT_EQ(d.below(part, i),
                                  std::count_if(hand.begin(), hand.end(), [&](auto own) { return own < i; }));
                }
                ASSERT_EQ(seen, size);
            }
}

/// Checks all functions of a layout for a box and a grid. \return how many ranks own nothing
template <std::size_t N, class D>
int check(const Box<N>& bounds, const std::array<Rank, N>& grid, const Index<N>& block) {
    const Layout<N, D> layout(bounds, grid, block);
    std::map<std::pair<Rank, Index<N>>, Index<N>> owned;
    for_each_index(bounds, [&](const Index<N>& i) {
        const Location<N> location = layout.locate(i);
        EXPECT_EQ(layout.owner(i), location.rank);
        EXPECT_TRUE(0 <= location.rank && location.rank < layout.ranks());
        EXPECT_EQ(layout.global(location.rank, location.local), i);
        EXPECT_EQ(location.position,
                  detail::position(Box<N>({}, layout.local_shape(location.rank)), location.local));
        EXPECT_TRUE(owned.emplace(std::pair(location.rank, location.local), i).second)
            << "two elements at one place";
    });
    EXPECT_EQ(static_cast<std::int64_t>(owned.size()), bounds.size());
    std::int64_t most = 0;
    int without = 0;
    Box<N> part = bounds;  // out of bounds on one side, cut on the other
    for (std::size_t d = 0; d < N; ++d) {
        part.lower[d] += bounds.extent(d) / 3;
        part.upper[d] += 2;
    }
    for (Rank rank = 0; rank < layout.ranks(); ++rank) {
        const Box<N> local{{}, layout.local_shape(rank)};
        most = std::max(most, local.size());
        without += local.empty();
        const Box<N> own_part = layout.local_part(rank, part);
        EXPECT_EQ(layout.local_part(rank, bounds), local);
        for_each_index(local, [&](const Index<N>& at) {
            const auto found = owned.find(std::pair(rank, at));
            EXPECT_NE(found, owned.end()) << "a hole in what a rank has";
            if (found == owned.end()) return;
            EXPECT_EQ(own_part.contains(at), part.contains(found->second));
            owned.erase(found);
        });
    }
    EXPECT_TRUE(owned.empty()) << "elements outside of a rank's shape";
    EXPECT_EQ(layout.most(), most);
    return without;
}

TYPED_TEST(Dealing, LayoutsOfOneToFourDimensions) {
    int without = 0;
    for (Rank ranks = 1; ranks <= 9; ++ranks) {
        for (const auto& grid : grids_of<1>(ranks))
            for (std::int64_t size : {0, 1, 7, 20})
                without += check<1, TypeParam>({{-3}, {size - 3}}, grid, {2});
        for (const auto& grid : grids_of<2>(ranks))
            for (const Index<2>& shape : {Index<2>{1, 13}, {13, 1}, {2, 2}, {7, 11}, {0, 4}})
                without += check<2, TypeParam>({{1, -5}, {1 + shape[0], shape[1] - 5}}, grid, {2, 3});
        for (const auto& grid : grids_of<3>(ranks))
            for (const Index<3>& shape : {Index<3>{1, 1, 9}, {5, 4, 3}})
                without += check<3, TypeParam>({{0, 2, -1}, {shape[0], 2 + shape[1], shape[2] - 1}}, grid,
                                               {1, 2, 3});
        for (const auto& grid : grids_of<4>(ranks))
            without += check<4, TypeParam>({{0, 1, 2, 3}, {3, 5, 4, 8}}, grid, {1, 1, 2, 2});
    }
    EXPECT_GT(without, 100) << "ranks that own nothing are among the cases";
}

TEST(Grid, IsAsNearToACubeAsItGets) {
    EXPECT_EQ(balanced_grid<1>(7), (std::array<Rank, 1>{7}));
    EXPECT_EQ(balanced_grid<2>(1), (std::array<Rank, 2>{1, 1}));
    EXPECT_EQ(balanced_grid<2>(6), (std::array<Rank, 2>{3, 2}));
    EXPECT_EQ(balanced_grid<2>(7), (std::array<Rank, 2>{7, 1}));
    EXPECT_EQ(balanced_grid<2>(36), (std::array<Rank, 2>{6, 6}));
    EXPECT_EQ(balanced_grid<3>(12), (std::array<Rank, 3>{3, 2, 2}));
    EXPECT_EQ(balanced_grid<3>(64), (std::array<Rank, 3>{4, 4, 4}));
    EXPECT_EQ(balanced_grid<4>(36), (std::array<Rank, 4>{3, 3, 2, 2}));
    EXPECT_THROW(balanced_grid<2>(0), Error);
    for (Rank ranks = 1; ranks <= 64; ++ranks) {
        Rank least = ranks;
        for (const auto& grid : grids_of<3>(ranks))
            least = std::min(least, *std::max_element(grid.begin(), grid.end()));
        const auto grid = balanced_grid<3>(ranks);
        EXPECT_EQ(grid[0] * grid[1] * grid[2], ranks);
        EXPECT_EQ(grid[0], least);
        EXPECT_TRUE(grid[0] >= grid[1] && grid[1] >= grid[2]);
    }
}

TEST(Layouts, WhatMakesNoSenseIsNamed) {
    const auto message = [](const Box<2>& bounds, const std::array<Rank, 2>& grid, const Index<2>& block) {
        try {
            const Layout<2, BlockCyclic> layout(bounds, grid, block);
        } catch (const Error& error) {
            return std::string(error.what());
        }
        return std::string("none");
    };
    EXPECT_EQ(message({{0, 0}, {4, 4}}, {2, 2}, {1, 1}), "none");
    EXPECT_EQ(
        message({{0, 5}, {4, 4}}, {2, 2}, {1, 1}),
        "dimension 1: the bounds 5 to 4 (they name the first index, and the one after the last): use an end "
        "that is not smaller than the beginning");
    EXPECT_NE(message({{INT64_MIN, 0}, {INT64_MAX, 4}}, {2, 2}, {1, 1}).find("dimension 0: the bounds"),
              std::string::npos);
    EXPECT_NE(message({{0, 0}, {4, 4}}, {2, 0}, {1, 1}).find("dimension 1: 0 ranks"), std::string::npos);
    EXPECT_NE(message({{0, 0}, {4, 4}}, {2, 2}, {0, 1}).find("dimension 0: blocks of 0"), std::string::npos);
    EXPECT_NE(message({{0, 0}, {INT64_MAX, 4}}, {2, 2}, {1, 1}).find("63 bits"), std::string::npos);
    EXPECT_NE(message({{0, 0}, {4, 4}}, {1 << 20, 1 << 20}, {1, 1}).find("more ranks"), std::string::npos);
}

TEST(Boxes, WrapIndicesAround) {
    const Box<2> box({-3, 5}, {4, 6});
    for (std::int64_t i = -3; i < 4; ++i)
        for (const std::int64_t round : {-3, -1, 0, 1, 2})
            EXPECT_EQ(wrapped({i + 7 * round, 5 + round}, box), (Index<2>{i, 5}));
}

TEST(Boxes, CutAndContain) {
    const Box<2> box{{0, 0}, {4, 6}};
    EXPECT_EQ(box.size(), 24);
    EXPECT_EQ(box.shape(), (Index<2>{4, 6}));
    EXPECT_TRUE(box.contains(Index<2>{3, 5}));
    EXPECT_FALSE(box.contains(Index<2>{4, 5}));
    EXPECT_FALSE(box.contains(Index<2>{0, -1}));
    EXPECT_TRUE(box.contains(Box<2>{{1, 1}, {4, 6}}));
    EXPECT_FALSE(box.contains(Box<2>{{1, 1}, {5, 6}}));
    EXPECT_TRUE(box.contains(Box<2>{{9, 9}, {9, 12}})) << "it is empty";
    EXPECT_EQ(intersection(box, Box<2>{{2, -3}, {9, 2}}), (Box<2>{{2, 0}, {4, 2}}));
    EXPECT_TRUE(intersection(box, Box<2>{{8, 0}, {9, 2}}).empty());
    std::vector<Index<2>> visited;
    for_each_index(Box<2>{{1, 2}, {3, 4}}, [&](const Index<2>& i) { visited.push_back(i); });
    EXPECT_EQ(visited, (std::vector<Index<2>>{{1, 2}, {1, 3}, {2, 2}, {2, 3}}));
    for_each_index(Box<2>{{1, 2}, {3, 2}}, [&](const Index<2>&) { FAIL() << "an empty box"; });
}

}  // namespace
}  // namespace nearfetch

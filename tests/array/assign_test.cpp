// SPDX-License-Identifier: Apache-2.0
//
// Copies of whole arrays, with their dimensions in any order, and boxes that are distributed over the
// program's memory, against brute force; and the messages that they take.

#include <algorithm>
#include <complex>
#include <cstring>

#include "array_rig.hpp"

namespace nearfetch {
namespace {

template <class D>
class Assign : public ::testing::Test {};
using Distributions = ::testing::Types<Block, Cyclic, BlockCyclic>;
TYPED_TEST_SUITE(Assign, Distributions);

template <std::size_t N>
Box<N> reordered(const Box<N>& box, const Axes<N>& axes) {
    return {detail::reordered(box.lower, axes), detail::reordered(box.upper, axes)};
}

/// Of any bytes, distinct for the indices of a test.
template <class T, std::size_t N>
T element_of(const Index<N>& i) {
    T value{};
    const long number = value_at(i);
    std::memcpy(static_cast<void*>(&value), &number, std::min(sizeof number, sizeof value));
    return value;
}

/// \param grid of the target; the source has a balanced one
template <class T, class To, class From, std::size_t N>
void check_assign(const Box<N>& bounds, const Axes<N>& axes, const std::array<Rank, N>& grid) {
    Index<N> block;
    block.fill(2);
    DistributedArray<T, N, From> from(bounds, balanced_grid<N>(ranks()), block);
    DistributedArray<T, N, To> to(reordered(bounds, axes), grid, block);
    from.for_each([](const Index<N>& i, T& element) { element = element_of<T>(i); });
    to.assign(from, axes);
    for_each_index(bounds, [&](const Index<N>& i) {
        const T seen = to.read(detail::reordered(i, axes)), expected = element_of<T>(i);
        ASSERT_EQ(std::memcmp(&seen, &expected, sizeof(T)), 0);
    });
    barrier();
}

template <std::size_t N>
std::array<Rank, N> grid_of_columns() {
    std::array<Rank, N> grid;
    grid.fill(1);
    grid[N - 1] = ranks();
    return grid;
}

TYPED_TEST(Assign, EveryOrderOfTheDimensions) {
    for (const Rank count : {1, 2, 3, 4, 6})
        launch(array_options(count), [] {
            for (const Box<2>& bounds : odd_boxes())
                for (const Axes<2>& axes : {Axes<2>{0, 1}, Axes<2>{1, 0}}) {
                    check_assign<long, TypeParam, Block>(bounds, axes, balanced_grid<2>(ranks()));
                    check_assign<long, Block, TypeParam>(bounds, axes, grid_of_columns<2>());
                    check_assign<long, TypeParam, Cyclic>(bounds, axes, grid_of_columns<2>());
                }
            Axes<3> axes{0, 1, 2};
            do {
                check_assign<short, TypeParam, Block>(Box<3>({-1, 0, 4}, {2, 5, 6}), axes,
                                                      balanced_grid<3>(ranks()));
                check_assign<short, Block, TypeParam>(Box<3>({-1, 0, 4}, {2, 5, 6}), axes,
                                                      grid_of_columns<3>());
            } while (std::ranges::next_permutation(axes).found);
        });
}

TEST(Assign, ElementsOfAnySize) {
    struct Wide {
        std::byte bytes[24];
    };
    for (const Rank count : {1, 2, 4})
        launch(array_options(count), [] {
            const Box<2> bounds({0, 0}, {37, 21});
            check_assign<char, Block, Block>(bounds, Axes<2>{1, 0}, grid_of_columns<2>());
            check_assign<float, Block, Block>(bounds, Axes<2>{1, 0}, balanced_grid<2>(ranks()));
            check_assign<std::complex<double>, Block, Block>(bounds, Axes<2>{1, 0}, grid_of_columns<2>());
            check_assign<Wide, Block, Block>(bounds, Axes<2>{1, 0}, balanced_grid<2>(ranks()));
            check_assign<int, Block, Block>(Box<4>({}, {3, 4, 2, 5}), Axes<4>{2, 0, 3, 1},
                                            grid_of_columns<4>());
        });
}

struct Moved {
    std::uint64_t messages, calls;
};
Moved moved_by(const std::function<void()>& what) {
    const Statistics before = statistics();
    what();
    const Statistics after = statistics();
    return {after["get_messages"] - before["get_messages"], after["calls"] - before["calls"]};
}

TEST(Assign, LongRowsAreFetchedAndShortOnesPackedByTheirOwner) {
    for (const bool cached : {true, false})
        launch(array_options(2, cached), [] {
            const auto transposed = [](std::int64_t order) {
                DistributedArray<double, 2> a({{}, {order, order}}, {2, 1}), t({{}, {order, order}}, {2, 1});
                a.for_each([](const Index<2>& i, double& x) { x = static_cast<double>(1000 * i[0] + i[1]); });
                const Moved moved = moved_by([&] { t.assign(a, {1, 0}); });
                t.for_each([](const Index<2>& i, double& x) { ASSERT_EQ(x, 1000 * i[1] + i[0]); });
                return moved;
            };
            const Moved rows = transposed(1024);  // of 4 KiB at the owner
            EXPECT_EQ(rows.messages, 512u);
            EXPECT_EQ(rows.calls, 0u);
            const Moved packed = transposed(256);  // 128 rows of 1 KiB: two fragments of 64 KiB
            EXPECT_EQ(packed.messages, 0u);
            EXPECT_EQ(packed.calls, 2u);
            barrier();
        });
}

TEST(Assign, ALargeBoxComesInFragmentsAndASmallOneInOneMessage) {
    for (const bool cached : {true, false})
        launch(array_options(2, cached), [] {
            // Rank 1 has the right half, side by side there, and not in the box that rank 0 reads.
            DistributedArray<long, 2> a({{}, {512, 256}}, {1, 2});
            a.for_each([](const Index<2>& i, long& element) { element = value_at(i); });
            barrier();
            if (rank() == 0)
                for (const auto& [rows, messages] : {std::pair(256, 1), std::pair(512, 8)}) {
                    const Box<2> box({0, 0}, {rows, 256});
                    std::vector<long> got(static_cast<std::size_t>(box.size()), -1);
                    const Moved moved = moved_by([&] { a.get(box, got); });
                    EXPECT_EQ(moved.messages, static_cast<std::uint64_t>(messages)) << rows;
                    EXPECT_EQ(moved.calls, 0u);
                    std::size_t k = 0;
                    for_each_index(box, [&](const Index<2>& i) { ASSERT_EQ(got[k++], value_at(i)); });
                }
            barrier();
        });
}

TEST(Assign, OwnWritesAreSeenInFragments) {
    launch(array_options(2), [] {
        DistributedArray<long, 2> a({{}, {512, 256}}, {1, 2});
        barrier();
        if (rank() == 0) {
            a(300, 200) = 7;  // is still in this rank's cache
            std::vector<long> got(512 * 256, -1);
            a.get(a.bounds(), got);
            EXPECT_EQ(got[300 * 256 + 200], 7);
            EXPECT_EQ(got[300 * 256 + 201], 0);
        }
        barrier();
    });
}

/// The error of assigning to an array of 3 x 4 elements; or "none".
std::string refusal(const std::function<void(BlockArray<long, 2>&)>& assign) {
    try {
        launch(array_options(2), [&] {
            BlockArray<long, 2> a({3, 4});
            a.for_each([](const Index<2>& i, long& element) { element = value_at(i); });
            try {
                assign(a);
            } catch (const Error&) {
                a.for_each([](const Index<2>& i, long& element) { ASSERT_EQ(element, value_at(i)); });
                throw;
            }
        });
    } catch (const Error& error) {
        return error.what();
    }
    return "none";
}

TEST(Assign, ErrorsAreNamedAndChangeNothing) {
    EXPECT_NE(refusal([](auto& a) { a.assign(a, {1, 1}); }).find("each dimension is there once"),
              std::string::npos);
    EXPECT_NE(refusal([](auto& a) { a.assign(a, {0, 2}); }).find("name each of 2"), std::string::npos);
    EXPECT_NE(refusal([](auto& a) {
                  const BlockArray<long, 2> same({3, 4});
                  a.assign(same, {1, 0});
              }).find("other bounds"),
              std::string::npos);
    EXPECT_EQ(refusal([](auto& a) { a.assign(a); }), "none");
    EXPECT_NE(refusal([](auto&) {
                  BlockArray<long, 2> square({3, 3});
                  square.assign(square, {1, 0});
              }).find("use another array"),
              std::string::npos);
    EXPECT_NE(refusal([](auto&) {
                  BlockArray<long, 2> square({3, 3}), other({3, 3});
                  square.assign(other, rank() == 0 ? Axes<2>{1, 0} : Axes<2>{0, 1});
              }).find("assign"),
              std::string::npos);
}

}  // namespace
}  // namespace nearfetch

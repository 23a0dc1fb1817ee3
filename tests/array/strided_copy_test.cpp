// SPDX-License-Identifier: Apache-2.0
//
// Copies of boxes between memory of any strides, against brute force.

#include "array/strided_copy.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace nearfetch::detail {
namespace {

/// Distances of a box whose dimensions are in this order in memory, and the bytes of all of it.
struct Placed {
    Steps steps{};
    std::int64_t bytes = 0;
};

/// \param gap elements that are left free after each row of any dimension
Placed placed(const Index<4>& extent, const std::array<std::size_t, 4>& order, std::int64_t element_bytes,
              std::int64_t gap) {
    Placed result{{}, element_bytes};
    for (std::size_t n = 4; n-- > 0;) {
        result.steps[order[n]] = result.bytes;
        result.bytes = result.bytes * extent[order[n]] + gap * element_bytes;
    }
    return result;
}

TEST(StridedCopy, AMatrixIsTransposed) {
    const short from[2][3] = {{1, 2, 3}, {4, 5, 6}};
    short to[3][2] = {};
    copy_strided(reinterpret_cast<std::byte*>(to), {12, 12, 2, 4}, reinterpret_cast<const std::byte*>(from),
                 {12, 12, 6, 2}, {1, 1, 2, 3}, sizeof(short));
    const short expected[3][2] = {{1, 4}, {2, 5}, {3, 6}};
    EXPECT_TRUE(std::equal(&to[0][0], &to[0][0] + 6, &expected[0][0]));
}

TEST(StridedCopy, AnyOrderAnyExtentAndAnyElement) {
    std::mt19937 dice(1);
    for (int round = 0; round < 2000; ++round) {
        constexpr std::int64_t sizes[] = {1, 2, 3, 4, 8, 12, 16, 24, 64};
        const std::int64_t element_bytes = sizes[dice() % std::size(sizes)];
        Index<4> extent;
        for (std::int64_t& one : extent)
            one = dice() % 3 == 0 ? 1 : dice() % (round % 50 == 0 ? 40 : 9);
        std::array<std::size_t, 4> there{0, 1, 2, 3}, here{0, 1, 2, 3};
        std::ranges::shuffle(there, dice);
        std::ranges::shuffle(here, dice);
        const Placed to = placed(extent, there, element_bytes, dice() % 3);
        const Placed from = placed(extent, here, element_bytes, dice() % 3);
        std::vector<std::byte> source(static_cast<std::size_t>(from.bytes));
        for (std::byte& each : source)
            each = static_cast<std::byte>(dice());
        std::vector<std::byte> seen(static_cast<std::size_t>(to.bytes), std::byte{7}), expected = seen;
        copy_strided(seen.data(), to.steps, source.data(), from.steps, extent,
                     static_cast<std::uint64_t>(element_bytes));
        for_each_index(Box<4>({}, extent), [&](const Index<4>& i) {
            std::int64_t at = 0, of = 0;
            for (std::size_t d = 0; d < 4; ++d) {
                at += i[d] * to.steps[d];
                of += i[d] * from.steps[d];
            }
            std::copy_n(source.begin() + of, element_bytes, expected.begin() + at);
        });
        ASSERT_EQ(seen, expected) << "round " << round;
    }
}

}  // namespace
}  // namespace nearfetch::detail

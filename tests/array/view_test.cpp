// SPDX-License-Identifier: Apache-2.0
//
// Views of local memory and the standard library.

#include <gtest/gtest.h>

#include <algorithm>
#include <nearfetch/detail/array/view.hpp>
#include <numeric>
#include <vector>

namespace nearfetch {
namespace {

static_assert(std::random_access_iterator<View<int, 3>::iterator>);
static_assert(std::ranges::random_access_range<View<const double, 2>>);

TEST(View, GoesThroughItsElementsInTheirOrder) {
    std::vector<int> memory(24);
    std::iota(memory.begin(), memory.end(), 0);
    const View<int, 3> all(memory.data(), {2, 3, 4});
    EXPECT_EQ(all(1, 2, 3), 23);
    EXPECT_TRUE(std::ranges::equal(all, memory));
    const View<int, 3> part = all.sub({{0, 1, 1}, {2, 3, 3}});
    const std::vector<int> expected{5, 6, 9, 10, 17, 18, 21, 22};
    EXPECT_TRUE(std::ranges::equal(part, expected));
    std::vector<int> backwards(std::make_reverse_iterator(part.end()),
                               std::make_reverse_iterator(part.begin()));
    EXPECT_TRUE(std::equal(backwards.rbegin(), backwards.rend(), expected.begin(), expected.end()));
    const auto begin = part.begin();
    for (std::ptrdiff_t i = 0; i < 8; ++i) {
        EXPECT_EQ(begin[i], expected[static_cast<std::size_t>(i)]);
        EXPECT_EQ(*(part.end() - (8 - i)), expected[static_cast<std::size_t>(i)]);
        EXPECT_EQ((begin + i) - begin, i);
    }
    EXPECT_TRUE(std::ranges::equal(all.slice(1, 2), std::vector<int>{8, 9, 10, 11, 20, 21, 22, 23}));
    EXPECT_TRUE(std::ranges::equal(all.at(1).slice(1, 0), std::vector<int>{12, 16, 20}));
}

TEST(View, IsSortedAndFilledThrough) {
    std::vector<int> memory(35);
    for (std::size_t i = 0; i < memory.size(); ++i)
        memory[i] = static_cast<int>(i * 17 % 35);
    const View<int, 2> all(memory.data(), {5, 7});
    std::ranges::sort(all.sub({{1, 2}, {4, 5}}));
    std::vector<int> inner;
    for (std::size_t i = 1; i < 4; ++i)
        for (std::size_t j = 2; j < 5; ++j)
            inner.push_back(memory[7 * i + j]);
    EXPECT_TRUE(std::ranges::is_sorted(inner));
    EXPECT_EQ(std::reduce(all.begin(), all.end()), 34 * 35 / 2) << "nothing else has changed";
    std::ranges::fill(all.slice(1, 6), -1);
    EXPECT_EQ(std::ranges::count(memory, -1), 5);
}

TEST(View, MayBeEmpty) {
    const View<int, 2> none(nullptr, {0, 4});
    EXPECT_TRUE(none.empty());
    EXPECT_EQ(none.begin(), none.end());
    int one = 1;
    const View<int, 2> some(&one, {1, 1});
    EXPECT_TRUE(some.sub({{1, 0}, {1, 1}}).empty());
    EXPECT_THROW(some.sub({{0, 0}, {1, 2}}), Error);
    EXPECT_THROW(some.at(1), Error);
    EXPECT_THROW(some.slice(2, 0), Error);
}

}  // namespace
}  // namespace nearfetch

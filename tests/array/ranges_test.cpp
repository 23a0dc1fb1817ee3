// SPDX-License-Identifier: Apache-2.0
//
// Standard algorithms over elements of all ranks, against the same on a vector.

#include <nearfetch/ranges.hpp>
#include <numeric>

#include "array_rig.hpp"

namespace nearfetch {
namespace {

using Range = ElementRange<long, 2, Block, true>;
using ConstRange = ElementRange<long, 2, Block, false>;
static_assert(std::ranges::random_access_range<Range> && std::ranges::random_access_range<ConstRange>);
static_assert(std::ranges::sized_range<Range> && std::ranges::view<Range>);
static_assert(std::indirectly_writable<Range::iterator, long>);
static_assert(!std::indirectly_writable<ConstRange::iterator, long>);
static_assert(std::sortable<Range::iterator>);

template <class D>
class Ranges : public ::testing::Test {};
using Distributions = ::testing::Types<Block, Cyclic, BlockCyclic>;
TYPED_TEST_SUITE(Ranges, Distributions);

template <class D>
using Array = DistributedArray<long, 2, D>;

/// Runs `body` in the last rank.
template <class Body>
void alone(const Body& body) {
    barrier();
    if (rank() == ranks() - 1) body();
    barrier();
}

/// A box's elements in index order.
template <class D>
std::vector<long> known(const Array<D>& a, const Box<2>& box) {
    std::vector<long> all(box.empty() ? 0 : static_cast<std::size_t>(box.size()));
    a.get_from_owners(box, all);
    return all;
}

TYPED_TEST(Ranges, ReadAsAVectorDoes) {
    for (Rank count = 1; count <= 5; ++count)
        launch(array_options(count), [] {
            std::mt19937 dice(3);
            for (const Box<2>& bounds : odd_boxes()) {
                Array<TypeParam> a(bounds, balanced_grid<2>(ranks()), {2, 3});
                a.for_each([](const Index<2>& i, long& element) { element = value_at(i); });
                const Box<2> part = random_part(bounds, dice);
                alone([&] {
                    for (const Box<2>& box : {bounds, part}) {
                        const std::vector<long> expected = known(a, box);
                        const auto range = elements(std::as_const(a), box);
                        EXPECT_EQ(range.size(), expected.size());
                        EXPECT_TRUE(std::ranges::equal(range, expected));
                        EXPECT_TRUE(
                            std::ranges::equal(std::views::reverse(range), std::views::reverse(expected)));
                        EXPECT_EQ(std::accumulate(range.begin(), range.end(), 0L),
                                  std::accumulate(expected.begin(), expected.end(), 0L));
                        for (std::size_t n = 0; n < expected.size(); ++n) {
                            const auto at = range.begin() + static_cast<std::int64_t>(n);
                            ASSERT_EQ(range[static_cast<std::int64_t>(n)], expected[n]);
                            ASSERT_EQ(value_at(at.index()), expected[n]);
                            ASSERT_EQ(std::ranges::find(range, expected[n]) - range.begin(),
                                      static_cast<std::int64_t>(n));
                        }
                    }
                });
            }
        });
}

TYPED_TEST(Ranges, WriteAsAVectorDoes) {
    for (Rank count = 1; count <= 5; ++count)
        launch(array_options(count), [] {
            for (const Box<2>& bounds : odd_boxes()) {
                Array<TypeParam> a(bounds, balanced_grid<2>(ranks()), {2, 3});
                a.for_each([](const Index<2>& i, long& element) { element = value_at(i) * 7919 % 101; });
                const auto both = [&](const auto& change) {
                    alone([&] {
                        std::vector<long> expected = known(a, a.bounds());
                        change(expected);
                        change(elements(a));
                        EXPECT_TRUE(std::ranges::equal(elements(a), expected));
                    });
                };
                both([](auto&& all) { std::ranges::sort(all); });
                both([](auto&& all) { std::ranges::reverse(all); });
                both([](auto&& all) { std::ranges::transform(all, all.begin(), std::negate<>()); });
                both([](auto&& all) { std::partial_sum(all.begin(), all.end(), all.begin()); });
                both([](auto&& all) {
                    std::ranges::replace_if(all, [](long value) { return value % 2 == 0; }, 7L);
                });
                both([](auto&& all) {
                    for (auto&& element : all)
                        element += 3;
                });
            }
        });
}

TEST(Ranges, OutOfBoundsIsNamed) {
    launch(array_options(2), [] {
        BlockArray<long, 2> a({4, 4});
        try {
            (void)elements(a, {{0, 2}, {4, 5}});
            ADD_FAILURE() << "not refused";
        } catch (const Error& error) {
            EXPECT_NE(std::string(error.what()).find("the array's bounds are"), std::string::npos);
        }
        EXPECT_TRUE(elements(a, {{9, 9}, {9, 9}}).empty());
    });
}

}  // namespace
}  // namespace nearfetch

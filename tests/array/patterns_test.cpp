// SPDX-License-Identifier: Apache-2.0
//
// Each prefetch pattern against brute force: what is prefetched, and the values read, with automatic and
// manual consistency, passive and packing owners, on 1 to 9 ranks and uneven shapes.

#include "array_rig.hpp"

namespace nearfetch {
namespace {

constexpr Prefetch ways[] = {{true, false}, {true, true}, {false, false}, {false, true}};

template <class D>
using Array = DistributedArray<long, 2, D>;

/// Whether the owner of the first element wants the second.
using Wants = bool(const Index<2>&, const Index<2>&);

template <class D>
void set_all(Array<D>& a, long round) {
    barrier();
    a.for_each([&](const Index<2>& i, long& element) { element = value_at(i, round); });
    barrier();
}

/// Prefetched elements have one round's values, all others another's, in boxes and one by one.
template <class D>
void expect_values(const Array<D>& a, long prefetched, long others) {
    std::mt19937 dice(static_cast<unsigned>(rank() + 1));
    for (const Box<2>& box : {a.bounds(), random_part(a.bounds(), dice), random_part(a.bounds(), dice)}) {
        std::vector<long> bulk(static_cast<std::size_t>(box.size()));
        a.get(box, bulk);
        auto element = bulk.begin();
        for_each_index(box, [&](const Index<2>& i) {
            ASSERT_EQ(*element++, value_at(i, a.is_prefetched(i) ? prefetched : others));
        });
        a.get_from_owners(box, bulk);
        element = bulk.begin();
        for_each_index(box, [&](const Index<2>& i) { ASSERT_EQ(*element++, value_at(i, others)); });
    }
    for_each_index(a.bounds(), [&](const Index<2>& i) {
        ASSERT_EQ(a[i], value_at(i, a.is_prefetched(i) ? prefetched : others));
    });
}

/// Exactly these indices are prefetched, except gaps where a distribution is not contiguous.
template <class D>
void expect_prefetched(const Array<D>& a, const std::vector<bool>& wanted) {
    std::size_t k = 0;
    for_each_index(a.bounds(), [&](const Index<2>& i) {
        const bool exact = D::contiguous || wanted[k] || a.own(i) != nullptr;
        ASSERT_TRUE(!exact || a.is_prefetched(i) == wanted[k]);
        ++k;
    });
}

template <class D>
void check_one_way(Array<D>& a, const Prefetch& how, const std::vector<bool>& wanted,
                   const std::function<void(Array<D>&, const Prefetch&)>& prefetch) {
    set_all(a, 1);
    const std::uint64_t before = prefetch_statistics().updates;
    const auto updates = [&] { return prefetch_statistics().updates - before; };
    prefetch(a, how);
    const std::uint64_t entries = prefetch_statistics().entries;
    EXPECT_EQ(updates(), how.consistent ? 0 : entries) << "consistent ones wait until they are read";
    expect_prefetched(a, wanted);
    expect_values(a, 1, 1);
    EXPECT_EQ(updates(), entries) << "once each";
    set_all(a, 2);
    expect_values(a, how.consistent ? 2 : 1, 2);
    a.update_prefetch();
    EXPECT_EQ(updates(), how.consistent ? 3 * entries : 2 * entries);
    expect_values(a, 2, 2);
    EXPECT_EQ(updates(), how.consistent ? 3 * entries : 2 * entries) << "nothing is stale";
    a.evict_prefetch();
    EXPECT_EQ(prefetch_statistics().bytes, 0u);
    for_each_index(a.bounds(), [&](const Index<2>& i) { ASSERT_FALSE(a.is_prefetched(i)); });
    expect_values(a, 2, 2);
}

template <class D>
void check(const std::function<Wants>& wants, const std::function<void(Array<D>&, const Prefetch&)>& prefetch,
           const std::vector<Box<2>>& boxes = odd_boxes()) {
    for (Rank count = 1; count <= 9; ++count)
        launch(array_options(count, count % 4 != 3), [&] {
            for (const Box<2>& bounds : boxes) {
                Array<D> a(bounds, balanced_grid<2>(ranks()), {2, 3});
                std::vector<Index<2>> own;
                for_each_index(bounds, [&](const Index<2>& i) {
                    if (a.own(i) != nullptr) own.push_back(i);
                });
                std::vector<bool> wanted;
                for_each_index(bounds, [&](const Index<2>& i) {
                    const auto by = [&](const Index<2>& o) { return wants(o, i); };
                    wanted.push_back(a.own(i) == nullptr && std::any_of(own.begin(), own.end(), by));
                });
                for (const Prefetch& how : ways)
                    check_one_way(a, how, wanted, prefetch);
            }
        });
}

template <class D>
class Patterns : public ::testing::Test {};
using Distributions = ::testing::Types<Block, Cyclic, BlockCyclic>;
TYPED_TEST_SUITE(Patterns, Distributions);

TYPED_TEST(Patterns, StencilWithCorners) {
    for (const std::int64_t depth : {1, 2, 20})
        check<TypeParam>(
            [=](const Index<2>& own, const Index<2>& i) {
                return std::abs(own[0] - i[0]) <= depth && std::abs(own[1] - i[1]) <= depth;
            },
            [=](auto& a, const Prefetch& how) { a.prefetch_stencil(depth, true, how); });
}

TYPED_TEST(Patterns, StencilWithoutCorners) {
    for (const std::int64_t depth : {1, 3, 20})
        check<TypeParam>(
            [=](const Index<2>& own, const Index<2>& i) {
                return (own[0] == i[0] && std::abs(own[1] - i[1]) <= depth) ||
                       (own[1] == i[1] && std::abs(own[0] - i[0]) <= depth);
            },
            [=](auto& a, const Prefetch& how) { a.prefetch_stencil(depth, false, how); });
}

TYPED_TEST(Patterns, PeriodicStencil) {
    for (const Box<2>& bounds : odd_boxes())
        for (const std::int64_t depth : {1, 3, 20})
            for (const bool corners : {true, false}) {
                // Along a circle there are two ways from an index to another.
                const auto distance = [&](const Index<2>& a, const Index<2>& b, std::size_t d) {
                    const std::int64_t straight = std::abs(a[d] - b[d]);
                    return std::min(straight, bounds.extent(d) - straight);
                };
                const std::function<Wants> wants = [&](const Index<2>& own, const Index<2>& i) {
                    if (corners) return distance(own, i, 0) <= depth && distance(own, i, 1) <= depth;
                    return (own[0] == i[0] && distance(own, i, 1) <= depth) ||
                           (own[1] == i[1] && distance(own, i, 0) <= depth);
                };
                check<TypeParam>(wants,
                                 [=](auto& a, const Prefetch& how) {
                                     a.prefetch_stencil(
                                         {.depth = depth, .corners = corners, .periodic = true}, how);
                                 },
                                 {bounds});
            }
}

TYPED_TEST(Patterns, StencilOfEachDimensionsOwn) {
    for (const Box<2>& bounds : odd_boxes())
        for (const bool corners : {true, false}) {
            const auto distance = [&](const Index<2>& a, const Index<2>& b) {
                const std::int64_t straight = std::abs(a[1] - b[1]);
                return std::min(straight, bounds.extent(1) - straight);
            };
            const std::function<Wants> wants = [&](const Index<2>& own, const Index<2>& i) {
                const std::int64_t rows = std::abs(own[0] - i[0]), columns = distance(own, i);
                if (corners) return rows <= 1 && columns <= 3;
                return (rows == 0 && columns <= 3) || (own[1] == i[1] && rows <= 1);
            };
            check<TypeParam>(wants,
                             [=](auto& a, const Prefetch& how) {
                                 a.prefetch_stencil(
                                     {.depth = {1, 3}, .corners = corners, .periodic = {false, true}}, how);
                             },
                             {bounds});
        }
}

/// A pattern takes only its own along, whatever the order in which patterns leave.
TYPED_TEST(Patterns, LeaveOneByOne) {
    const auto wanted_by = [](const Array<TypeParam>& a, std::int64_t depth) {
        std::set<Index<2>> wanted;
        for_each_index(a.bounds(), [&](const Index<2>& i) {
            bool near = false;
            for_each_index(a.bounds(), [&](const Index<2>& own) {
                near = near || (a.own(own) != nullptr && std::abs(own[0] - i[0]) <= depth &&
                                std::abs(own[1] - i[1]) <= depth);
            });
            if (near && a.own(i) == nullptr) wanted.insert(i);
        });
        return wanted;
    };
    const auto has = [](const Array<TypeParam>& a, const std::set<Index<2>>& wanted) {
        return std::all_of(wanted.begin(), wanted.end(),
                           [&](const Index<2>& i) { return a.is_prefetched(i); });
    };
    for (const bool consistent : {true, false})
        for (const bool outer_leaves_first : {true, false})
            launch(array_options(4), [&] {
                const Prefetch how{.consistent = consistent};
                // Slices of other distributions have gaps, which may be what is far.
                const auto expect_far = [&](const Array<TypeParam>& of) {
                    const bool is_there = has(of, wanted_by(of, 2));
                    EXPECT_TRUE(outer_leaves_first ? is_there : !is_there || !TypeParam::contiguous);
                };
                Array<TypeParam> a(Box<2>({0, 0}, {13, 11}), balanced_grid<2>(ranks()), {2, 3});
                const auto near = wanted_by(a, 1), far = wanted_by(a, 2);
                set_all(a, 1);
                const PrefetchPattern outer = a.prefetch_stencil(1, true, how);
                const std::uint64_t entries = prefetch_statistics().entries;
                const PrefetchPattern inner = a.prefetch_stencil(2, true, how);
                const PrefetchPattern again = a.prefetch_stencil(1, true, how);
                EXPECT_TRUE(has(a, near) && has(a, far));
                a.evict_prefetch(outer_leaves_first ? outer : inner);
                EXPECT_TRUE(has(a, near));
                expect_far(a);
                set_all(a, 2);
                if (!consistent) a.update_prefetch();
                expect_values(a, 2, 2);
                a.resize(Box<2>({0, 0}, {13, 11}));
                EXPECT_TRUE(has(a, near));
                expect_far(a);
                a.evict_prefetch(outer_leaves_first ? inner : outer);
                EXPECT_TRUE(has(a, near)) << "it was called twice";
                EXPECT_EQ(prefetch_statistics().entries, entries);
                a.evict_prefetch(again);
                EXPECT_EQ(prefetch_statistics().entries, 0u);
                a.evict_prefetch(again);
                expect_values(a, 2, 2);
                barrier();
            });
}

/// What is on its way for a pattern that has left is dropped, and the rest arrives.
TEST(Pattern, LeavesWhileItIsFetched) {
    launch(array_options(3), [] {
        BlockArray<long, 1> a({30});
        const PrefetchPattern outer = a.prefetch_stencil(1, true, {.consistent = false});
        const PrefetchPattern inner = a.prefetch_all_to_all({.consistent = false});
        barrier();
        a.for_each([](const Index<1>& i, long& element) { element = value_at(i, 2); });
        barrier();
        {
            PrefetchTransfer transfer = a.update_prefetch_async();
            a.evict_prefetch(inner);
            transfer.wait();
        }
        const std::int64_t next = a.own_box().upper[0] % 30, far = (next + 5) % 30;
        if (rank() < 2) {
            EXPECT_TRUE(a.is_prefetched({next}));
        }
        EXPECT_FALSE(a.is_prefetched({far}));
        EXPECT_EQ(a(next), value_at(Index<1>{next}, 2));
        EXPECT_EQ(a(far), value_at(Index<1>{far}, 2));
        PrefetchTransfer transfer = a.update_prefetch_async();
        a.evict_prefetch(outer);
        EXPECT_THROW(transfer.wait(), Error) << "nothing is left";
        barrier();
    });
}

TYPED_TEST(Patterns, RowWise) {
    check<TypeParam>([](const Index<2>& own, const Index<2>& i) { return own[0] == i[0]; },
                     [](auto& a, const Prefetch& how) { a.prefetch_row_wise(how); });
}

TYPED_TEST(Patterns, ColumnWise) {
    check<TypeParam>([](const Index<2>& own, const Index<2>& i) { return own[1] == i[1]; },
                     [](auto& a, const Prefetch& how) { a.prefetch_column_wise(how); });
}

TYPED_TEST(Patterns, Transpose) {
    check<TypeParam>([](const Index<2>& own, const Index<2>& i) { return own[0] == i[1] && own[1] == i[0]; },
                     [](auto& a, const Prefetch& how) { a.prefetch_transpose(how); });
}

TYPED_TEST(Patterns, AllToAll) {
    for (Rank count = 1; count <= 9; ++count)
        launch(array_options(count), [] {
            for (const Box<2>& bounds : odd_boxes()) {
                Array<TypeParam> a(bounds, balanced_grid<2>(ranks()), {2, 3});
                std::vector<bool> wanted;  // also by ranks that own nothing
                for_each_index(bounds, [&](const Index<2>& i) { wanted.push_back(a.own(i) == nullptr); });
                for (const Prefetch& how : ways)
                    check_one_way<TypeParam>(
                        a, how, wanted, [](auto& b, const Prefetch& how_b) { b.prefetch_all_to_all(how_b); });
            }
        });
}

// Own indices, remote ones, and indices out of bounds, in overlapping boxes.
TYPED_TEST(Patterns, Custom) {
    for (Rank count = 1; count <= 9; ++count)
        launch(array_options(count), [] {
            std::mt19937 dice(5);
            for (const Box<2>& bounds : odd_boxes()) {
                const Box<2> around({bounds.lower[0] - 4, bounds.lower[1] - 4},
                                    {bounds.upper[0] + 4, bounds.upper[1] + 4});
                std::vector<std::vector<Box<2>>> table(static_cast<std::size_t>(ranks()));
                for (auto& row : table)
                    for (int n = 0; n < 3; ++n)
                        row.push_back(random_part(around, dice));
                table.back().clear();
                table.front().push_back(around);
                Array<TypeParam> a(bounds, balanced_grid<2>(ranks()), {2, 3});
                std::vector<bool> wanted;
                for_each_index(bounds, [&](const Index<2>& i) {
                    const auto& mine = table[static_cast<std::size_t>(rank())];
                    wanted.push_back(a.own(i) == nullptr &&
                                     std::any_of(mine.begin(), mine.end(),
                                                 [&](const Box<2>& box) { return box.contains(i); }));
                });
                a.prefetch_custom(table);
                EXPECT_LE(prefetch_statistics().entries, static_cast<std::uint64_t>(ranks() - 1));
                expect_prefetched(a, wanted);
                for (long round = 1; round < 3; ++round) {
                    set_all(a, round);
                    expect_values(a, round, round);
                }
                a.evict_prefetch();
                barrier();
            }
        });
}

TEST(Pattern, BoundsAtTheEndsOfTheNumbers) {
    launch(array_options(3), [] {
        for (const std::int64_t lower : {INT64_MIN, INT64_MAX - 10}) {
            BlockArray<int, 1> a(Box<1>({lower}, {lower + 10}));
            a.for_each([&](const Index<1>& i, int& element) { element = static_cast<int>(i[0] - lower); });
            a.prefetch_stencil(INT64_MAX, true, {.consistent = false});
            for (std::int64_t k = 0; k < 10; ++k) {
                EXPECT_EQ(a(lower + k), k);
                EXPECT_NE(a.is_prefetched({lower + k}), a.own({lower + k}) != nullptr);
            }
            barrier();
        }
    });
}

TEST(Pattern, OtherDimensions) {
    launch(array_options(6), [] {
        BlockArray<int, 1> line({{3}, {20}}, {6});
        line.for_each([](const Index<1>& i, int& element) { element = static_cast<int>(i[0]); });
        line.prefetch_stencil(2, true, {.consistent = false});
        for_each_index(line.bounds(), [&](const Index<1>& i) {
            const Box<1> own = line.own_box();
            const bool in_halo = own.lower[0] - 2 <= i[0] && i[0] < own.upper[0] + 2;
            EXPECT_EQ(line.is_prefetched(i), in_halo && line.own(i) == nullptr);
            EXPECT_EQ(line[i], i[0]);
        });
        BlockArray<int, 3> cube({5, 4, 6});
        cube.for_each([](const Index<3>& i, int& element) { element = static_cast<int>(value_at(i)); });
        cube.prefetch_stencil(1, false);
        cube.prefetch_row_wise({.consistent = false, .static_domain = true});
        const Box<3> own = cube.own_box();
        for_each_index(cube.bounds(), [&](const Index<3>& i) {
            int in_halo = 0, inside = 0;
            for (std::size_t d = 0; d < 3; ++d) {
                inside += own.lower[d] <= i[d] && i[d] < own.upper[d];
                in_halo += own.lower[d] - 1 <= i[d] && i[d] < own.upper[d] + 1;
            }
            const bool row =
                own.lower[0] <= i[0] && i[0] < own.upper[0] && own.lower[1] <= i[1] && i[1] < own.upper[1];
            EXPECT_EQ(cube.is_prefetched(i),
                      cube.own(i) == nullptr && ((in_halo == 3 && inside == 2) || row));
            EXPECT_EQ(cube[i], value_at(i));
        });
        cube.evict_prefetch();
        cube.prefetch_lines(1);
        for_each_index(cube.bounds(), [&](const Index<3>& i) {
            const bool line =
                own.lower[0] <= i[0] && i[0] < own.upper[0] && own.lower[2] <= i[2] && i[2] < own.upper[2];
            EXPECT_EQ(cube[i], value_at(i));
            EXPECT_EQ(cube.is_prefetched(i), cube.own(i) == nullptr && line);
        });
        cube.evict_prefetch();
        cube.prefetch_transpose();
        for_each_index(cube.bounds(), [&](const Index<3>& i) {
            EXPECT_EQ(cube[i], value_at(i));
            EXPECT_EQ(cube.is_prefetched(i), cube.own(i) == nullptr && own.contains({i[1], i[0], i[2]}));
        });
        barrier();
    });
}

TEST(Bulk, GetsWhatIsNotPrefetched) {
    for (const bool consistent : {true, false})
        launch(array_options(3, false), [=] {
            BlockArray<long, 2> a(Box<2>({0, 0}, {30, 8}), {3, 1});
            a.for_each([](const Index<2>& i, long& element) { element = value_at(i); });
            barrier();
            const Prefetch how{.consistent = consistent, .static_domain = true};
            std::vector<std::vector<Box<2>>> table(3, {Box<2>({0, 0}, {30, 3}), Box<2>({8, 3}, {9, 8})});
            a.prefetch_custom(table, how);
            a.update_prefetch();
            const auto get = [&](const Box<2>& box) {
                const Statistics before = statistics();
                std::vector<long> bulk(static_cast<std::size_t>(box.size()));
                a.get(box, bulk);
                auto element = bulk.begin();
                for_each_index(box, [&](const Index<2>& i) { ASSERT_EQ(*element++, value_at(i)); });
                return std::pair(statistics()["get_messages"] - before["get_messages"],
                                 statistics()["get_message_bytes"] - before["get_message_bytes"]);
            };
            using Traffic = std::pair<std::uint64_t, std::uint64_t>;
            EXPECT_EQ(get(Box<2>({0, 0}, {30, 3})), Traffic(0, 0));
            EXPECT_EQ(get(Box<2>({8, 2}, {9, 6})), Traffic(0, 0));
            if (rank() != 0) {
                // Without the prefetched row, but with one between the missing ones.
                EXPECT_EQ(get(Box<2>({7, 0}, {9, 8})), Traffic(1, 5 * sizeof(long)));
                EXPECT_EQ(get(Box<2>({7, 4}, {10, 8})), Traffic(1, 20 * sizeof(long)));
            }
            if (rank() == 0) {
                EXPECT_EQ(get(Box<2>({9, 0}, {11, 8})), Traffic(1, 5 * sizeof(long)));
            }
            barrier();
        });
}

// Stale slices of several owners are fetched together: one message each, as for a get of all.
TEST(Bulk, FetchesWhatIsStaleAtOnce) {
    LaunchOptions options = array_options(9);
    options.network = "aries";
    options.virtual_time = true;
    launch(options, [] {
        BlockArray<long, 1> a({9 * 100}), plain({9 * 100});
        std::vector<long> bulk(900);
        a.prefetch_all_to_all({.static_domain = true});
        a.get(a.bounds(), bulk);
        const auto time_of = [&](const BlockArray<long, 1>& array) {
            barrier();
            const std::uint64_t begin = now_ns();
            const std::uint64_t messages = statistics()["get_messages"];
            array.get(array.bounds(), bulk);
            EXPECT_EQ(statistics()["get_messages"] - messages, 8u);
            return now_ns() - begin;
        };
        EXPECT_LT(time_of(a), 2 * time_of(plain));
        barrier();
    });
}

}  // namespace
}  // namespace nearfetch

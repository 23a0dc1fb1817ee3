// SPDX-License-Identifier: Apache-2.0
//
// Resizing: kept and new elements, prefetched patterns, and memory.

#include "array_rig.hpp"

namespace nearfetch {
namespace {

template <class D>
class Resized : public ::testing::Test {};
using Distributions = ::testing::Types<Block, Cyclic, BlockCyclic>;
TYPED_TEST_SUITE(Resized, Distributions);

/// Another grid of as many ranks, or the same.
std::array<Rank, 2> some_grid(std::mt19937& dice) {
    std::vector<Rank> divisors;
    for (Rank rows = 1; rows <= ranks(); ++rows)
        if (ranks() % rows == 0) divisors.push_back(rows);
    const Rank rows = divisors[dice() % divisors.size()];
    return {rows, ranks() / rows};
}

TYPED_TEST(Resized, KeepsWhatIsInBoth) {
    for (Rank count = 1; count <= 9; ++count)
        launch(array_options(count, count % 2 == 0), [] {
            std::mt19937 same(static_cast<unsigned>(ranks()));
            const std::vector<Box<2>> boxes = odd_boxes();
            DistributedArray<long, 2, TypeParam> a(boxes[3], balanced_grid<2>(ranks()), {2, 3});
            for (long round = 1; round <= 12; ++round) {
                const Box<2> before = a.bounds();
                a.for_each([&](const Index<2>& i, long& element) { element = value_at(i, round); });
                const Box<2> after = boxes[same() % boxes.size()];
                const std::array<Rank, 2> grid = some_grid(same);
                a.resize(after, grid);
                ASSERT_EQ(a.bounds(), after);
                ASSERT_EQ(a.layout().grid(), grid);
                std::int64_t own = 0;
                for_each_index(after, [&](const Index<2>& i) {
                    ASSERT_EQ(a[i], before.contains(i) ? value_at(i, round) : 0);
                    own += a.own(i) != nullptr;
                });
                ASSERT_EQ(a.local().size(), own);
                if (!before.empty() && !after.contains(before)) {
                    EXPECT_THROW(
                        (void)a.read(after.contains(before.lower) ? Index<2>{1000, 0} : before.lower), Error);
                }
                barrier();
            }
        });
}

TYPED_TEST(Resized, PatternsFollow) {
    for (Rank count = 1; count <= 9; ++count)
        for (const bool consistent : {true, false})
            launch(array_options(count), [consistent] {
                std::mt19937 same(static_cast<unsigned>(ranks()) + 77);
                const Prefetch how{.consistent = consistent};
                DistributedArray<long, 2, TypeParam> a(Box<2>({0, 0}, {5, 7}), balanced_grid<2>(ranks()),
                                                       {2, 3});
                a.prefetch_stencil(2, true, how);
                a.prefetch_stencil(2, true, how);
                a.prefetch_row_wise(how);
                std::vector<std::vector<Box<2>>> table(static_cast<std::size_t>(ranks()));
                for (auto& row : table)
                    row = {random_part(Box<2>({-2, -2}, {12, 12}), same),
                           random_part(Box<2>({-2, -2}, {12, 12}), same)};
                a.prefetch_custom(table, how);
                for (long round = 1; round <= 6; ++round) {
                    a.resize(random_part(Box<2>({-3, -3}, {11, 12}), same), some_grid(same));
                    a.for_each([&](const Index<2>& i, long& element) { element = value_at(i, round); });
                    // As if they had been called now.
                    DistributedArray<long, 2, TypeParam> fresh(a.bounds(), a.layout().grid(), {2, 3});
                    fresh.prefetch_stencil(2, true);
                    fresh.prefetch_row_wise();
                    fresh.prefetch_custom(table);
                    a.update_prefetch();
                    const std::uint64_t messages = statistics()["get_messages"];
                    const std::uint64_t updates = prefetch_statistics().updates;
                    for_each_index(a.bounds(), [&](const Index<2>& i) {
                        ASSERT_EQ(a.is_prefetched(i), fresh.is_prefetched(i));
                        if (a.is_prefetched(i)) {
                            ASSERT_EQ(a[i], value_at(i, round));
                        }
                    });
                    EXPECT_EQ(statistics()["get_messages"], messages);
                    EXPECT_EQ(prefetch_statistics().updates, updates);
                    for_each_index(a.bounds(),
                                   [&](const Index<2>& i) { ASSERT_EQ(a[i], value_at(i, round)); });
                    barrier();
                }
                a.evict_prefetch();
                a.resize({4, 4});
                for_each_index(a.bounds(), [&](const Index<2>& i) { EXPECT_FALSE(a.is_prefetched(i)); });
                EXPECT_THROW(a.update_prefetch(), Error);
                barrier();
            });
}

TYPED_TEST(Resized, WhatWasObservedIsRenumbered) {
    for (const Rank count : {2, 3, 6, 9})
        for (const bool is_observed : {true, false})
            launch(array_options(count), [is_observed] {
                std::mt19937 own(static_cast<unsigned>(rank()) + 5);
                DistributedArray<long, 2, TypeParam> a(Box<2>({0, 0}, {9, 8}), balanced_grid<2>(ranks()),
                                                       {2, 1});
                a.observe();
                std::set<Index<2>> wanted;
                for (int n = 0; n < 12; ++n) {
                    const Index<2> i{static_cast<std::int64_t>(own() % 9),
                                     static_cast<std::int64_t>(own() % 8)};
                    (void)a.read(i);
                    if (a.own(i) == nullptr) wanted.insert(i);
                }
                const auto expect_prefetched = [&](const std::set<Index<2>>& elements) {
                    for_each_index(a.bounds(), [&](const Index<2>& i) {
                        ASSERT_EQ(a.is_prefetched(i), elements.contains(i));
                    });
                };
                if (is_observed) a.prefetch_observed();
                for (const Box<2>& bounds : {Box<2>({-4, 1}, {7, 11}), Box<2>({-9, -2}, {6, 7})}) {
                    a.resize(bounds);
                    std::erase_if(wanted, [&](const Index<2>& i) { return !bounds.contains(i); });
                    // New own elements leave the pattern only if it is still observed.
                    if (!is_observed)
                        std::erase_if(wanted, [&](const Index<2>& i) { return a.own(i) != nullptr; });
                    if (is_observed) expect_prefetched(observed_indices(a, wanted, true));
                }
                if (!is_observed) {
                    EXPECT_EQ(a.observed().elements, wanted.size());
                    a.prefetch_observed();
                    expect_prefetched(observed_indices(a, wanted, true));
                }
                barrier();
            });
}

TEST(Resizing, ReusesMemory) {
    launch(array_options(2), [] {
        BlockArray<long, 1> a({250'000});  // a quarter of the first segment
        const auto fill = [](const Index<1>& i, long& element) { element = value_at(i); };
        const auto expect_kept = [&a](std::int64_t kept) {
            for (std::int64_t i = 0; i < a.bounds().size(); i += 997)
                ASSERT_EQ(a(i), i < kept ? value_at(Index<1>{i}) : 0) << i;
        };
        a.for_each(fill);
        const long* const first = a.local().data();
        for (const std::int64_t size : {10, 250'000, 0, 150'000}) {
            a.resize({size});
            EXPECT_TRUE(size == 0 || a.local().data() == first) << "what is there suffices";
        }
        a.for_each(fill);
        a.resize({500'000});  // leaves a gap
        expect_kept(150'000);
        try {
            a.resize({std::int64_t{1} << 50});
            ADD_FAILURE() << "there is no room";
        } catch (const Error& error) {
            EXPECT_NE(std::string(error.what()).find("no memory for 4503599627370496 bytes in each rank"),
                      std::string::npos)
                << error.what();
        }
        expect_kept(150'000);
        BlockArray<long, 1> small({25'000});  // in the gap
        small.fill(7);
        const long* const last = a.local().data();
        a.resize({550'000});
        EXPECT_EQ(a.local().data(), last) << "nothing stands behind it";
        BlockArray<long, 1> in_the_hole({200'000});
        EXPECT_EQ(in_the_hole.sum(), 0) << "given back as zero";
        EXPECT_EQ(small.sum(), 7 * 25'000);
        expect_kept(150'000);
        barrier();
    });
}

TEST(Resizing, GrowsAgainAndAgain) {
    launch(array_options(3), [] {
        BlockArray<long, 1> a({0});
        BlockArray<long, 1> other({10});
        other.fill(3);
        // The sum of all sizes is 9 times the first segment.
        for (std::int64_t size = 2000; size <= 240'000; size += 2000) {
            a.resize({size});
            if (rank() == 0) a(size - 1) = value_at(Index<1>{size});
            barrier();
        }
        for (std::int64_t i = 0; i < 240'000; ++i)
            ASSERT_EQ(a(i), (i + 1) % 2000 == 0 ? value_at(Index<1>{i + 1}) : 0);
        EXPECT_EQ(other.sum(), 30);
        barrier();
    });
}

TEST(Resizing, OtherDimensionsAndBytes) {
    launch(array_options(6), [] {
        BlockCyclicArray<char, 3> a(Box<3>({0, 0, 0}, {3, 4, 5}), {1, 2, 3}, {1, 2, 1});
        a.for_each(
            [](const Index<3>& i, char& element) { element = static_cast<char>(value_at(i) % 127 + 1); });
        a.resize(Box<3>({-1, 1, 2}, {9, 3, 9}), {3, 2, 1});
        for_each_index(a.bounds(), [&](const Index<3>& i) {
            ASSERT_EQ(a[i], Box<3>({0, 0, 0}, {3, 4, 5}).contains(i) ? value_at(i) % 127 + 1 : 0);
        });
        barrier();
    });
}

TEST(Resizing, WithWhatWasOnItsWay) {
    launch(array_options(2), [] {
        BlockArray<long, 1> a({20});
        PrefetchTransfer late = a.prefetch_stencil_async();
        a.resize({30});
        EXPECT_THROW(late.wait(), Error);
        EXPECT_TRUE(a.is_prefetched({rank() == 0 ? 15 : 14})) << "asked for again";
        barrier();
    });
}

TEST(Resizing, WrongUseIsNamed) {
    const auto differ = [&](const std::string& what, const std::function<void(BlockArray<long, 1>&)>& wrong) {
        EXPECT_NE(failure(wrong).find(what), std::string::npos) << failure(wrong);
    };
    differ(" in resize at ", [](auto& a) { a.resize({10 + rank() / 2}); });
    differ("a grid of 2 ranks (the program has 3)", [](auto& a) { a.resize(a.bounds(), {2}); });
    differ("bounds", [](auto& a) { a.resize(Box<1>({3}, {2})); });
    // One rank has evicted, the others have not: an error in all, and no change.
    launch(array_options(3), [] {
        BlockArray<long, 1> a({10});
        a.fill(5);
        a.prefetch_stencil(1, true, {.static_domain = true});
        if (rank() == 0) a.evict_prefetch();
        try {
            a.resize({20});
            ADD_FAILURE() << "static_domain was promised";
        } catch (const Error& error) {
            EXPECT_EQ(std::string(error.what()),
                      "resize: rank 1 has something prefetched with static_domain (that promises that the "
                      "array keeps its bounds): evict_prefetch() first, or do not promise it");
        }
        EXPECT_EQ(a.sum(), 50);
        a.evict_prefetch();
        a.resize({20});
        EXPECT_EQ(a.sum(), 50);
        barrier();
    });
}

// The memory of all arrays of a program together is many times the first segment.
TEST(Memory, OfArraysThatEndedIsUsedAgain) {
    for (Rank count = 1; count <= 5; ++count)
        for (const bool cached : {true, false})
            launch(array_options(count, cached), [] {
                const std::int64_t each = 160'000;  // 1.3 MB of the first segment's 4 MiB
                for (long round = 1; round <= 30; ++round) {
                    BlockArray<long, 1> a({each * ranks()});
                    const Index<1> other{(a.own_box().upper[0] + round) % (each * ranks())};
                    ASSERT_EQ(a.read(other), 0) << "of whatever is in the cache";
                    ASSERT_TRUE(std::ranges::all_of(a.local(), [](long x) { return x == 0; }));
                    barrier();
                    // not released before the array ends
                    a.write(other, round);
                    if (round % 3 == 0) a.prefetch_stencil();
                    if (round % 5 == 0) {
                        EXPECT_GE(a.sum(), 0);
                    }
                }
            });
}

TEST(Memory, IsNotUsedAgainWhileARankHasIt) {
    launch(array_options(3), [] {
        using Array = BlockArray<long, 1>;
        const auto make = [] { return std::make_unique<Array>(Index<1>{3 * 400'000}); };
        auto first = make();  // most of the first segment
        first->fill(7);
        const long* const place = first->local().data();
        if (rank() != 1) first.reset();
        auto second = make();
        EXPECT_NE(second->local().data(), place);
        EXPECT_EQ(second->sum(), 0);
        if (rank() == 1) {
            EXPECT_EQ(*first->local().begin(), 7);
            first.reset();
        }
        auto third = make();
        EXPECT_EQ(third->local().data(), place);
        EXPECT_EQ(third->sum(), 0);
        third->fill(9);
        third.reset();
        // A resize reclaims it too.
        Array small({3 * 5'000});
        small.fill(3);
        small.resize({3 * 400'000});
        EXPECT_EQ(small.local().data(), place);
        EXPECT_EQ(small.sum(), 3 * 3 * 5'000);
        EXPECT_THROW(small.resize({std::int64_t{1} << 50}), Error);
        EXPECT_EQ(small.sum(), 3 * 3 * 5'000);
        barrier();
    });
}

}  // namespace
}  // namespace nearfetch

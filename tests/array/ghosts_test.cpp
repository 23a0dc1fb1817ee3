// SPDX-License-Identifier: Apache-2.0
//
// Contributions to ghosts against brute force: every rank computes all ranks' contributions.

#include <bit>
#include <cmath>

#include "array_rig.hpp"

namespace nearfetch {
namespace {

/// A rank's contributions in order: neighbours of its own elements, some of them repeatedly.
template <class Array, class Contribute>
void contribute_from(Rank who, const Array& a, std::int64_t depth, bool corners, unsigned seed,
                     const Contribute& contribute) {
    std::mt19937 dice(seed + 1000 * static_cast<unsigned>(who));
    for_each_index(a.bounds(), [&](const Index<2>& centre) {
        if (a.owner(centre) != who) return;
        const Box<2> neighbourhood({-depth, -depth}, {depth + 1, depth + 1});
        for_each_index(neighbourhood, [&](const Index<2>& away) {
            if (!corners && away[0] != 0 && away[1] != 0) return;
            const Index<2> i{centre[0] + away[0], centre[1] + away[1]};
            if (a.bounds().contains(i) && dice() % 3 != 0) contribute(i, static_cast<long>(dice() % 1000));
        });
    });
}

template <class D>
class Ghosts : public ::testing::Test {};
using Distributions = ::testing::Types<Block, Cyclic, BlockCyclic>;
TYPED_TEST_SUITE(Ghosts, Distributions);

TYPED_TEST(Ghosts, AreAddedToWhatTheirOwnersHave) {
    for (Rank count = 1; count <= 9; ++count)
        launch(array_options(count, count % 3 != 0), [] {
            for (const Box<2>& bounds : odd_boxes())
                for (const std::int64_t depth : {1, 2, 5}) {
                    const bool corners = depth != 2;
                    DistributedArray<long, 2, TypeParam> a(bounds, balanced_grid<2>(ranks()), {2, 3});
                    std::vector<long> sums(static_cast<std::size_t>(bounds.size()), 0);
                    a.prefetch_stencil(depth, corners, {.consistent = depth != 5});
                    for (unsigned round = 1; round <= 3; ++round) {
                        contribute_from(rank(), a, depth, corners, round,
                                        [&](const Index<2>& i, long value) { a.contribute(i, value); });
                        a.accumulate_ghosts();
                        for (Rank who = 0; who < ranks(); ++who)
                            contribute_from(
                                who, a, depth, corners, round, [&](const Index<2>& i, long value) {
                                    sums[static_cast<std::size_t>(detail::position(bounds, i))] += value;
                                });
                        a.update_prefetch();
                        for_each_index(bounds, [&](const Index<2>& i) {
                            ASSERT_EQ(a[i], sums[static_cast<std::size_t>(detail::position(bounds, i))]);
                        });
                        barrier();
                    }
                }
        });
}

TEST(Ghost, OfOtherPatternsAndWhatWasObserved) {
    launch(array_options(4), [] {
        BlockArray<int, 1> a({40});
        std::vector<std::vector<Box<1>>> table(4, {Box<1>({3}, {5}), Box<1>({20}, {23}), Box<1>({38}, {99})});
        a.prefetch_custom(table);
        a.observe();
        (void)a.read({12});
        a.prefetch_observed();
        for (const std::int64_t i : {3, 22, 39, 12})
            a.contribute({i}, 1);
        a.accumulate_ghosts();
        a.accumulate_ghosts();
        for (std::int64_t i = 0; i < 40; ++i)
            EXPECT_EQ(a(i), i == 3 || i == 22 || i == 39 || i == 12 ? 4 : 0) << i;
        barrier();
    });
}

// Sums remember their owner and slice.
TEST(Ghost, SurvivesAnEviction) {
    launch(array_options(3), [] {
        BlockArray<long, 1> a({9});
        for (int n = 0; n < 3; ++n) {
            a.prefetch_stencil(1 + n);
            for (std::int64_t i = 0; i < 9; ++i)
                if (a.is_prefetched({i})) a.contribute({i}, 1);
            a.evict_prefetch();
            EXPECT_THROW(a.contribute({rank() == 0 ? 8 : 0}, 1), Error);
        }
        a.accumulate_ghosts();
        const long expected[] = {1, 2, 3, 4, 4, 4, 3, 2, 1};
        for (std::int64_t i = 0; i < 9; ++i)
            EXPECT_EQ(a(i), expected[i]) << i;
        barrier();
    });
}

TEST(Ghost, AMessageForEachNeighbour) {
    for (const bool cached : {true, false})
        launch(array_options(9, cached), [] {
            BlockArray<long, 2> a({30, 30});  // 3 x 3 ranks
            a.prefetch_stencil(2);
            const std::array<Rank, 2> at = a.layout().coordinates(rank());
            const auto neighbours = [](Rank coordinate) { return coordinate == 1 ? 3u : 2u; };
            for (int round = 0; round < 3; ++round) {
                std::uint64_t cells = 0;
                for_each_index(a.bounds(), [&](const Index<2>& i) {
                    if (!a.is_prefetched(i)) return;
                    a.contribute(i, 1);
                    ++cells;
                });
                const auto width = [&](Rank coordinate) { return 10 + 2 * (neighbours(coordinate) - 1); };
                EXPECT_EQ(cells, width(at[0]) * width(at[1]) - 100);
                const std::uint64_t gets = statistics()["get_messages"];
                const std::uint64_t puts = statistics()["put_messages"];
                a.accumulate_ghosts();
                // Besides the message with the sums, which is no PUT: the announcement.
                EXPECT_EQ(statistics()["put_messages"] - puts, neighbours(at[0]) * neighbours(at[1]) - 1);
                EXPECT_EQ(statistics()["get_messages"], gets);
            }
            // At the corners, the edges and the middle.
            EXPECT_EQ(a.sum(), 3 * (4 * (12 * 12 - 100) + 4 * (12 * 14 - 100) + 14 * 14 - 100));
        });
}

// Numbers whose sum depends on the order; random delays.
TEST(Ghost, SumsDoNotDependOnTiming) {
    std::vector<std::vector<std::uint64_t>> results;
    for (const std::uint64_t seed : {1, 2, 3}) {
        LaunchOptions options = array_options(5);
        options.network = "aries";
        options.virtual_time = true;
        options.jitter_ns = 20'000;
        options.seed = seed;
        results.emplace_back();
        launch(options, [&] {
            BlockArray<double, 1> a({10});
            a.prefetch_all_to_all();
            const auto value = [](Rank who, std::int64_t i) {
                return std::ldexp(1.0 + 1.0 / static_cast<double>(3 + who),
                                  static_cast<int>((7 * who + i) % 60));
            };
            for (std::int64_t i = 0; i < 10; ++i)
                a.contribute({i}, value(rank(), i));
            a.accumulate_ghosts();
            if (rank() == 0)
                for (std::int64_t i = 0; i < 10; ++i) {
                    double expected = value(a.owner({i}), i);
                    for (Rank who = 0; who < ranks(); ++who)
                        if (who != a.owner({i})) expected += value(who, i);
                    EXPECT_EQ(a(i), expected) << "own, then the others in their order";
                    results.back().push_back(std::bit_cast<std::uint64_t>(a.read({i})));
                }
            barrier();
        });
    }
    EXPECT_EQ(results[0], results[1]);
    EXPECT_EQ(results[0], results[2]);
}

// Elements without +=.
TEST(Ghost, AreAddedAsTheProgramSays) {
    struct Count {
        long value;
    };
    launch(array_options(3), [] {
        BlockArray<Count, 1> a({9});
        const auto add = [](Count& sum, const Count& more) { sum.value += more.value; };
        a.prefetch_stencil(2);
        for (std::int64_t i = 0; i < 9; ++i)
            if (a.own({i}) != nullptr || a.is_prefetched({i})) a.contribute({i}, Count{i}, add);
        a.accumulate_ghosts(add);
        const long times[] = {1, 2, 2, 2, 3, 2, 2, 2, 1};
        for (std::int64_t i = 0; i < 9; ++i)
            EXPECT_EQ(a.read({i}).value, times[i] * i);
        barrier();
    });
}

// Contributions are kept until all ranks agree, and the rounds are summed.
TEST(Ghost, AreSentAgainWhereACallWasRefused) {
    for (const bool first : {true, false})
        launch(array_options(2), [=] {
            BlockArray<long, 1> a({4}), b({4});
            a.prefetch_stencil();
            b.prefetch_stencil();
            if (!first) a.accumulate_ghosts();
            const std::int64_t beyond = rank() == 0 ? 2 : 1;
            for (long round = 1; round <= 3; ++round) {
                a.contribute({beyond}, 1);
                b.contribute({beyond}, 10);
                for (int n = 0; n < round; ++n)
                    if (rank() == 0)
                        EXPECT_THROW(a.accumulate_ghosts(), Error);
                    else
                        EXPECT_THROW(a.fill(-1), Error);
                EXPECT_EQ(a.sum(), 2 * (round - 1)) << "neither is done";
                b.accumulate_ghosts();
                a.accumulate_ghosts();
                for (std::int64_t i = 0; i < 4; ++i) {
                    EXPECT_EQ(a(i), i == 1 || i == 2 ? round : 0) << i;
                    EXPECT_EQ(b(i), i == 1 || i == 2 ? 10 * round : 0) << i;
                }
                barrier();
            }
        });
}

TEST(Ghost, WrongUseIsNamed) {
    launch(array_options(2), [] {
        BlockArray<long, 1> a({10});
        a.prefetch_stencil();
        const auto message = [&](const std::function<void()>& wrong) {
            try {
                wrong();
            } catch (const Error& error) {
                return std::string(error.what());
            }
            return std::string("none");
        };
        const std::int64_t beyond = rank() == 0 ? 6 : 3;
        EXPECT_EQ(message([&] { a.contribute({beyond}, 1); }),
                  "contribute: index (" + std::to_string(beyond) +
                      ") is neither own nor prefetched (contributions are kept for what a pattern has asked "
                      "for): prefetch_stencil() with a depth that has it");
        EXPECT_NE(message([&] { a.contribute({10}, 1); }).find("the array's bounds"), std::string::npos);
        if (rank() == 1) a.contribute({4}, 8);
        const std::string pending = message([&] { a.resize({12}); });
        EXPECT_EQ(pending,
                  "resize: rank 1 has contributions to elements of others (they would be lost): "
                  "accumulate_ghosts() first");
        a.accumulate_ghosts();
        a.resize({12});
        EXPECT_EQ(a(4), 8);
        barrier();
    });
    EXPECT_NE(failure([](auto& a) {
                  if (rank() == 0)
                      a.accumulate_ghosts();
                  else
                      a.fill(1);
              }).find(" in accumulate_ghosts at "),
              std::string::npos);
}

}  // namespace
}  // namespace nearfetch

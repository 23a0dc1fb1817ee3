// SPDX-License-Identifier: Apache-2.0
//
// Gathers: the k-th value is the array's element at the k-th index at the update, for all indices,
// distributions and numbers of ranks. Each element travels once, in one message from each owner that packs.

#include <nearfetch/gather.hpp>
#include <nearfetch/sparse.hpp>
#include <numeric>

#include "array_rig.hpp"

namespace nearfetch {
namespace {

using Indices = std::vector<std::int64_t>;

template <class D>
void set_all(DistributedArray<long, 1, D>& a, long round) {
    barrier();
    a.for_each([&](const Index<1>& i, long& element) { element = value_at(i, round); });
    barrier();
}

template <class D>
void expect_round(const Gather<long, D>& gathered, const Indices& indices, long round) {
    ASSERT_EQ(gathered.size(), indices.size());
    for (std::size_t k = 0; k < indices.size(); ++k)
        ASSERT_EQ(gathered[k], value_at(Index<1>{indices[k]}, round)) << indices[k];
}

/// Random indices, many of them repeated.
Indices random_indices(const Box<1>& bounds, std::mt19937& dice) {
    if (bounds.empty()) return {};
    std::uniform_int_distribution<std::int64_t> any(bounds.lower[0], bounds.upper[0] - 1);
    Indices indices(std::uniform_int_distribution<std::size_t>(0, 60)(dice));
    for (std::int64_t& i : indices)
        i = any(dice);
    return indices;
}

template <class D>
void check_gathers(const Box<1>& bounds, const Index<1>& block, unsigned seed) {
    DistributedArray<long, 1, D> a(bounds, {ranks()}, block);
    std::mt19937 dice(seed + static_cast<unsigned>(rank()));
    const Indices some = random_indices(bounds, dice);
    Indices all(static_cast<std::size_t>(bounds.size()));
    std::iota(all.rbegin(), all.rend(), bounds.lower[0]);  // descending
    Gather near_some(a, some), near_all(a, all);
    for (long round = 1; round <= 3; ++round) {
        set_all(a, round);
        near_some.update();
        expect_round(near_some, some, round);
        if (round == 2) continue;
        near_all.update();
        expect_round(near_all, all, round);
    }
    barrier();
}

TEST(ArrayGather, HasWhatTheIndicesMeanInAllDistributions) {
    for (Rank count = 1; count <= 9; ++count)
        for (const auto& [first, end] : {std::pair{0, 1}, {0, 7}, {-40, 60}, {5, 5}, {3, 400}})
            launch(array_options(count), [&] {
                const Box<1> bounds({first}, {end});
                const auto seed = static_cast<unsigned>(100 * count + end);
                check_gathers<Block>(bounds, {1}, seed);
                check_gathers<Cyclic>(bounds, {1}, seed);
                check_gathers<BlockCyclic>(bounds, {3}, seed);
            });
}

// Ten elements, five per rank.
TEST(ArrayGather, IsACopyOfThatMoment) {
    launch(array_options(2), [] {
        BlockArray<long, 1> a({10});
        set_all(a, 1);
        const Indices indices{9, 0, 9, 5};
        Gather gathered(a, indices);
        for (std::size_t k = 0; k < gathered.size(); ++k)
            EXPECT_EQ(gathered[k], 0) << "nothing was brought yet";
        gathered.update();
        expect_round(gathered, indices, 1);
        set_all(a, 2);
        expect_round(gathered, indices, 1);
        gathered.update();
        expect_round(gathered, indices, 2);
        barrier();
        // This holds for own writes too; puts of the rank itself are fetched.
        if (rank() == 0) {
            a(0) = -1;
            a(9) = -9;
            EXPECT_EQ(gathered[1], value_at(Index<1>{0}, 2));
            gathered.update();
            EXPECT_EQ(gathered[1], -1);
            EXPECT_EQ(gathered[0], -9);
        }
        barrier();
    });
}

// Of 20,000 elements each rank needs the other one's 40th, 44th, ... up to the 19,960th.
TEST(ArrayGather, WhereAtLeastAFourthIsWantedEitherTheOwnerPacksItOrAllComes) {
    launch(array_options(2), [] {
        BlockArray<long, 1> a({40'000});
        Indices indices;
        for (std::int64_t i = 40; i <= 19'960; i += 4)
            indices.push_back(i + 20'000 * (1 - rank()));
        Gather gathered(a, indices);
        EXPECT_EQ(gathered.elements().size(), 19'960u - 40 + 1) << "they stand as they do at their owner";
        std::vector<std::uint64_t> gets;
        for (long round = 1; round <= 6; ++round) {
            set_all(a, round);
            const std::uint64_t before = statistics()["get_messages"];
            gathered.update();
            gets.push_back(statistics()["get_messages"] - before);
            expect_round(gathered, indices, round);
            barrier();
        }
        EXPECT_EQ(gets[0], 0u) << "the owner has packed them";
        EXPECT_EQ(gets[1], 1u) << "all have come";
    });
}

TEST(ArrayGather, FetchesEachElementOnceAndALittleBetween) {
    launch(array_options(2), [] {
        BlockArray<long, 1> a({2000});
        set_all(a, 1);
        // Of rank 1: 1000 twice, 1003 (with the gap of two), 1900; of rank 0: 5.
        const Indices indices{1900, 5, 1000, 1003, 1000};
        Gather gathered(a, indices);
        EXPECT_EQ(gathered.elements().size(), 1u + 4 + 1);
        EXPECT_EQ(std::vector<std::uint32_t>(gathered.positions().begin(), gathered.positions().end()),
                  (std::vector<std::uint32_t>{5, 0, 1, 4, 1}));
        const std::uint64_t gets = statistics()["get_messages"];
        gathered.update();
        expect_round(gathered, indices, 1);
        // 1900 is too far away for a covering GET
        EXPECT_EQ(statistics()["get_messages"] - gets, rank() == 0 ? 2u : 1u);
        EXPECT_EQ(prefetch_statistics().entries, 0u);
        barrier();
    });
}

TEST(ArrayGather, OfAMatrixHasWhatItsColumnsMean) {
    launch(array_options(3), [] {
        constexpr std::int64_t n = 12;
        std::vector<Triplet<double>> own;
        for (const auto [first, end] = SparseMatrix<double>::rows_of(rank(), n);
             std::int64_t row : {first, end - 1})
            own.push_back({row, (5 * row + 3) % n, 2.0});
        const SparseMatrix<double> matrix(n, n, own);
        BlockArray<double, 1> x({n});
        x.for_each([](const Index<1>& i, double& element) { element = 100.0 + static_cast<double>(i[0]); });
        barrier();
        const auto local = matrix.local();
        Gather gathered(x, local.columns);
        gathered.update();
        ASSERT_EQ(gathered.size(), 2u);
        for (std::size_t k = 0; k < gathered.size(); ++k)
            EXPECT_EQ(gathered[k], 100.0 + static_cast<double>(local.columns[k]));
        barrier();
    });
}

TEST(ArrayGather, ElementsOfAnySize) {
    struct Odd {
        char bytes[13];
    };
    launch(array_options(2), [] {
        BlockArray<Odd, 1> a({40});
        a.for_each([](const Index<1>& i, Odd& element) { element.bytes[12] = static_cast<char>(i[0]); });
        barrier();
        const Indices indices{39, 1, 20, 22};
        Gather gathered(a, indices);
        gathered.update();
        for (std::size_t k = 0; k < indices.size(); ++k)
            EXPECT_EQ(gathered[k].bytes[12], static_cast<char>(indices[k]));
        barrier();
    });
}

/// Random ones, many of them repeated.
template <std::size_t N>
std::vector<Index<N>> random_indices_of(const Box<N>& bounds, std::mt19937& dice) {
    std::vector<Index<N>> indices(dice() % 60);
    for (Index<N>& i : indices)
        for (std::size_t d = 0; d < N; ++d)
            i[d] = bounds.lower[d] + static_cast<std::int64_t>(dice()) % bounds.extent(d);
    return indices;
}

template <class D>
void check_dimensions(const Index<3>& block, unsigned seed) {
    const Box<3> bounds({-2, 5, 0}, {5, 9, 3});
    DistributedArray<long, 3, D> a(bounds, balanced_grid<3>(ranks()), block);
    DistributedArray<long, 3, D> rows(bounds, {ranks(), 1, 1}, block);
    std::mt19937 dice(seed + static_cast<unsigned>(rank()));
    const std::vector<Index<3>> indices = random_indices_of(bounds, dice);
    const std::vector<Index<2>> heads = random_indices_of(Box<2>({-2, 5}, {5, 9}), dice);
    Gather elements(a, indices);
    Gather<Row<long>, D, 2> whole(rows, heads);
    for (long round = 1; round <= 3; ++round) {
        barrier();
        for (auto* array : {&a, &rows})
            array->for_each([&](const Index<3>& i, long& element) { element = value_at(i, round); });
        barrier();
        elements.update();
        whole.update();
        ASSERT_EQ(elements.size(), indices.size());
        for (std::size_t k = 0; k < indices.size(); ++k)
            ASSERT_EQ(elements[k], value_at(indices[k], round));
        for (std::size_t k = 0; k < heads.size(); ++k) {
            ASSERT_EQ(whole[k].size(), 3u);
            for (std::size_t n = 0; n < 3; ++n)
                ASSERT_EQ(whole[k][n],
                          value_at(Index<3>{heads[k][0], heads[k][1], static_cast<std::int64_t>(n)}, round));
        }
    }
    barrier();
}

TEST(ArrayGather, IndicesOfSeveralDimensions) {
    for (const Rank count : {1, 2, 3, 4})
        launch(array_options(count), [] {
            for (const unsigned seed : {1u, 2u, 3u}) {
                check_dimensions<Block>({1, 1, 1}, seed);
                check_dimensions<Cyclic>({1, 1, 1}, seed);
                check_dimensions<BlockCyclic>({2, 1, 2}, seed);
            }
            BlockArray<long, 2> a({4, 6});
            EXPECT_THROW(Gather(a, std::vector<Index<2>>{{0, 6}}), Error);
            EXPECT_THROW(Gather(a, std::vector<Index<2>>{{-1, 0}}), Error);
            EXPECT_EQ(Gather(a, std::vector<Index<2>>{}).size(), 0u);
        });
}

template <class D>
void check_rows(const Index<2>& block) {
    DistributedArray<long, 2, D> a(Box<2>({-2, 5}, {9, 8}), {ranks(), 1}, block);
    const Indices rows{8, -2, 3, 8, 0, 1};
    Gather<Row<long>, D> gathered(a, rows);
    EXPECT_EQ(gathered.elements().size() % 3, 0u) << "rows are whole";
    for (long round = 1; round <= 2; ++round) {
        barrier();
        a.for_each([&](const Index<2>& i, long& element) { element = value_at(i, round); });
        barrier();
        gathered.update();
        ASSERT_EQ(gathered.size(), rows.size());
        for (std::size_t k = 0; k < rows.size(); ++k) {
            ASSERT_EQ(gathered[k].size(), 3u);
            for (std::size_t column = 0; column < 3; ++column)
                EXPECT_EQ(gathered[k][column],
                          value_at(Index<2>{rows[k], 5 + static_cast<std::int64_t>(column)}, round));
        }
    }
    barrier();
}

TEST(ArrayGather, OfRowsHasThemWhole) {
    for (const Rank count : {1, 2, 3, 5})
        launch(array_options(count), [] {
            check_rows<Block>({1, 1});
            check_rows<Cyclic>({1, 1});
            check_rows<BlockCyclic>({2, 3});
            BlockArray<long, 2> columns(Box<2>({0, 0}, {4, 6}), {1, ranks()});
            if (ranks() > 1)
                EXPECT_THROW((Gather<Row<long>, Block>(columns, Indices{0})), Error);
            else
                EXPECT_EQ((Gather<Row<long>, Block>(columns, Indices{0})).size(), 1u);
        });
}

TEST(ArrayGather, NamesWhatIsWrong) {
    for (const std::int64_t outside : {-1, 10})
        EXPECT_NE(failure([=](auto& a) {
                      Gather(a, Indices{3, outside});
                  }).find("(" + std::to_string(outside) + ")"),
                  std::string::npos);
    EXPECT_EQ(failure([](auto& a) {
                  Gather gathered(a, Indices{3});
                  gathered.update();
                  a.resize({11});
                  gathered.update();
              }).find("Gather: the array was resized (who has its elements"),
              0u);
    EXPECT_THROW(detail::check_gathered((std::uint64_t{1} << 32) + 1), Error);
    EXPECT_NO_THROW(detail::check_gathered(std::uint64_t{1} << 32));
}

}  // namespace
}  // namespace nearfetch

// SPDX-License-Identifier: Apache-2.0
//
// Products of a sparse matrix with a vector: the same result on every path of the vector's elements, namely
// that of x(j). The path is counted.

#include <nearfetch/sparse.hpp>

#include "array_rig.hpp"

namespace nearfetch {
namespace {

using Matrix = SparseMatrix<long>;
using Vector = BlockArray<long, 1>;

std::uint64_t replica_reads() { return prefetch_statistics().replica_reads; }

constexpr Prefetch ways[] = {{true, false}, {true, true}, {false, false}, {false, true}};

/// About one of `rarely` indices of the rows that this rank owns.
std::vector<Triplet<long>> random_rows(const Index<2>& shape, unsigned rarely, unsigned seed) {
    std::mt19937 dice(seed + static_cast<unsigned>(rank()));
    std::vector<Triplet<long>> own;
    const auto [first, end] = Matrix::rows_of(rank(), shape[0]);
    for_each_index(Box<2>({first, 0}, {end, shape[1]}), [&](const Index<2>& i) {
        if (dice() % rarely == 0) own.push_back({i[0], i[1], value_at(i) % 1000});
    });
    return own;
}

template <class D>
void set_all(DistributedArray<long, 1, D>& x, long round) {
    barrier();
    x.for_each([&](const Index<1>& i, long& element) { element = value_at(i, round); });
    barrier();
}

/// Own rows of A x, element by element.
template <class X>
std::vector<long> product(const Matrix& a, const X& x) {
    std::vector<long> sums;
    for (auto [i, end] = a.own_rows(); i < end; ++i) {
        const SparseRow<const long> row = a.row(i);
        sums.push_back(0);
        for (std::size_t k = 0; k < row.columns.size(); ++k)
            sums.back() += row.values[k] * x(row.columns[k]);
    }
    return sums;
}

/// What add_product() adds to non-zero elements. \param x a vector or a Gather
template <class X>
std::vector<long> added(const Matrix& a, const X& x, Vector& y) {
    y.for_each([](const Index<1>& i, long& element) { element = 7 * i[0] + 3; });
    a.add_product(y, x);
    std::vector<long> sums;
    y.for_each([&](const Index<1>& i, const long& element) { sums.push_back(element - 7 * i[0] - 3); });
    return sums;
}

auto of_round(long round) {
    return [round](std::int64_t j) { return value_at(Index<1>{j}, round); };
}

// 1 . 2       x = (10, 20, 30); rows 0 and 1 are rank 0's, and so are x(0) and x(1)
// . 3 .
// 4 . 5
TEST(SparseProduct, OfThreeByThree) {
    launch(array_options(2), [] {
        using Triplets = std::vector<Triplet<long>>;
        Matrix a(3, 3,
                 rank() == 0 ? Triplets{{0, 0, 1}, {0, 2, 2}, {1, 1, 3}} : Triplets{{2, 0, 4}, {2, 2, 5}});
        Vector x({3}), y({3});
        x.for_each([](const Index<1>& i, long& element) { element = 10 * (i[0] + 1); });
        y.for_each([](const Index<1>&, long& element) { element = 1; });
        barrier();
        a.add_product(y, x);
        EXPECT_EQ(replica_reads(), 0u);
        x.prefetch_all_to_all();
        a.add_product(y, x);
        EXPECT_EQ(replica_reads(), 1u);
        barrier();
        EXPECT_EQ(y(0), 1 + 2 * 70);
        EXPECT_EQ(y(1), 1 + 2 * 60);
        EXPECT_EQ(y(2), 1 + 2 * 190);
        barrier();
    });
}

TEST(SparseProduct, ReadsWhatAnAccessReads) {
    for (Rank count = 1; count <= 9; ++count)
        for (const Index<2>& shape : {Index<2>{0, 5}, {5, 0}, {1, 13}, {13, 1}, {3, 8}, {20, 17}, {40, 60}})
            for (const Prefetch& how : ways)
                launch(array_options(count, count % 4 != 3), [&] {
                    Matrix a(shape[0], shape[1], random_rows(shape, 3, 5));
                    Vector x({shape[1]}), y({shape[0]});
                    set_all(x, 1);
                    ASSERT_EQ(added(a, x, y), product(a, of_round(1)));
                    x.prefetch_all_to_all(how);
                    const bool has_replica = count > 1 && x.own_box().size() < x.bounds().size() * 3 / 4;
                    for (long round = 2; round <= 4; ++round) {
                        set_all(x, round);
                        const std::uint64_t reads = replica_reads();
                        if (!how.consistent) {
                            // Own elements are new, prefetched ones as of the last update.
                            const auto old = [&](std::int64_t j) {
                                return of_round(x.layout().owner({j}) == rank() ? round : round - 1)(j);
                            };
                            ASSERT_EQ(added(a, x, y), product(a, old));
                            x.update_prefetch();
                        }
                        ASSERT_EQ(added(a, x, y), product(a, of_round(round)));
                        const std::uint64_t gets = statistics()["get_messages"];
                        ASSERT_EQ(added(a, x, y), product(a, of_round(round)));
                        ASSERT_EQ(statistics()["get_messages"], gets);
                        if (has_replica) {
                            ASSERT_EQ(replica_reads(), reads + (how.consistent ? 2 : 3));
                        }
                        barrier();
                    }
                    x.evict_prefetch();
                    set_all(x, 9);
                    const std::uint64_t reads = replica_reads();
                    ASSERT_EQ(added(a, x, y), product(a, of_round(9)));
                    ASSERT_EQ(replica_reads(), reads);
                    barrier();
                });
}

TEST(SparseProduct, OfWhatWasLearned) {
    for (const Prefetch& how : ways)
        for (const unsigned rarely : {1u, 2u, 9u})
            launch(array_options(4), [&] {
                const Index<2> shape{30, 50};
                Matrix a(shape[0], shape[1], random_rows(shape, rarely, 6));
                Vector x({shape[1]}), y({shape[0]});
                set_all(x, 1);
                x.observe();
                ASSERT_EQ(added(a, x, y), product(a, of_round(1)));
                x.prefetch_observed(how);
                const std::uint64_t reads = replica_reads();
                for (long round = 2; round <= 3; ++round) {
                    set_all(x, round);
                    if (!how.consistent) x.update_prefetch();
                    ASSERT_EQ(added(a, x, y), product(a, of_round(round)));
                }
                EXPECT_EQ(replica_reads(), reads + 2) << "boxes, or sets that are spread in the replica";
                barrier();
            });
}

// The pattern or the matrix changes: the replica has some elements, all, or none.
TEST(SparseProduct, ReadsWhatAnAccessReadsInRandomPrograms) {
    for (unsigned seed = 0; seed < 60; ++seed)
        launch(array_options(static_cast<Rank>(1 + seed % 5)), [&] {
            std::mt19937 dice(seed);
            const std::int64_t columns = 20 + static_cast<std::int64_t>(dice() % 60);
            const Index<2> shape{25, columns};
            Matrix a(shape[0], shape[1], random_rows(shape, 1 + dice() % 20, seed));
            Vector x({columns}), y({shape[0]});
            long round = 0;
            set_all(x, round);
            for (int step = 0; step < 20; ++step) {
                const unsigned what = dice() % 10;
                const Prefetch how = ways[dice() % 4];
                const auto depth = static_cast<std::int64_t>(1 + dice() % 40);
                const unsigned again = dice();
                if (what == 0) x.prefetch_all_to_all(how);
                if (what == 1) x.prefetch_stencil(depth, true, how);
                if (what == 2) {
                    PrefetchTransfer on_its_way = x.prefetch_stencil_async(depth, true, how);
                    ASSERT_EQ(added(a, x, y), product(a, [&](std::int64_t j) { return x(j); }));
                    on_its_way.wait();
                }
                if (what == 3) x.evict_prefetch();
                if (what == 4) {
                    std::vector<Index<2>> more;
                    for (const Triplet<long>& one : random_rows(shape, 10, again))
                        more.push_back({one.row, one.column});
                    barrier();
                    a.add(more);
                    a.for_each([](const Index<2>& i, long& value) { value = value_at(i) % 1000; });
                }
                if (what == 5) set_all(x, ++round);
                if (what == 6) {
                    barrier();
                    for (std::int64_t j = rank(); j < columns; j += ranks())
                        if ((again >> j % 32 & 1) != 0) x.write({j}, step);
                    barrier();
                }
                if (what == 8) {
                    x.observe();
                    added(a, x, y);
                    x.prefetch_observed(how);
                }
                if (what == 9) {
                    std::vector<std::vector<Box<1>>> table(static_cast<std::size_t>(ranks()));
                    for (auto& row : table)
                        for (std::int64_t j = 0; j < columns; j += depth)
                            row.push_back({{j}, {std::min(j + depth / 2 + 1, columns)}});
                    x.prefetch_custom(table, how);
                }
                ASSERT_EQ(added(a, x, y), product(a, [&](std::int64_t j) { return x(j); }))
                    << "seed " << seed << ", step " << step << ": " << what;
            }
            barrier();
        });
}

TEST(SparseProduct, OfOtherDistributions) {
    launch(array_options(3), [] {
        Matrix a(12, 20, random_rows({12, 20}, 2, 8));
        Vector y({12});
        CyclicArray<long, 1> x({20});
        set_all(x, 1);
        x.prefetch_all_to_all();
        EXPECT_EQ(added(a, x, y), product(a, of_round(1)));
        barrier();
    });
}

TEST(SparseProduct, OfWhatIsGathered) {
    for (Rank count = 1; count <= 5; ++count)
        for (const Index<2>& shape : {Index<2>{0, 5}, {5, 0}, {13, 1}, {20, 17}, {40, 60}})
            launch(array_options(count, count % 4 != 3), [&] {
                Matrix a(shape[0], shape[1], random_rows(shape, 3, 5));
                Vector x({shape[1]}), y({shape[0]});
                CyclicArray<long, 1> dealt({shape[1]});
                Gather gathered(x, a.local().columns);
                Gather near_dealt(dealt, a.local().columns);
                for (long round = 1; round <= 3; ++round) {
                    set_all(x, round);
                    set_all(dealt, round);
                    gathered.update();
                    near_dealt.update();
                    ASSERT_EQ(added(a, gathered, y), product(a, of_round(round)));
                    ASSERT_EQ(added(a, near_dealt, y), product(a, of_round(round)));
                }
                barrier();
            });
}

// Each has its own y. They acquire, so that one of them refreshes what the others are reading.
TEST(SparseProduct, ByThreadsWhileTheyAcquire) {
    launch(array_options(2), [] {
        const Index<2> shape{30, 40};
        Matrix a(shape[0], shape[1], random_rows(shape, 2, 4));
        Vector x({shape[1]});
        Vector first({shape[0]}), second({shape[0]}), third({shape[0]});
        x.prefetch_all_to_all();
        for (long round = 1; round <= 10; ++round) {
            set_all(x, round);
            const std::vector<long> wanted = product(a, of_round(round));
            std::vector<Task> tasks;
            for (Vector* const y : {&first, &second, &third})
                tasks.push_back(spawn([&, y] {
                    for (int n = 0; n < 5; ++n) {
                        ASSERT_EQ(added(a, x, *y), wanted);
                        acquire();
                    }
                }));
            for (Task& task : tasks)
                task.join();
        }
        barrier();
    });
}

// Nobody may refresh an entry that a thread has written and not released: the others read one by one.
TEST(SparseProduct, WhileAThreadHasPutWhatItHasNotReleased) {
    launch(array_options(2), [] {
        const Index<2> shape{10, 20};
        Matrix a(shape[0], shape[1], random_rows(shape, 1, 4));
        Vector x({shape[1]}), y({shape[0]}), other({shape[0]});
        set_all(x, 1);
        x.prefetch_all_to_all();
        if (rank() == 0) {
            Stages stages;
            Task task = spawn([&] {
                ASSERT_EQ(added(a, x, other), product(a, of_round(1)));
                x.write({15}, 1000);
                stages.reach(1);
                stages.wait_for(2);
                release();
                stages.reach(3);
            });
            stages.wait_for(1);
            acquire();
            (void)added(a, x, y);  // 15 is not visible yet; this must neither hang nor lose the put
            stages.reach(2);
            stages.wait_for(3);
            task.join();
            acquire();
            const auto now = [](std::int64_t j) { return j == 15 ? 1000 : of_round(1)(j); };
            EXPECT_EQ(added(a, x, y), product(a, now));
        }
        barrier();
    });
}

TEST(SparseProduct, WrongVectorsAreNamed) {
    const auto failure = [](std::int64_t columns, std::int64_t rows, std::int64_t first = 0) {
        try {
            launch(array_options(2), [&] {
                Matrix a(6, 4);
                Vector x(Box<1>({first}, {columns})), y({rows});
                a.add_product(y, x);
            });
        } catch (const Error& error) {
            return std::string(error.what());
        }
        return std::string("none");
    };
    EXPECT_EQ(failure(4, 6), "none");
    EXPECT_NE(failure(5, 6).find("the matrix has the columns 0 up to, and without, 4"), std::string::npos);
    EXPECT_NE(failure(4, 6, 1).find("a vector with the indices 1 up to, and without, 4"), std::string::npos);
    EXPECT_NE(failure(4, 5).find("the matrix has the rows 0 up to, and without, 6"), std::string::npos);
}

TEST(SparseProduct, WhatIsGatheredHasAnIndexForEachNonZero) {
    launch(array_options(2), [] {
        Matrix a(6, 4, random_rows({6, 4}, 1, 1));  // 12 of each rank
        Vector x({4}), y({6}), short_y({5});
        set_all(x, 1);
        Gather gathered(x, a.local().columns);
        Gather one_less(x, a.local().columns.first(11));
        gathered.update();
        const auto failure = [&](Vector& sums, const Gather<long>& wanted) {
            try {
                a.add_product(sums, wanted);
            } catch (const Error& error) {
                return std::string(error.what());
            }
            return std::string("none");
        };
        EXPECT_EQ(failure(y, gathered), "none");
        EXPECT_NE(failure(y, one_less).find("a Gather of 11 indices"), std::string::npos);
        EXPECT_NE(failure(y, one_less).find("this rank has 12 non-zeros"), std::string::npos);
        EXPECT_NE(failure(short_y, gathered).find("the matrix has the rows 0 up to, and without, 6"),
                  std::string::npos);
        barrier();
    });
}

}  // namespace
}  // namespace nearfetch

// SPDX-License-Identifier: Apache-2.0
//
// Sparse matrices against a dense table: global view, prefetching, and adding indices.

#include <map>
#include <nearfetch/sparse.hpp>
#include <optional>
#include <set>

#include "../pgas/no_more_memory.hpp"
#include "array_rig.hpp"

namespace nearfetch {
namespace {

using Model = std::map<Index<2>, long>;
using Table = std::vector<std::vector<Box<2>>>;

constexpr Prefetch ways[] = {{true, false}, {true, true}, {false, false}, {false, true}};

/// Fewer rows than ranks, no rows, rows and columns of one.
std::vector<Index<2>> odd_shapes() { return {{0, 5}, {5, 0}, {1, 13}, {13, 1}, {3, 8}, {20, 17}}; }

/// The same on all ranks: about one of `rarely` indices.
Model random_model(const Index<2>& shape, unsigned rarely, std::mt19937& dice) {
    Model model;
    for_each_index(Box<2>({}, shape), [&](const Index<2>& i) {
        if (dice() % rarely == 0) model[i] = value_at(i);
    });
    return model;
}

std::vector<Triplet<long>> own_part(const Model& model, std::int64_t rows) {
    const auto [first, end] = SparseMatrix<long>::rows_of(rank(), rows);
    std::vector<Triplet<long>> own;
    for (const auto& [i, value] : model)
        if (first <= i[0] && i[0] < end) own.insert(own.begin(), {i[0], i[1], value});
    return own;
}

void expect_equal(const SparseMatrix<long>& a, const Model& model) {
    for_each_index(a.layout().bounds(), [&](const Index<2>& i) {
        const auto at = model.find(i);
        ASSERT_EQ(a.contains(i), at != model.end());
        ASSERT_EQ(a(i[0], i[1]), at != model.end() ? at->second : 0);
    });
}

void set_all(SparseMatrix<long>& a, Model& model, long round) {
    barrier();
    for (auto& [i, value] : model)
        value = value_at(i, round);
    a.for_each([&](const Index<2>& i, long& value) { value = value_at(i, round); });
    barrier();
}

TEST(Sparse, IsAMatrixFromEveryRank) {
    for (Rank count = 1; count <= 9; ++count)
        launch(array_options(count, count % 4 != 3), [] {
            std::mt19937 dice(7);
            for (const Index<2>& shape : odd_shapes()) {
                Model model = random_model(shape, 3, dice);
                SparseMatrix<long> a(shape[0], shape[1], own_part(model, shape[0]));
                EXPECT_EQ(a.rows(), shape[0]);
                EXPECT_EQ(a.columns(), shape[1]);
                EXPECT_EQ(a.non_zeros(), static_cast<std::int64_t>(model.size()));
                expect_equal(a, model);
                Model own;
                a.for_each([&](const Index<2>& i, long& value) { own[i] = value; });
                EXPECT_EQ(static_cast<std::int64_t>(own.size()), a.non_zeros(rank()));
                for (const Triplet<long>& one : own_part(model, shape[0]))
                    EXPECT_EQ(own.at({one.row, one.column}), one.value);
                for (auto [i, end] = a.own_rows(); i < end; ++i) {
                    const SparseRow<long> row = a.row(i);
                    ASSERT_EQ(row.columns.size(), row.values.size());
                    EXPECT_TRUE(std::ranges::is_sorted(row.columns));
                    for (std::size_t k = 0; k < row.columns.size(); ++k)
                        EXPECT_EQ(row.values[k], model.at({i, row.columns[k]}));
                }
                const SparseRows<long> local = a.local();
                EXPECT_EQ(local.values.size(), own.size());
                EXPECT_EQ(local.columns.size(), own.size());
                EXPECT_EQ(local.starts.back(), a.non_zeros(rank()));
                for (auto [first, end] = a.own_rows(); first < end; ++first) {
                    const auto begin = static_cast<std::size_t>(local.starts[first - a.own_rows().first]);
                    EXPECT_EQ(a.row(first).values.data(), local.values.data() + begin);
                    EXPECT_EQ(a.row(first).columns.data(), local.columns.data() + begin);
                }
                long sum = 0;
                for (const auto& [i, value] : model)
                    sum += value;
                EXPECT_EQ(a.sum(), sum);
                EXPECT_EQ(a.reduce(0L, std::plus<>(), [](long) { return 1L; }), a.non_zeros());
                barrier();
                long n = 0;
                for (auto& [i, value] : model)
                    if (value = -n; ++n % ranks() == rank()) a.write(i, 1 - n);
                barrier();
                expect_equal(a, model);
                barrier();
            }
        });
}

/// Own rows in compressed sparse rows.
struct OwnRows {
    std::vector<std::int64_t> starts{0}, columns;
    std::vector<long> values;
    operator SparseRows<const long>() const { return {starts, columns, values}; }
};

OwnRows own_rows(const Model& model, std::int64_t rows, bool descending) {
    const auto [first, end] = SparseMatrix<long>::rows_of(rank(), rows);
    OwnRows own;
    for (std::int64_t row = first; row < end; ++row) {
        for (const auto& [i, value] : model)
            if (i[0] == row) {
                own.columns.push_back(i[1]);
                own.values.push_back(value);
            }
        if (descending) {
            std::reverse(own.columns.begin() + own.starts.back(), own.columns.end());
            std::reverse(own.values.begin() + own.starts.back(), own.values.end());
        }
        own.starts.push_back(static_cast<std::int64_t>(own.columns.size()));
    }
    return own;
}

TEST(Sparse, IsMadeOfCompressedRowsInAnyOrder) {
    for (Rank count = 1; count <= 5; ++count)
        launch(array_options(count), [] {
            std::mt19937 dice(11);
            for (const Index<2>& shape : odd_shapes()) {
                Model model = random_model(shape, 3, dice);
                for (const bool is_mixed : {false, true}) {  // some ranks have ascending columns
                    SparseMatrix<long> a(shape[0], shape[1],
                                         own_rows(model, shape[0], is_mixed && rank() % 2 == 0));
                    expect_equal(a, model);
                    barrier();
                }
                SparseMatrix<long> a(shape[0], shape[1], own_rows(model, shape[0], false));
                std::vector<Index<2>> added;
                for (auto [row, end] = a.own_rows(); row < end && shape[1] > 0; ++row)
                    added.push_back({row, shape[1] / 2});
                a.add(added);
                for (std::int64_t row = 0; row < shape[0] && shape[1] > 0; ++row)
                    model.try_emplace({row, shape[1] / 2}, 0);
                expect_equal(a, model);
                barrier();
            }
        });
}

TEST(Sparse, CompressedRowsThatAreNoneAreRefused) {
    const auto refusal = [](const OwnRows& own) -> std::string {
        try {
            launch(array_options(1), [&] { SparseMatrix<long> a(2, 5, own); });
        } catch (const Error& error) {
            return error.what();
        }
        return "none";
    };
    EXPECT_EQ(refusal({{0, 2, 3}, {0, 4, 1}, {1, 2, 3}}), "none");
    for (const auto& [words, own] :
         std::map<std::string, OwnRows>{{"is there twice", {{0, 2, 2}, {4, 4}, {1, 2}}},
                                        {"index (1, 5)", {{0, 1, 3}, {0, 2, 5}, {1, 2, 3}}},
                                        {"index (0, -1)", {{0, 2, 2}, {3, -1}, {1, 2}}},
                                        {"give one more than own rows", {{0, 1}, {0}, {1}}},
                                        {"2 starts of rows", {{0, 1}, {0}, {1}}},
                                        {"for 2 own rows and 2 columns", {{0, 2, 1}, {0, 1}, {1, 2}}},
                                        {"3 values and 2 columns", {{0, 1, 2}, {0, 1}, {1, 2, 3}}}})
        EXPECT_NE(refusal(own).find(words), std::string::npos) << words << ": " << refusal(own);
}

/// A table of what each rank needs, with rows and columns out of bounds.
Table random_table(const Index<2>& shape, std::mt19937& dice) {
    Table table(static_cast<std::size_t>(ranks()));
    for (auto& row : table)
        for (unsigned n = dice() % 4; n > 0; --n)
            row.push_back(random_part(Box<2>({-2, -2}, {shape[0] + 2, shape[1] + 2}), dice));
    return table;
}

void check_pattern(SparseMatrix<long>& a, Model model, const std::vector<Box<2>>& wanted, const Prefetch& how,
                   const std::function<void()>& prefetch) {
    std::map<Rank, std::uint64_t> numbers;
    const auto is_wanted = [&](const Index<2>& i) {
        return a.layout().owner(i) != rank() &&
               std::ranges::any_of(wanted, [&](const Box<2>& box) { return box.contains(i); });
    };
    for (const auto& [i, value] : model)
        if (is_wanted(i)) ++numbers[a.layout().owner(i)];
    std::uint64_t bytes = 0;
    for (const auto& [owner, count] : numbers)
        bytes += sizeof(long) * count;
    set_all(a, model, 1);
    prefetch();
    EXPECT_EQ(prefetch_statistics().entries, numbers.size()) << "one for each owner";
    EXPECT_EQ(prefetch_statistics().bytes, bytes);
    expect_equal(a, model);
    const Model old = model;
    set_all(a, model, 2);
    const auto read_wanted = [&](const Model& expected) {
        for_each_index(a.layout().bounds(), [&](const Index<2>& i) {
            if (!is_wanted(i)) return;
            ASSERT_TRUE(a.is_prefetched(i));
            ASSERT_EQ(a(i[0], i[1]), expected.contains(i) ? expected.at(i) : 0);
        });
    };
    const std::uint64_t updates = prefetch_statistics().updates;
    read_wanted(how.consistent ? model : old);
    EXPECT_EQ(prefetch_statistics().updates - updates, how.consistent ? numbers.size() : 0) << "once each";
    a.update_prefetch();
    const std::uint64_t messages = statistics()["get_messages"];
    read_wanted(model);
    EXPECT_EQ(statistics()["get_messages"], messages);
    EXPECT_EQ(prefetch_statistics().updates - updates, (how.consistent ? 2 : 1) * numbers.size());
    a.evict_prefetch();
    EXPECT_EQ(prefetch_statistics().bytes, 0u);
    expect_equal(a, model);
}

TEST(Sparse, Patterns) {
    for (Rank count = 1; count <= 9; ++count)
        launch(array_options(count, count % 4 != 3), [] {
            std::mt19937 dice(11);
            for (const Index<2>& shape : odd_shapes()) {
                const Model model = random_model(shape, 1 + dice() % 4, dice);
                SparseMatrix<long> a(shape[0], shape[1], own_part(model, shape[0]));
                for (const Prefetch& how : ways) {
                    check_pattern(a, model, {a.layout().bounds()}, how, [&] { a.prefetch_all_to_all(how); });
                    const Table table = random_table(shape, dice);
                    const auto& mine = table[static_cast<std::size_t>(rank())];
                    check_pattern(a, model, mine, how, [&] { a.prefetch_custom(table, how); });
                    std::vector<detail::IndexRanges> rows;
                    for (const auto& boxes : table) {
                        rows.emplace_back();
                        for (const Box<2>& box : boxes)
                            rows.back().emplace_back(box.lower[0], box.upper[0]);
                    }
                    std::vector<Box<2>> whole = mine;
                    for (Box<2>& box : whole) {
                        box.lower[1] = 0;
                        box.upper[1] = shape[1];
                    }
                    check_pattern(a, model, whole, how, [&] { a.prefetch_rows(rows, how); });
                }
            }
        });
}

TEST(Sparse, TwoMessagesForTheStructureAndOneForTheValues) {
    launch(array_options(3), [] {
        Model model;
        for (std::int64_t i = 0; i < 30; ++i)
            for (std::int64_t j = i % 3; j < 10; j += 2)
                model[{i, j}] = value_at(Index<2>{i, j});
        SparseMatrix<long> a(30, 10, own_part(model, 30));
        const auto messages = [] { return statistics()["get_messages"]; };
        const std::int64_t next = (a.own_rows().second) % 30;
        std::vector<detail::IndexRanges> table;
        for (Rank r = 0; r < 3; ++r)
            table.push_back({{10 * ((r + 1) % 3) + 2, 10 * ((r + 1) % 3) + 7}});
        std::uint64_t before = messages();
        a.prefetch_rows(table, {.consistent = false, .static_domain = true});
        EXPECT_EQ(messages() - before, 3u);
        before = messages();
        a.update_prefetch();
        EXPECT_EQ(messages() - before, 1u);
        expect_equal(a, model);
        before = messages();
        for (std::int64_t i = next + 2; i < next + 7; ++i)
            for (std::int64_t j = 0; j < 10; ++j)
                EXPECT_EQ(a(i, j), model.contains({i, j}) ? value_at(Index<2>{i, j}) : 0);
        EXPECT_EQ(messages(), before);
        barrier();
    });
}

TEST(Sparse, WhatIsPrefetchedFollowsTheDomain) {
    for (const bool consistent : {true, false})
        launch(array_options(4), [=] {
            std::mt19937 dice(3);
            const Index<2> shape{22, 15};
            Model model = random_model(shape, 5, dice);
            SparseMatrix<long> a(shape[0], shape[1], own_part(model, shape[0]));
            a.prefetch_all_to_all({.consistent = consistent});
            expect_equal(a, model);
            for (long round = 1; round <= 6; ++round) {
                std::vector<Index<2>> own;
                for (const auto& [i, value] : random_model(shape, 8, dice)) {
                    model.try_emplace(i, 0);
                    if (a.layout().owner(i) == rank()) own.insert(own.begin(), 2, i);
                }
                a.add(own);
                EXPECT_EQ(a.non_zeros(), static_cast<std::int64_t>(model.size()));
                for_each_index(a.layout().bounds(), [&](const Index<2>& i) {
                    ASSERT_EQ(a.is_prefetched(i), a.layout().owner(i) != rank());
                });
                expect_equal(a, model);
                barrier();
                long n = 0;
                for (auto& [i, value] : model) {
                    if (dice() % 2 == 0) continue;
                    value = ++n * round;
                    if (n % ranks() == rank()) a.write(i, value);
                }
                barrier();
                if (!consistent) a.update_prefetch();
                expect_equal(a, model);
                barrier();
            }
            a.evict_prefetch();
            a.add({});
            EXPECT_EQ(prefetch_statistics().entries, 0u);
            expect_equal(a, model);
            barrier();
        });
}

TEST(Sparse, ThreadsReadWhileOneUpdates) {
    launch(array_options(2), [] {
        Model model;
        for (std::int64_t i = 0; i < 40; ++i)
            model[{i, (7 * i) % 11}] = 0;
        SparseMatrix<long> a(40, 11, own_part(model, 40));
        a.prefetch_all_to_all();
        for (long round = 1; round <= 10; ++round) {
            set_all(a, model, round);
            std::vector<Task> tasks;
            for (int t = 0; t < 3; ++t)
                tasks.push_back(spawn([&] {
                    expect_equal(a, model);
                    acquire();
                    expect_equal(a, model);
                }));
            for (Task& task : tasks)
                task.join();
            barrier();
        }
    });
}

/// Takes memory until so much is left, in a program that gets no more. Collective.
void leave_bytes(std::int64_t left) {
    constexpr std::int64_t chunk = 4096;
    std::vector<GlobalPtr<std::byte>> chunks;
    try {
        while (true)
            chunks.push_back(allocate<std::byte>(chunk));
    } catch (const Error&) {  // the end
    }
    for (; left >= chunk; left -= chunk) {
        free(chunks.back());
        chunks.pop_back();
    }
}

// All ranks see together that memory has ended; the matrix and its neighbours in memory are unchanged.
TEST(Sparse, WhereThereIsNoRoomAddChangesNothing) {
    if (!NoMoreMemory::is_possible) GTEST_SKIP() << "with a sanitizer";
    struct Large {
        std::int64_t words[8];
        Large operator+(const Large& other) const { return {{words[0] + other.words[0]}}; }
    };
    launch(array_options(2), [] {
        SparseMatrix<Large> a(2, 2000);
        std::vector<Index<2>> own;
        for (std::int64_t j = 0; j < 100; ++j)
            own.push_back({rank(), 3 * j});
        a.add(own);
        a.for_each([](const Index<2>& i, Large& value) { value.words[0] = value_at(i); });
        BlockArray<long, 1> behind({2000});
        behind.fill(7);
        const auto expect_as_before = [&] {
            EXPECT_EQ(a.non_zeros(), 200);
            EXPECT_EQ(a.local().values.size(), 100u);
            std::int64_t sum = 0;
            for (std::int64_t i = 0; i < 2; ++i)
                for (std::int64_t j = 0; j < 100; ++j) {
                    EXPECT_EQ(a.read({i, 3 * j}).words[0], value_at(Index<2>{i, 3 * j}));
                    sum += value_at(Index<2>{i, 3 * j});
                }
            EXPECT_EQ(a.sum().words[0], sum);
            EXPECT_EQ(behind.sum(), 2000 * 7);
        };
        std::optional<NoMoreMemory> limit;
        if (rank() == 0) limit.emplace();
        leave_bytes(40'000);
        // Room for the columns but not for the values; then for neither.
        for (const std::int64_t count : {800, 2000}) {
            std::vector<Index<2>> more;
            for (std::int64_t j = 0; j < count; ++j)
                more.push_back({rank(), j});
            EXPECT_THROW(a.add(more), Error);
            expect_as_before();
            a.add({});
            expect_as_before();
            barrier();
        }
        a.add(std::vector<Index<2>>{{rank(), 1}});
        EXPECT_EQ(a.non_zeros(), 202);
        EXPECT_EQ(a.read({1 - rank(), 3}).words[0], value_at(Index<2>{1 - rank(), 3}));
        EXPECT_EQ(a.read({1 - rank(), 1}).words[0], 0);
        EXPECT_EQ(behind.sum(), 2000 * 7);
        barrier();
    });
}

TEST(Sparse, OneThatIsRefusedLeavesTheProgramAsItWas) {
    launch(array_options(2), [] {
        EXPECT_THROW(SparseMatrix<double>(10 + 1000 * rank(), 5), Error);
        BlockArray<long, 1> a({8});
        a.fill(3);
        if (rank() == 0) a(7) = 5;
        barrier();
        EXPECT_EQ(a(7), 5);
        EXPECT_EQ(a(0), 3);
        SparseMatrix<long> b(4, 4);
        EXPECT_EQ(b.non_zeros(), 0);
        barrier();
    });
}

TEST(Sparse, WrongUseIsNamed) {
    const auto failure = [](const std::function<void()>& wrong) {
        try {
            launch(array_options(2), wrong);
        } catch (const Error& error) {
            return std::string(error.what());
        }
        return std::string("none");
    };
    const auto expect = [&](const std::string& says, const std::function<void(SparseMatrix<long>&)>& wrong) {
        const std::string said = failure([&] {
            SparseMatrix<long> a(6, 4);
            wrong(a);
        });
        EXPECT_NE(said.find(says), std::string::npos) << said;
        EXPECT_NE(said.find("): "), std::string::npos) << said;
    };
    using Triplets = std::vector<Triplet<long>>;
    EXPECT_EQ(failure([] { SparseMatrix<long>(-1, 4); }).substr(0, 30), "dimension 0: the bounds 0 to -");
    EXPECT_EQ(failure([] { SparseMatrix<long>(4, -1); }).substr(0, 30), "dimension 1: the bounds 0 to -");
    EXPECT_NE(failure([] { SparseMatrix<long>(INT64_MAX, 4); }).find("cannot be counted"), std::string::npos);
    EXPECT_NE(failure([] { SparseMatrix<long>(4 + rank(), 4); }).find(" in SparseMatrix at "),
              std::string::npos);
    const auto make = [](std::int64_t i, std::int64_t j) {
        return rank() == 0 ? Triplets{{i, 0, 1}, {i, j, 2}} : Triplets();
    };
    EXPECT_EQ(failure([&] { SparseMatrix<long>(6, 4, make(0, 0)); }).substr(0, 40),
              "SparseMatrix: index (0, 0) is there twic");
    EXPECT_EQ(failure([&] { SparseMatrix<long>(6, 4, make(0, 4)); }).substr(0, 12), "index (0, 4)");
    EXPECT_EQ(failure([&] { SparseMatrix<long>(6, 4, make(-1, 1)); }).substr(0, 12), "index (-1, 0");
    EXPECT_EQ(failure([&] { SparseMatrix<long>(6, 4, make(4, 1)); }).substr(0, 50),
              "SparseMatrix: index (4, 0) is in a row of rank 1 (");
    expect("index (6, 0)", [](auto& a) { (void)a(6, 0); });
    expect("index (0, -1)", [](auto& a) { (void)a(0, -1); });
    expect("index (5, 1) (the matrix has no element there)", [](auto& a) { a.write({5, 1}, 1); });
    expect("is not this rank's", [](auto& a) { (void)a.row(rank() == 0 ? 3 : 2); });
    expect("index (0, 9)", [](auto& a) { a.add(std::vector<Index<2>>(rank() == 0 ? 1 : 0, {0, 9})); });
    expect(" in add at ", [](auto& a) {
        if (rank() == 0)
            barrier();
        else
            a.add({});
    });
    expect("a table of 3 rows", [](auto& a) { a.prefetch_custom({{}, {}, {}}); });
    expect(" in prefetch_custom at ",
           [](auto& a) { a.prefetch_custom({{Box<2>({0, 0}, {rank(), 1})}, {}}); });
    expect(" in prefetch_rows at ", [](auto& a) { a.prefetch_rows({{}, {}}, {.consistent = rank() == 0}); });
    expect("add: something is prefetched with static_domain", [](auto& a) {
        a.prefetch_all_to_all({.static_domain = true});
        a.add({});
    });
    expect("update_prefetch: nothing is prefetched", [](auto& a) { a.update_prefetch(); });
    EXPECT_EQ(failure([] {
                  SparseMatrix<long> a(6, 4);
                  a.prefetch_all_to_all({.static_domain = true});
                  a.evict_prefetch();
                  a.add({});
              }),
              "none");
}

}  // namespace
}  // namespace nearfetch

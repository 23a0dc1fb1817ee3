// SPDX-License-Identifier: Apache-2.0
//
// Prefetched data in use: own writes, several threads, and random programs that must not read stale data.

#include <thread>

#include "array_rig.hpp"

namespace nearfetch {
namespace {

TEST(Prefetching, ManualConsistencyReadsWithoutTheRuntime) {
    launch(array_options(2), [] {
        BlockArray<long, 1> a({100});
        a.for_each([](const Index<1>& i, long& element) { element = value_at(i); });
        a.prefetch_all_to_all({.consistent = false});
        const BlockArray<long, 1>& same = a;
        // A thread outside of the program: any use of the runtime fails there.
        long sum = 0, expected = 0;
        std::thread([&] {
            for (long i = 0; i < 100; ++i)
                sum += same(i);
        }).join();
        for (long i = 0; i < 100; ++i)
            expected += value_at(Index<1>{i});
        EXPECT_EQ(sum, expected);
        a.evict_prefetch();
        const long other = rank() == 0 ? 99 : 0;
        bool failed = false;
        std::thread([&] {
            try {
                (void)same(other);
            } catch (const Error&) {
                failed = true;
            }
        }).join();
        EXPECT_TRUE(failed);
        barrier();
    });
}

TEST(Prefetching, AnUpdateBringsWhatIsThereNow) {
    for (const bool is_static : {true, false})
        launch(array_options(2), [is_static] {
            BlockArray<long, 2> a(Box<2>({0, 0}, {10, 20}), {1, 2});
            a.fill(1);
            a.prefetch_all_to_all({.consistent = false, .static_domain = is_static});
            a.evict_prefetch();
            const long at_first = rank() == 0 ? static_cast<long>(a(3, 15)) : 1;  // now in a page
            EXPECT_EQ(at_first, 1);
            barrier(std::memory_order_relaxed);
            if (rank() == 1) a(3, 15) = 2;
            barrier(std::memory_order_relaxed);
            const long not_acquired = rank() == 0 ? static_cast<long>(a(3, 15)) : 1;
            EXPECT_EQ(not_acquired, 1);
            a.prefetch_custom({{Box<2>({0, 12}, {10, 17})}, {}},
                              {.consistent = false, .static_domain = is_static});
            barrier(std::memory_order_relaxed);
            if (rank() == 1) a(3, 15) = 3;
            barrier(std::memory_order_relaxed);
            if (rank() == 0) {
                EXPECT_EQ(a(3, 15), 2);
                a.update_prefetch();
                EXPECT_EQ(a(3, 15), 3);
            }
            barrier();
        });
}

TEST(Prefetching, OwnWritesAreSeenAtOnce) {
    for (const bool cached : {true, false})
        for (const Prefetch how : {Prefetch{true, false}, Prefetch{true, true}, Prefetch{false, true}})
            launch(array_options(3, cached), [&] {
                BlockArray<long, 2> a({6, 9});
                BlockArray<char, 1> letters({30});
                a.prefetch_all_to_all(how);
                letters.prefetch_all_to_all(how);
                for (long round = 1; round < 4; ++round) {
                    // One rank writes all of it, element by element and in bulk.
                    if (rank() == round % ranks()) {
                        for_each_index(a.bounds(), [&](const Index<2>& i) {
                            a[i] = value_at(i, round);
                            ASSERT_EQ(a[i], value_at(i, round));
                        });
                        const Box<2> box({1, 2}, {5, 7});
                        std::vector<long> values(static_cast<std::size_t>(box.size()), -round);
                        a.put(box, values);
                        letters(29) = static_cast<char>(round);
                        letters(0) = static_cast<char>(-round);
                        a.update_prefetch();  // also fetches unreleased writes
                        for_each_index(a.bounds(), [&](const Index<2>& i) {
                            ASSERT_EQ(a[i], box.contains(i) ? -round : value_at(i, round));
                        });
                        EXPECT_EQ(letters(29), round);
                        EXPECT_EQ(letters(0), -round);
                    }
                    barrier();
                    a.update_prefetch();
                    EXPECT_EQ(a(0, 0), value_at(Index<2>{0, 0}, round));
                    EXPECT_EQ(a(5, 8), value_at(Index<2>{5, 8}, round));
                    EXPECT_EQ(a(4, 6), -round);
                    barrier();
                }
            });
}

// Random rounds: some elements are written, each by one rank; after a barrier all that anybody reads is
// checked.
TEST(Prefetching, RandomProgramsSeeNothingStale) {
    for (unsigned seed = 1; seed <= 12; ++seed)
        launch(array_options(1 + static_cast<Rank>(seed % 5), seed % 3 != 0), [seed] {
            std::mt19937 same(seed), own(100 * seed + static_cast<unsigned>(rank()));
            const Box<2> bounds({-2, 0}, {9, 1 + static_cast<std::int64_t>(seed)});
            BlockArray<long, 2> block(bounds);
            BlockCyclicArray<long, 2> dealt(bounds, balanced_grid<2>(ranks()), {2, 1});
            std::vector<long> model(static_cast<std::size_t>(bounds.size()), 0);
            const auto element = [&](const Index<2>& i) -> long& {
                return model[static_cast<std::size_t>(detail::position(bounds, i))];
            };
            const auto prefetch_something = [&](auto& a) {
                const Prefetch how{true, same() % 2 == 0};
                switch (same() % 8) {
                    case 0:
                        a.prefetch_stencil(1 + same() % 3, same() % 2 == 0, how);
                        break;
                    case 1:
                        a.prefetch_row_wise(how);
                        break;
                    case 2:
                        a.prefetch_column_wise(how);
                        break;
                    case 3:
                        a.prefetch_all_to_all(how);
                        break;
                    case 4:
                        a.prefetch_transpose(how);
                        break;
                    case 5:
                        a.evict_prefetch();
                        break;
                    default:
                        break;
                }
            };
            for (long round = 1; round <= 25; ++round) {
                prefetch_something(block);
                prefetch_something(dealt);
                for_each_index(bounds, [&](const Index<2>& i) {
                    if (same() % 3 != 0) return;
                    const Rank writer = static_cast<Rank>(same() % static_cast<unsigned>(ranks()));
                    element(i) = value_at(i, round);
                    if (writer != rank()) return;
                    block[i] = element(i);
                    dealt[i] = element(i);
                    if (own() % 2 == 0) {
                        ASSERT_EQ(block[i], element(i));
                    }
                    if (own() % 4 == 0) {
                        ASSERT_EQ(dealt[i], element(i));
                    }
                });
                barrier();
                for (int n = 0; n < 60; ++n) {
                    const Index<2> i{bounds.lower[0] + static_cast<std::int64_t>(own() % 11),
                                     static_cast<std::int64_t>(own() % seed)};
                    if (!bounds.contains(i)) continue;
                    ASSERT_EQ(block[i], element(i)) << "seed " << seed << " round " << round;
                    ASSERT_EQ(dealt[i], element(i)) << "seed " << seed << " round " << round;
                }
                barrier();
            }
        });
}

TEST(Prefetching, ManyThreadsReadWhileOneUpdates) {
    launch(array_options(2), [] {
        BlockArray<long, 1> a({400});
        a.prefetch_all_to_all();
        for (long round = 1; round <= 30; ++round) {
            a.for_each([&](const Index<1>& i, long& element) { element = value_at(i, round); });
            barrier();
            read_by_threads(a, 2, round);
            barrier();
        }
    });
}

// One thread's put is still in its page cache while another thread wants the slice anew.
TEST(Prefetching, AnUpdateDoesNotLoseWhatAnotherThreadHasWritten) {
    with_prefetched_zeros(
        8,
        [](BlockArray<long, 1>& a) {
            Stages stages;
            EXPECT_EQ(a(7), 0);
            Task writer = spawn([&] {
                a(6) = 66;
                stages.reach(1);
                stages.wait_for(2);
                EXPECT_EQ(a(6), 66) << "its own write";
                release();
                stages.reach(3);
            });
            Task reader = spawn([&] {
                stages.wait_for(1);
                acquire();
                const std::uint64_t updates = prefetch_statistics().updates;
                EXPECT_EQ(a(7), 0);
                EXPECT_EQ(prefetch_statistics().updates, updates) << "the writer holds it";
                a(5) = 55;  // held by another thread: written to its owner at once
                EXPECT_EQ(a(5), 55);
                stages.reach(2);
                stages.wait_for(3);
                acquire();
                EXPECT_EQ(a(6), 66);
                EXPECT_EQ(a(5), 55);
                EXPECT_EQ(prefetch_statistics().updates, updates + 2) << "by the writer, and now";
            });
            writer.join();
            reader.join();
        },
        [](BlockArray<long, 1>& a) {
            EXPECT_EQ(a(6), 66);
            EXPECT_EQ(a(5), 55);
        });
}

/// Each pattern of a matrix, by its name.
template <class Use>
void for_each_pattern(const Use& use) {
    using Array = BlockArray<long, 2>;
    use("stencil", [](Array& a, const Prefetch& how) { a.prefetch_stencil(2, false, how); });
    use("row_wise", [](Array& a, const Prefetch& how) { a.prefetch_row_wise(how); });
    use("column_wise", [](Array& a, const Prefetch& how) { a.prefetch_column_wise(how); });
    use("transpose", [](Array& a, const Prefetch& how) { a.prefetch_transpose(how); });
    use("all_to_all", [](Array& a, const Prefetch& how) { a.prefetch_all_to_all(how); });
    use("custom", [](Array& a, const Prefetch& how) {
        const std::vector<Box<2>> row{Box<2>({0, 0}, {2, 9}), Box<2>({4, 4}, {9, 6}), Box<2>({8, 0}, {9, 9})};
        a.prefetch_custom(std::vector(static_cast<std::size_t>(ranks()), row), how);
    });
    use("observed", [](Array& a, const Prefetch& how) {
        a.observe();
        for (std::int64_t i = 0; i < 9; ++i)
            (void)a.read({i, (i + rank()) % 9});
        a.prefetch_observed(how);
    });
}

TEST(Prefetching, LaterThanThePatternIsCalled) {
    for (const bool consistent : {true, false})
        for (const bool asynchronous : {true, false})
            for_each_pattern([&](const char* name, const auto& prefetch) {
                SCOPED_TRACE(name);
                std::atomic<std::uint64_t> all_entries = 0;  // some ranks need nothing
                launch(array_options(4), [&] {
                    BlockArray<long, 2> a({9, 9});
                    const auto set_all = [&](long round) {
                        barrier();
                        a.for_each([&](const Index<2>& i, long& element) { element = value_at(i, round); });
                        barrier();
                    };
                    const auto update = [&] {
                        if (asynchronous)
                            a.update_prefetch_async().wait();
                        else
                            a.update_prefetch();
                    };
                    const auto expect_all = [&](long round) {
                        for_each_index(a.bounds(),
                                       [&](const Index<2>& i) { ASSERT_EQ(a.read(i), value_at(i, round)); });
                    };
                    set_all(1);
                    prefetch(a, {.consistent = consistent, .later = true});
                    const std::uint64_t entries = prefetch_statistics().entries;
                    all_entries += entries;
                    EXPECT_EQ(prefetch_statistics().updates, 0u);
                    const auto prefetched = [&] {
                        std::int64_t count = 0;
                        for_each_index(a.bounds(), [&](const Index<2>& i) {
                            count += a.own(i) == nullptr && a.is_prefetched(i) ? 1 : 0;
                        });
                        return count;
                    };
                    if (!consistent) {
                        EXPECT_EQ(prefetched(), 0) << "not before it is there";
                        expect_all(1);
                    }
                    set_all(2);
                    update();
                    const std::int64_t count = prefetched();
                    EXPECT_EQ(count > 0, entries > 0);
                    EXPECT_EQ(prefetch_statistics().entries, entries);
                    EXPECT_EQ(prefetch_statistics().updates, entries);
                    expect_all(2);
                    // The same pattern again, and after a resize.
                    set_all(3);
                    prefetch(a, {.consistent = consistent, .later = true});
                    update();
                    EXPECT_GE(prefetched(), count);
                    expect_all(3);
                    a.resize(Box<2>({0, 0}, {9, 8}));
                    EXPECT_TRUE(prefetched() > 0 || entries == 0);
                    expect_all(3);
                    barrier();
                });
                EXPECT_GT(all_entries, 0u);
            });
}

TEST(Prefetching, WhileTheRankComputes) {
    for (const bool cached : {true, false})
        for (const bool consistent : {true, false})
            launch(array_options(3, cached), [=] {
                BlockArray<long, 2> a({9, 7});
                const Box<2> own = a.own_box();
                // An element of the next rank; the last rank takes one that is in no halo.
                const Index<2> below{own.upper[0] % 9, 3};
                const auto halo = [&](const Index<2>& i) {
                    return a.own(i) == nullptr && own.lower[0] - 1 <= i[0] && i[0] <= own.upper[0];
                };
                a.for_each([](const Index<2>& i, long& element) { element = value_at(i, 1); });
                PrefetchTransfer done = a.prefetch_stencil_async(1, true, {.consistent = consistent});
                const std::uint64_t updates = prefetch_statistics().updates;
                for_each_index(a.bounds(), [&](const Index<2>& i) {
                    ASSERT_EQ(a.is_prefetched(i), consistent && halo(i)) << "not before it is there";
                });
                EXPECT_EQ(a(below[0], 4), value_at(Index<2>{below[0], 4}, 1));
                a(below[0], below[1]) = -1;  // during the transfer
                done.wait();
                done.wait();
                EXPECT_TRUE(done.test());
                for_each_index(a.bounds(), [&](const Index<2>& i) {
                    ASSERT_EQ(a.is_prefetched(i), halo(i));
                    const long expected = i == below ? -1 : value_at(i, 1);
                    ASSERT_TRUE(a[i] == expected || !(i == below || halo(i)));
                });
                EXPECT_GE(prefetch_statistics().updates - updates,
                          consistent ? 0 : prefetch_statistics().entries);

                for (long round = 2; round < 5; ++round) {
                    barrier();
                    a.for_each([&](const Index<2>& i, long& element) { element = value_at(i, round); });
                    barrier();
                    PrefetchTransfer next = a.update_prefetch_async();
                    while (!next.test())
                        yield();
                    next.wait();
                    const std::uint64_t before = prefetch_statistics().updates;
                    const std::uint64_t messages = statistics()["get_messages"];
                    for_each_index(a.bounds(), [&](const Index<2>& i) {
                        ASSERT_TRUE(!halo(i) || a[i] == value_at(i, round));
                    });
                    EXPECT_EQ(prefetch_statistics().updates, before) << "nothing is stale";
                    EXPECT_EQ(statistics()["get_messages"], messages);
                }
                barrier();
                {
                    const PrefetchTransfer dropped = a.update_prefetch_async();
                }
                PrefetchTransfer late = a.update_prefetch_async();
                a.evict_prefetch();
                EXPECT_THROW(late.wait(), Error);
                EXPECT_THROW((void)a.update_prefetch_async(), Error);
                barrier();
            });
}

TEST(Prefetching, WhatArrivesLateDoesNotReplaceWhatIsNewer) {
    for (const bool consistent : {true, false})
        launch(array_options(2), [=] {
            BlockArray<long, 1> a({20});
            a.fill(1);
            a.prefetch_all_to_all({.consistent = consistent});
            PrefetchTransfer late = a.update_prefetch_async();
            barrier();
            a.for_each([](const Index<1>&, long& element) { element = 2; });
            barrier();
            a.update_prefetch();
            late.wait();
            for (long i = 0; i < 20; ++i)
                EXPECT_EQ(a(i), 2);
            barrier();
        });
}

TEST(Prefetching, WrongUseIsNamed) {
    launch(array_options(2), [] {
        BlockArray<long, 1> a({10});
        const auto message = [&](const std::function<void()>& wrong) {
            try {
                wrong();
            } catch (const Error& error) {
                return std::string(error.what());
            }
            return std::string("none");
        };
        const std::string nothing =
            "update_prefetch: nothing is prefetched (no pattern was called, or its data was evicted): "
            "call a pattern first";
        EXPECT_EQ(message([&] { a.update_prefetch(); }), nothing);
        a.prefetch_stencil();
        EXPECT_EQ(message([&] { a.update_prefetch(); }), "none");
        a.evict_prefetch();
        a.evict_prefetch();
        EXPECT_EQ(message([&] { a.update_prefetch(); }), nothing);
        EXPECT_NE(message([&] { a.prefetch_stencil(0); }).find("depth 0"), std::string::npos);
        EXPECT_NE(message([&] { a.prefetch_custom({{}, {}, {}}); }).find("a table of 3 rows"),
                  std::string::npos);
        a.prefetch_all_to_all();
        EXPECT_NE(message([&] { (void)static_cast<long>(a(10)); }).find("index (10)"), std::string::npos);
        EXPECT_NE(message([&] { (void)a.is_prefetched({-1}); }).find("index (-1)"), std::string::npos);
    });
    const auto differ = [&](const std::string& what, const std::function<void(BlockArray<long, 1>&)>& wrong) {
        EXPECT_NE(failure(wrong).find(" in " + what + " at "), std::string::npos) << failure(wrong);
    };
    differ("prefetch_stencil", [](auto& a) { a.prefetch_stencil(1 + rank() / 2); });
    differ("prefetch_stencil", [](auto& a) { a.prefetch_stencil(1, rank() == 0); });
    differ("prefetch_stencil", [](auto& a) { a.prefetch_stencil({.periodic = rank() == 0}); });
    differ("prefetch_stencil_async", [](auto& a) { (void)a.prefetch_stencil_async(1 + rank() / 2); });
    differ("prefetch_row_wise", [](auto& a) { a.prefetch_row_wise({.consistent = rank() == 1}); });
    differ("prefetch_all_to_all", [](auto& a) { a.prefetch_all_to_all({.static_domain = rank() == 1}); });
    differ("prefetch_column_wise", [](auto& a) {
        if (rank() == 0)
            barrier();
        else
            a.prefetch_column_wise();
    });
    differ("prefetch_custom", [](auto& a) { a.prefetch_custom({{Box<1>({0}, {1 + rank()})}, {}, {}}); });
    EXPECT_EQ(failure([](auto& a) { a.prefetch_custom({{Box<1>({0}, {1})}, {}, {}}); }), "none");
    const std::string later = failure([](auto& a) {
        a.prefetch_stencil(1 + rank() / 2, true, {.barrier = false});
        a.prefetch_all_to_all({.barrier = false});
        a.fill(0);
    });
    EXPECT_NE(later.find("in fill at "), std::string::npos) << later;
    EXPECT_NE(later.find("(after prefetch_stencil at "), std::string::npos);
}

}  // namespace
}  // namespace nearfetch

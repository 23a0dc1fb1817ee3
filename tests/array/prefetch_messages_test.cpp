// SPDX-License-Identifier: Apache-2.0
//
// The cost of prefetching: messages, bytes, waits and memory.

#include "array_rig.hpp"

namespace nearfetch {
namespace {

TEST(Prefetching, APatternWithoutABarrierWaitsForNobody) {
    launch(array_options(3), [] {
        BlockArray<long, 1> a({90});
        a.for_each([](const Index<1>& i, long& element) { element = value_at(i); });
        barrier();
        // One at a time: a waiting rank would pass another's barriers.
        for (Rank turn = 0; turn < ranks(); ++turn) {
            if (turn == rank()) {
                a.prefetch_all_to_all({.consistent = false, .barrier = false});
                for (long i = 0; i < 90; ++i)
                    EXPECT_EQ(static_cast<long>(a(i)), value_at(Index<1>{i}));
            }
            barrier();
        }
        EXPECT_EQ(prefetch_statistics().updates, 2u);
        EXPECT_EQ(a.sum(), 45 * (value_at(Index<1>{0}) + value_at(Index<1>{89})));
        a.prefetch_stencil(1, true, {.barrier = false});
        a.fill(1);
        EXPECT_EQ(a.sum(), 90);
    });
}

TEST(Prefetching, WhatWasReadBeforeAnAcquireComesTogetherAfterIt) {
    for (const bool cached : {true, false})
        launch(array_options(4, cached), [] {
            BlockArray<long, 1> a({40});
            a.fill(0);
            a.prefetch_all_to_all();
            const std::uint64_t before = prefetch_statistics().updates;
            long round = 0;
            const auto updates_after = [&](std::initializer_list<long> indices) {
                for (const long i : indices)
                    if (rank() == 0) {
                        EXPECT_EQ(static_cast<long>(a(i)), round);
                    }
                const std::uint64_t updates = prefetch_statistics().updates - before;
                barrier();
                ++round;
                a.for_each([](const Index<1>&, long& element) { element += 1; });
                barrier();
                return rank() == 0 ? updates : 0;
            };
            const auto expect = [](std::uint64_t updates, std::uint64_t expected) {
                if (rank() == 0) {
                    EXPECT_EQ(updates, expected);
                }
            };
            expect(updates_after({10}), 3);          // first all that was requested
            expect(updates_after({10}), 4);          // the others were not read
            expect(updates_after({11, 29, 25}), 6);  // nor was the last one
            expect(updates_after({19, 20}), 8);      // together, but that is known
            expect(updates_after({}), 8);            // only at the next acquire
            expect(updates_after({20}), 10);
            expect(updates_after({39, 20, 10, 20}), 13);
        });
}

TEST(Prefetching, SavesMessages) {
    for (const bool cached : {true, false})
        launch(array_options(4, cached), [] {
            const Box<2> bounds({0, 0}, {80, 80});
            BlockArray<double, 2> a(bounds, {4, 1}), b(bounds, {4, 1});
            a.for_each(
                [](const Index<2>& i, double& element) { element = static_cast<double>(value_at(i)); });
            const auto messages = [] { return statistics()["get_messages"]; };
            for (const bool is_static : {true, false}) {
                a.prefetch_transpose({.consistent = true, .static_domain = is_static});
                for (int round = 0; round < 2; ++round) {
                    const std::uint64_t before = messages();
                    b.for_each([&](const Index<2>& i, double& element) { element = a(i[1], i[0]); });
                    // A GET from each of 3 owners that covers the gaps, or a message that is no GET.
                    EXPECT_EQ(messages() - before, is_static ? 3u : 0u);
                    b.for_each([&](const Index<2>& i, double& element) {
                        ASSERT_EQ(element, static_cast<double>(value_at(Index<2>{i[1], i[0]})));
                    });
                    barrier();
                }
                a.evict_prefetch();
            }
        });
}

TEST(Prefetching, PassiveOwnersGiveAlongWhatIsLittleAndPackWhatIsFar) {
    struct Case {
        std::int64_t rows, columns, hole_bytes;
        std::uint64_t gets;
        bool packed;
    };
    // A column of the other rank with so many bytes between elements. Up to 16 GETs and 16 KiB of gaps the
    // owner stays passive.
    for (const Case& each :
         {Case{100, 20, 72, 1, false}, Case{18, 258, 1024, 2, false}, Case{19, 258, 1024, 2, true},
          Case{16, 260, 1032, 16, false}, Case{17, 260, 1032, 17, true}})
        launch(array_options(2), [&each] {
            const auto [rows, columns, hole_bytes, gets, packed] = each;
            BlockArray<long, 2> a(Box<2>({}, {rows, columns}), {1, 2});
            ASSERT_EQ(a.own_box().extent(1) * 8 - 8, hole_bytes);
            a.for_each([](const Index<2>& i, long& element) { element = value_at(i); });
            barrier();
            const std::int64_t next = rank() == 0 ? columns / 2 : columns / 2 - 1;
            const auto check = [&](long round) {
                for (std::int64_t i = 0; i < each.rows; ++i)
                    ASSERT_EQ(a(i, next), value_at(Index<2>{i, next}) + round);
            };
            const std::uint64_t before = statistics()["get_messages"];
            a.prefetch_stencil(1, true, {.consistent = false, .static_domain = true});
            check(0);
            const std::uint64_t messages = packed ? 0 : gets;
            EXPECT_EQ(statistics()["get_messages"] - before, messages);
            barrier();
            a.for_each([](const Index<2>&, long& element) { element += 1; });
            barrier();
            PrefetchTransfer update = a.update_prefetch_async();
            EXPECT_EQ(statistics()["get_messages"] - before, messages + gets);
            check(0);
            while (!update.test())
                yield();
            update.wait();
            check(1);
            EXPECT_EQ(statistics()["get_messages"] - before, messages + gets);
            barrier();
        });
}

TEST(Prefetching, ManyPassiveOwnersPackBeforeOneWould) {
    struct Case {
        Rank ranks;
        std::int64_t rows;  ///< of each, too far from each other for one GET
        bool packed;
    };
    // 64 GETs are outstanding together. So each of 8 owners may take 8, and of 31 owners 4.
    for (const Case& each : {Case{9, 8, false}, Case{9, 9, true}, Case{32, 4, false}, Case{32, 5, true}})
        launch(array_options(each.ranks), [&each] {
            BlockArray<long, 2> a(Box<2>({}, {each.rows * ranks(), 256}), {ranks(), 1});
            a.for_each([](const Index<2>& i, long& element) { element = value_at(i); });
            barrier();
            const Box<2> column({0, 3}, {a.bounds().upper[0], 4});
            const std::uint64_t before = statistics()["get_messages"];
            a.prefetch_custom(
                [&](const auto&, Rank reader) {
                    return reader == 0 ? std::vector{column} : std::vector<Box<2>>();
                },
                {.consistent = false, .static_domain = true});
            if (rank() == 0) {
                const std::int64_t gets = each.packed ? 0 : (ranks() - 1) * each.rows;
                EXPECT_EQ(statistics()["get_messages"] - before, static_cast<std::uint64_t>(gets));
                for (std::int64_t i = 0; i < column.upper[0]; ++i)
                    ASSERT_EQ(a(i, 3), value_at(Index<2>{i, 3}));
            }
            barrier();
        });
}

/// While it lives, another task exists.
class Beside {
  public:
    ~Beside() {
        done_ = true;
        task_.join();
    }
    void wait_for_it() const {
        while (!runs_)
            yield();
    }

  private:
    std::atomic<bool> runs_ = false, done_ = false;
    Task task_ = spawn([this] {
        runs_ = true;
        while (!done_)
            yield();
    });
};

TEST(Prefetching, WhatIsLargeComesInPiecesWhereOthersMayReadMeanwhile) {
    LaunchOptions options = array_options(2);
    struct Case {
        std::array<Rank, 2> grid;
        Box<2> box;
        bool alone;
        std::uint64_t gets, bytes;
    };
    // Of the other rank: contiguous, or packed by it.
    for (const Case& each : {Case{{2, 1}, {{0, 0}, {512, 256}}, true, 1, 256 * 256 * 8},
                             Case{{2, 1}, {{0, 0}, {512, 256}}, false, 8, 256 * 256 * 8},
                             Case{{1, 2}, {{0, 1}, {512, 255}}, true, 0, 512 * 127 * 8},
                             Case{{1, 2}, {{0, 1}, {512, 255}}, false, 0, 512 * 127 * 8}})
        launch(options, [&each] {
            BlockArray<long, 2> a(Box<2>({}, {512, 256}), each.grid);
            a.for_each([](const Index<2>& i, long& element) { element = value_at(i); });
            a.prefetch_custom({{each.box}, {each.box}});
            const BlockArray<long, 2>& same = a;
            std::optional<Beside> beside;
            if (!each.alone) beside.emplace().wait_for_it();
            for (long round = 0; round < 3; ++round) {
                const std::uint64_t before = statistics()["get_messages"];
                for_each_index(each.box, [&](const Index<2>& i) { ASSERT_EQ(same[i], value_at(i) + round); });
                EXPECT_EQ(statistics()["get_messages"] - before, each.gets);
                EXPECT_EQ(prefetch_statistics().updated_bytes,
                          static_cast<std::uint64_t>(round + 1) * each.bytes);
                barrier();
                a.for_each([](const Index<2>&, long& element) { element += 1; });
                barrier();
            }
        });
}

TEST(Prefetching, DoesNotFillThePageCache) {
    launch(array_options(2), [] {
        BlockArray<long, 1> a({200});
        a.prefetch_all_to_all({.consistent = false, .static_domain = true});
        if (rank() == 0) {
            const std::uint64_t messages = statistics()["get_messages"];
            a.update_prefetch();
            EXPECT_EQ(statistics()["get_messages"], messages + 1);
            a.evict_prefetch();
            EXPECT_EQ(static_cast<long>(a(150)), 0);
            EXPECT_GE(statistics()["get_messages"], messages + 2) << "no page has it";
        }
        barrier();
    });
}

TEST(Prefetching, OnAModelledNetwork) {
    for (const bool cached : {true, false}) {
        LaunchOptions options = array_options(4, cached);
        options.network = "aries";
        options.virtual_time = true;
        options.jitter_ns = 300;
        launch(options, [] {
            BlockArray<long, 2> a({24, 24});
            a.for_each([](const Index<2>& i, long& element) { element = value_at(i); });
            const auto read_all = [&] {
                const std::uint64_t begin_ns = now_ns();
                for_each_index(a.own_box(), [&](const Index<2>& i) {
                    ASSERT_EQ(a(i[1], i[0]), value_at(Index<2>{i[1], i[0]}));
                });
                return now_ns() - begin_ns;
            };
            for (const Prefetch& how :
                 {Prefetch{true, true}, Prefetch{true, false}, Prefetch{false, false}}) {
                a.prefetch_transpose(how);
                read_all();
                EXPECT_EQ(read_all(), 0u) << "nothing that takes time";
                a.evict_prefetch();
            }
            barrier();
        });
    }
}

}  // namespace
}  // namespace nearfetch

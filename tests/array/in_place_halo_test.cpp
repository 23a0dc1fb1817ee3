// SPDX-License-Identifier: Apache-2.0
//
// Arrays with room for a halo: own elements with rows of other ranks around them, in place.

#include "array_rig.hpp"

namespace nearfetch {
namespace {

template <std::size_t N>
void number(BlockArray<long, N>& a, long round = 0) {
    a.for_each([&](const Index<N>& i, long& element) { element = value_at(i, round); });
    barrier();
}

/// Compares with single reads; own elements are where they were.
void expect_around(BlockArray<long, 2>& a, std::int64_t depth, bool periodic) {
    const View<long, 2> around = a.with_halo(depth, periodic);
    const Box<2> own = a.own_box();
    if (a.local().empty()) {
        EXPECT_TRUE(around.empty());
        return;
    }
    Box<2> covered = own;
    covered.lower[0] -= depth;
    covered.upper[0] += depth;
    if (!periodic) covered = intersection(covered, a.bounds());
    ASSERT_EQ(around.shape(), covered.shape());
    EXPECT_EQ(&around(own.lower[0] - covered.lower[0], 0), a.local().data()) << "no own element is copied";
    for_each_index(covered, [&](const Index<2>& i) {
        ASSERT_EQ(around(i[0] - covered.lower[0], i[1] - covered.lower[1]), a.read(wrapped(i, a.bounds())))
            << "depth " << depth << (periodic ? ", periodic" : "") << " at " << i[0] << ", " << i[1];
    });
}

TEST(InPlaceHalo, HasTheRowsOfOtherRanks) {
    for (const Rank count : {1, 2, 3, 4, 7})
        for (const bool cached : {true, false})
            launch(array_options(count, cached), [] {
                std::vector<Box<2>> boxes = odd_boxes();
                boxes.push_back({{0, 0}, {9, 0}});
                for (const Box<2>& bounds : boxes)
                    for (const std::int64_t rows : {1, 3, 30}) {
                        BlockArray<long, 2> a(bounds, {ranks(), 1}, {1, 1}, HaloRoom{rows});
                        number(a);
                        for (std::int64_t depth = 0; depth <= std::min<std::int64_t>(rows, 14); ++depth)
                            for (const bool periodic : {false, true})
                                expect_around(a, depth, periodic);
                        barrier();
                    }
            });
}

TEST(InPlaceHalo, OfOneDimensionAndOfFour) {
    launch(array_options(3), [] {
        BlockArray<long, 1> line({7}, HaloRoom{2});
        number(line);
        const View<long, 1> around = line.with_halo(2, true);
        const std::vector<std::vector<long>> expected{
            {5, 6, 0, 1, 2, 3, 4}, {1, 2, 3, 4, 5, 6}, {3, 4, 5, 6, 0, 1}};
        std::vector<long> seen;
        for (const long value : around)
            seen.push_back(value - 50);
        EXPECT_EQ(seen, expected[static_cast<std::size_t>(rank())]);
        BlockArray<long, 4> a({3, 2, 2, 3}, HaloRoom{1});
        EXPECT_EQ(a.layout().grid(), (std::array<Rank, 4>{3, 1, 1, 1}));
        number(a);
        const View<long, 4> block = a.with_halo();
        const std::int64_t lower = std::max(rank() - 1, 0);
        for_each_index(Box<4>({}, block.shape()), [&](const Index<4>& i) {
            ASSERT_EQ(block[i], value_at(Index<4>{i[0] + lower, i[1], i[2], i[3]}));
        });
        barrier();
    });
}

TEST(InPlaceHalo, ElementsOfAnySizeKeepTheirAlignment) {
    struct Three {
        std::array<char, 3> letters;
    };
    struct alignas(64) Line {
        std::array<long, 8> words;
    };
    const auto check = []<class T>(const T&) {
        BlockArray<T, 2> a({8, 5}, HaloRoom{1});
        BlockArray<T, 2> plain(Box<2>({0, 0}, {8, 5}), {ranks(), 1});
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(a.local().data()) % 64, 0u);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(plain.local().data()) % 64, 0u);
        const auto byte = [](const Index<2>& i) { return static_cast<unsigned char>(1 + value_at(i) % 200); };
        a.for_each([&](const Index<2>& i, T& element) {
            std::memset(static_cast<void*>(&element), byte(i), sizeof(T));
        });
        barrier();
        const View<T, 2> around = a.with_halo();
        const std::int64_t lower = std::max<std::int64_t>(0, a.own_box().lower[0] - 1);
        for_each_index(Box<2>({}, around.shape()), [&](const Index<2>& i) {
            unsigned char last = 0;
            std::memcpy(&last, reinterpret_cast<const char*>(&around[i]) + sizeof(T) - 1, 1);
            ASSERT_EQ(last, byte({i[0] + lower, i[1]}));
        });
        barrier();
    };
    launch(array_options(4), [&] {
        check(char{});
        check(Three{});
        check(Line{});
    });
}

TEST(InPlaceHalo, OnlyTheHaloMoves) {
    launch(array_options(4), [] {
        BlockArray<long, 2> a({40, 1024}, HaloRoom{2});
        number(a);
        const auto moved = [&](const char* what, std::int64_t depth) {
            const std::uint64_t before = statistics()[what];
            (void)a.with_halo(depth);
            return statistics()[what] - before;
        };
        const std::uint64_t sides = rank() == 0 || rank() == 3 ? 1 : 2;
        EXPECT_EQ(moved("get_message_bytes", 2), sides * 2 * 1024 * sizeof(long));
        barrier();
        EXPECT_LE(moved("get_messages", 1), sides * 8) << "of 1 KiB";
        barrier();
        for (const bool consistent : {true, false}) {
            a.prefetch_stencil(2, true, {.consistent = consistent});
            (void)a.with_halo(2);
            EXPECT_EQ(moved("get_messages", 2), 0u);
            EXPECT_EQ(moved("get_messages", 1), 0u);
            EXPECT_EQ(moved("calls", 2), 0u);
            a.evict_prefetch();
            barrier();
        }
    });
}

// Both of its neighbours are the other rank, so its slices are asked for twice in one call.
TEST(InPlaceHalo, PeriodicOfTwoRanks) {
    for (const bool consistent : {true, false})
        launch(array_options(2), [consistent] {
            BlockArray<long, 2> a({6, 5}, HaloRoom{3});
            for (long round = 1; round <= 4; ++round) {
                a.for_each([&](const Index<2>& i, long& element) { element = value_at(i, round); });
                barrier();
                if (round == 1)
                    a.prefetch_stencil({.depth = {2, 1}, .periodic = true}, {.consistent = consistent});
                if (!consistent) a.update_prefetch();
                for (const std::int64_t depth : {1, 2, 3})
                    expect_around(a, depth, true);
                barrier();
            }
        });
}

TEST(InPlaceHalo, ShowsWhatTheOwnersHaveWrittenBeforeTheBarrier) {
    launch(array_options(3), [] {
        BlockArray<long, 2> a({9, 4}, HaloRoom{1}), b({9, 4}, HaloRoom{1});
        number(a);
        BlockArray<long, 2>*from = &a, *to = &b;
        for (int step = 0; step < 5; ++step, std::swap(from, to)) {
            const View<long, 2> around = from->with_halo(1, true);
            to->for_each([&](const Index<2>& i, long& element) {
                const std::int64_t row = i[0] - to->own_box().lower[0];
                element = around(row, i[1]) + around(row + 2, i[1]);
            });
            barrier();
        }
        // The same on one rank's memory.
        std::array<std::array<long, 4>, 9> now, next;
        for_each_index(a.bounds(), [&](const Index<2>& i) { now[i[0]][i[1]] = value_at(i); });
        for (int step = 0; step < 5; ++step, now = next)
            for_each_index(a.bounds(), [&](const Index<2>& i) {
                next[i[0]][i[1]] = now[(i[0] + 8) % 9][i[1]] + now[(i[0] + 1) % 9][i[1]];
            });
        for_each_index(a.bounds(), [&](const Index<2>& i) { ASSERT_EQ(from->read(i), now[i[0]][i[1]]); });
        barrier();
    });
}

TEST(InPlaceHalo, WritesToTheRoomReachNobody) {
    launch(array_options(3), [] {
        BlockArray<long, 2> a({7, 3}, HaloRoom{2});
        number(a);
        const View<long, 2> around = a.with_halo(2, true);
        std::ranges::fill(around, -1);
        for_each_index(a.own_box(), [&](const Index<2>& i) { a[i] = value_at(i); });
        barrier();
        for_each_index(a.bounds(), [&](const Index<2>& i) { ASSERT_EQ(a.read(i), value_at(i)); });
        EXPECT_EQ(a.sum(), a.reduce(0L, std::plus<>(), [](const Index<2>& i, long) { return value_at(i); }));
        expect_around(a, 2, true);
        barrier();
    });
}

TEST(InPlaceHalo, ResizeKeepsTheRoom) {
    for (const Rank count : {1, 2, 3, 5})
        launch(array_options(count), [] {
            std::mt19937 same(static_cast<unsigned>(ranks()));
            BlockArray<long, 2> a(Box<2>({-2, 0}, {7, 5}), {ranks(), 1}, {1, 1}, HaloRoom{2});
            for (long round = 1; round <= 20; ++round) {
                number(a, round);
                const Box<2> before = a.bounds();
                a.resize(random_part(Box<2>({-4, -4}, {12, 40}), same));
                for_each_index(a.bounds(), [&](const Index<2>& i) {
                    ASSERT_EQ(a[i], before.contains(i) ? value_at(i, round) : 0);
                });
                expect_around(a, 1 + round % 2, round % 3 == 0);
                barrier();
            }
            a.resize(Box<2>({0, 0}, {1000, 1000}));
            number(a);
            expect_around(a, 2, true);
            barrier();
        });
}

// The memory of all arrays of a program together is many times the first segment.
TEST(InPlaceHalo, MemoryIsUsedAgainWithItsRoom) {
    launch(array_options(3), [] {
        for (long round = 1; round <= 30; ++round) {
            BlockArray<long, 2> a({150, 1000}, HaloRoom{1 + round % 3});
            BlockArray<long, 1> other({100});
            ASSERT_EQ(a.sum(), 0);
            ASSERT_EQ(other.sum(), 0);
            a.fill(round);
            std::ranges::fill(a.with_halo(1, true), round);
            other.fill(-round);
            ASSERT_EQ(a.sum(), 150'000 * round);
            ASSERT_EQ(other.sum(), -100 * round);
        }
        try {
            const BlockArray<long, 2> large({3, 1000}, HaloRoom{std::int64_t{1} << 61});
            ADD_FAILURE() << "there is no room";
        } catch (const Error& error) {
            EXPECT_NE(std::string(error.what()).find("no memory for"), std::string::npos) << error.what();
        }
    });
}

TEST(InPlaceHalo, WrongUseIsNamed) {
    using Wrong = std::function<void()>;
    const auto expect = [](const std::string& what, const Wrong& wrong) {
        std::string said = "none";
        try {
            launch(array_options(4), wrong);
        } catch (const Error& error) {
            said = error.what();
        }
        EXPECT_NE(said.find(what), std::string::npos) << said;
    };
    const Box<2> bounds({0, 0}, {8, 8});
    expect("of depth 1, on a grid with 2 ranks in dimension 1 (rows of a halo stand beside own ones only",
           [&] { const BlockArray<long, 2> a(bounds, {2, 2}, {1, 1}, HaloRoom{1}); });
    expect("of depth 2 (what a rank owns is not one block): use a BlockArray",
           [&] { const CyclicArray<long, 2> a(bounds, {4, 1}, {1, 1}, HaloRoom{2}); });
    expect("of depth -1 (it is how far the halo reaches): use 0 or more",
           [] { const BlockArray<long, 2> a({8, 8}, HaloRoom{-1}); });
    expect("ranks 0 to 2 in DistributedArray",
           [] { const BlockArray<long, 2> a({8, 8}, HaloRoom{1 + rank() / 3}); });
    launch(array_options(4), [&] {
        BlockArray<long, 2> a({8, 8}, HaloRoom{1});
        a.fill(3);
        for (const std::int64_t depth : {-1, 2}) {
            try {
                (void)a.with_halo(depth);
                ADD_FAILURE() << "there is no room";
            } catch (const Error& error) {
                EXPECT_EQ(std::string(error.what()),
                          "with_halo of depth " + std::to_string(depth) +
                              " (the array has room for a depth of 1): use a depth of 0 up to that, or "
                              "make the array with more room");
            }
        }
        EXPECT_THROW(a.resize(bounds, {2, 2}), Error);
        EXPECT_EQ(a.layout().grid(), (std::array<Rank, 2>{4, 1}));
        EXPECT_EQ(a.sum(), 3 * 64);
        CyclicArray<long, 2> none({8, 8});
        EXPECT_THROW((void)none.with_halo(1), Error);
        EXPECT_EQ(none.with_halo(0).size(), none.local().size());
        barrier();
    });
}

}  // namespace
}  // namespace nearfetch

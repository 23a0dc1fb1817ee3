// SPDX-License-Identifier: Apache-2.0
//
// Large slices that ranks of a node hold once: two nodes of two ranks, whose parts of the array have 512 KiB.
// Of the parts of the other node both ranks of a node have the same slices.

#include <fcntl.h>
#include <unistd.h>

#include <bit>

#include "node_rig.hpp"

namespace nearfetch {
namespace {

constexpr std::uint64_t part_bytes = std::uint64_t{512} << 10;
constexpr std::uint64_t node_bytes = 2 * part_bytes;  ///< of the other node's ranks
constexpr pgas::NodeSharing::Sizes enough{1 << 20, 1 << 24};

using Array = BlockArray<long, 2>;
const Box<2> bounds({0, 0}, {512, 512});

std::uint64_t version_bytes() { return pgas::Context::here().runtime().node_sharing()->version_bytes(); }

/// The ranks of each node one after the other, without an acquire.
class InOrder {
  public:
    void operator()(const std::function<void()>& work) {
        Stages& node = nodes_[static_cast<std::size_t>(rank() / 2)];
        const int stage = ++stages_[static_cast<std::size_t>(rank())];
        if (rank() % 2 == 1) node.wait_for(stage);
        work();
        if (rank() % 2 == 0) node.reach(stage);
    }

  private:
    std::array<Stages, 2> nodes_;
    std::array<int, 4> stages_{};
};

/// The first index of a rank's part.
Index<2> first_of(const Array& a, Rank owner) { return a.layout().global(owner, Index<2>{0, 0}); }
/// Both ranks of the other node.
std::array<Rank, 2> far_ranks() { return rank() < 2 ? std::array<Rank, 2>{2, 3} : std::array<Rank, 2>{0, 1}; }

/// How many pages within a prefetched box this rank does not share; nullopt: the system does not tell.
template <std::size_t N>
std::optional<std::uint64_t> own_pages(const BlockArray<long, N>& a, const Box<N>& box) {
    const Resident<long, N> part = a.resident(box);
    EXPECT_TRUE(part);
    const auto page_bytes = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
    const auto begin = std::bit_cast<std::uintptr_t>(part.elements.data());
    const std::uint64_t first = (begin + page_bytes - 1) / page_bytes;
    const std::uint64_t end = (begin + static_cast<std::uint64_t>(box.size()) * sizeof(long)) / page_bytes;
    std::vector<std::uint64_t> pages(end - first);
    const int file = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    const ssize_t size = pread(file, pages.data(), 8 * pages.size(), static_cast<off_t>(8 * first));
    if (file >= 0) close(file);
    if (size != static_cast<ssize_t>(8 * pages.size())) return {};
    // proc_pid_pagemap(5): present, and neither of a file nor shared.
    return static_cast<std::uint64_t>(std::ranges::count_if(
        pages, [](std::uint64_t page) { return page >> 63 != 0 && (page >> 61 & 1) == 0; }));
}

void write_all(Array& a, long round) {
    barrier();
    a.for_each([&](const Index<2>& i, long& element) { element = value_at(i, round); });
    barrier();
}
void expect_all(const Array& a, long round) {
    for_each_index(a.bounds(), [&](const Index<2>& i) { ASSERT_EQ(a.read(i), value_at(i, round)); });
}

void expect_own_pages(const Array& a, Rank owner, std::uint64_t expected) {
    const Index<2> lower = first_of(a, owner);
    if (const auto pages = own_pages(a, Box<2>(lower, {lower[0] + 256, lower[1] + 256}))) {
        EXPECT_EQ(*pages, expected) << "of rank " << owner;
    }
}

TEST(NodeSlices, AreHeldOnceByTheRanksOfANode) {
    for (const bool consistent : {true, false}) {
        InOrder in_order;
        launch_on_nodes(array_options(4), enough, [&] {
            Array a(bounds);
            write_all(a, 0);
            a.prefetch_all_to_all({.consistent = consistent, .static_domain = true});
            for (int round = 1; round < 5; ++round) {
                write_all(a, round);
                const std::uint64_t before = prefetch_statistics().bytes_from_node;
                in_order([&] {
                    if (!consistent) a.update_prefetch();
                    expect_all(a, round);
                });
                EXPECT_EQ(prefetch_statistics().bytes_from_node - before, rank() % 2 == 0 ? 0 : node_bytes);
                for (const Rank owner : far_ranks())
                    expect_own_pages(a, owner, 0);
                barrier();
                EXPECT_EQ(prefetch_statistics().bytes, 3 * part_bytes);
                EXPECT_EQ(prefetch_statistics().shared_bytes, node_bytes);
                EXPECT_EQ(version_bytes(), node_bytes);
                barrier();
            }
        });
    }
}

// Slices are larger than what several threads of a rank may stage.
TEST(NodeSlices, RanksAndThreadsThatFetchThemAtTheSameTimeSeeTheSame) {
    for (const std::size_t more_threads : {0, 1})
        launch_on_nodes(array_options(4), enough, [&] {
            Array a(bounds);
            a.prefetch_all_to_all();
            for (int round = 1; round < 20; ++round) {
                write_all(a, round);
                std::vector<Task> others;
                while (others.size() < more_threads)
                    others.push_back(spawn([&] { expect_all(a, round); }));
                expect_all(a, round);
                for (Task& other : others)
                    other.join();
                EXPECT_EQ(prefetch_statistics().shared_bytes, node_bytes);
            }
        });
}

TEST(NodeSlices, APutIsSeenByItsOwnRankOnly) {
    InOrder in_order;
    launch_on_nodes(array_options(4), enough, [&] {
        Array a(bounds);
        write_all(a, 1);
        a.prefetch_all_to_all({.consistent = false, .static_domain = true});
        barrier();
        in_order([&] { a.update_prefetch(); });
        barrier();
        const Rank owner = far_ranks()[0];
        const Index<2> first = first_of(a, owner), next{first[0], first[1] + 1};
        in_order([&] {
            if (rank() % 2 == 0) {
                a[first] = 77;
                EXPECT_EQ(a.read(first), 77);
                EXPECT_EQ(a.read(next), value_at(next, 1)) << "on the same page";
            } else {
                EXPECT_EQ(a.read(first), value_at(first, 1)) << "as old as the last update";
            }
        });
        barrier();
        EXPECT_EQ(a.read(first), rank() % 2 == 0 ? 77 : value_at(first, 1));
        expect_own_pages(a, owner, rank() % 2 == 0 ? 1 : 0);
        EXPECT_EQ(version_bytes(), node_bytes);
        barrier();
        in_order([&] { a.update_prefetch(); });
        EXPECT_EQ(a.read(first), 77);
        expect_own_pages(a, owner, 0);
    });
}

TEST(NodeSlices, WhatATransferBringsIsNotShared) {
    InOrder in_order;
    launch_on_nodes(array_options(4), enough, [&] {
        Array a(bounds);
        write_all(a, 1);
        a.prefetch_all_to_all({.consistent = false});
        write_all(a, 2);
        a.update_prefetch_async().wait();
        expect_all(a, 2);
        EXPECT_EQ(prefetch_statistics().shared_bytes, 0u);
        barrier();
        EXPECT_EQ(version_bytes(), 0u);
        write_all(a, 3);
        in_order([&] { a.update_prefetch(); });
        expect_all(a, 3);
        EXPECT_EQ(prefetch_statistics().shared_bytes, node_bytes);
    });
}

TEST(NodeSlices, WithoutRoomEachRankHasACopy) {
    InOrder in_order;
    launch_on_nodes(array_options(4), {1 << 20, part_bytes}, [&] {
        Array a(bounds);
        a.prefetch_all_to_all();
        for (int round = 1; round < 4; ++round) {
            write_all(a, round);
            in_order([&] { expect_all(a, round); });
            barrier();
            EXPECT_LE(version_bytes(), part_bytes);
            EXPECT_LE(prefetch_statistics().shared_bytes, part_bytes);
            barrier();
        }
    });
}

TEST(NodeSlices, GoWithTheirEntries) {
    launch_on_nodes(array_options(4), enough, [&] {
        {
            Array a(bounds);
            write_all(a, 1);
            const auto prefetch = [&] {
                a.prefetch_all_to_all();
                write_all(a, 2);
                expect_all(a, 2);
                EXPECT_GT(version_bytes(), 0u);
                barrier();
            };
            prefetch();
            a.evict_prefetch();
            barrier();
            EXPECT_EQ(version_bytes(), 0u);
            prefetch();
            a.resize(Box<2>({0, 0}, {4, 4}));
            barrier();
            EXPECT_EQ(version_bytes(), 0u);
            a.resize(bounds);
            prefetch();
        }
        barrier();
        EXPECT_EQ(version_bytes(), 0u);
    });
}

TEST(NodeSlices, SetsAreSharedAsBoxesAre) {
    InOrder in_order;
    launch_on_nodes(array_options(4), enough, [&] {
        Array a(bounds);
        write_all(a, 1);
        // Gaps of 24 bytes are not closed.
        const auto read = [&](long round) {
            for (std::int64_t i = 0; i < 512; ++i)
                for (std::int64_t j = i % 4; j < 512; j += 4)
                    ASSERT_EQ(a.read({i, j}), value_at(Index<2>{i, j}, round));
        };
        a.observe();
        read(1);
        a.prefetch_observed();
        for (long round = 2; round < 6; ++round) {
            write_all(a, round);
            const std::uint64_t before = prefetch_statistics().bytes_from_node;
            in_order([&] { read(round); });
            // The first time owners pack they make a context, which acquires.
            if (round > 2) {
                EXPECT_EQ(prefetch_statistics().bytes_from_node - before,
                          rank() % 2 == 0 ? 0 : node_bytes / 4);
            }
            EXPECT_EQ(prefetch_statistics().shared_bytes, node_bytes / 4);
            barrier();
        }
    });
}

TEST(NodeSlices, OfVectorsAreHeldOnceInAllReplicas) {
    InOrder in_order;
    launch_on_nodes(array_options(4), enough, [&] {
        constexpr std::int64_t each = 25'001;  // parts begin inside of pages
        BlockArray<long, 1> a({4 * each});
        a.prefetch_all_to_all();
        for (long round = 1; round < 4; ++round) {
            a.for_each([&](const Index<1>& i, long& element) { element = value_at(i, round); });
            barrier();
            const std::uint64_t before = prefetch_statistics().bytes_from_node;
            in_order([&] {
                for (std::int64_t i = 0; i < 4 * each; ++i)
                    ASSERT_EQ(a.read({i}), value_at(Index<1>{i}, round));
            });
            EXPECT_EQ(prefetch_statistics().bytes_from_node - before, rank() % 2 == 0 ? 0 : 16 * each);
            EXPECT_EQ(prefetch_statistics().shared_bytes, 16 * each);
            const std::int64_t far = rank() < 2 ? 2 : 0;
            for (const std::int64_t owner : {far, far + 1})
                if (const auto pages = own_pages(a, Box<1>({owner * each}, {(owner + 1) * each}))) {
                    EXPECT_EQ(*pages, 0u) << "of rank " << owner;
                }
            barrier();
        }
        a.evict_prefetch();
        barrier();
        EXPECT_EQ(version_bytes(), 0u);
    });
}

}  // namespace
}  // namespace nearfetch

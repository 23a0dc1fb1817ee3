// SPDX-License-Identifier: Apache-2.0
//
// What ranks of a node find of each other's fetches, worked by hand: two ranks of one node, with ranks 2 and
// 3 on another one.

#include "pgas/node_sharing.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <utility>

#include "node_memories.hpp"

namespace nearfetch {
namespace {

using pgas::NodeSharing;

class NodeSharingTest : public ::testing::Test {
  protected:
    void fetch(NodeSharing& rank, const NodeSharing::Name& name, long value, NodeTime issued) {
        const std::array<long, 2> bytes{value, -value};
        rank.offer(name, issued, reinterpret_cast<const std::byte*>(bytes.data()));
    }
    /// 0: nothing.
    long found(NodeSharing& rank, const NodeSharing::Name& name) {
        std::array<long, 2> bytes{};
        if (!rank.find(name, reinterpret_cast<std::byte*>(bytes.data()))) return 0;
        EXPECT_EQ(bytes[1], -bytes[0]);
        return bytes[0];
    }
    /// A moment that is later than all before.
    static NodeTime later() {
        const NodeTime before = steady_ns();
        while (steady_ns() <= before + 1) {
        }
        return steady_ns();
    }

    const NodeMemories memories_{4, 2, {1 << 20, 1 << 24}};
    NodeSharing first_{memories_.of_node(0)};
    NodeSharing second_{memories_.of_node(0)};
    NodeSharing far_{memories_.of_node(1)};
    const NodeSharing::Name name_{2, 10, 20, 16};
};

TEST_F(NodeSharingTest, OneRankFindsWhatAnotherOneHasFetched) {
    fetch(first_, name_, 7, later());
    EXPECT_EQ(found(second_, name_), 7);
    EXPECT_EQ(found(first_, name_), 7);
    EXPECT_EQ(found(far_, name_), 0);
    EXPECT_EQ(found(second_, {3, 10, 20, 16}), 0);
    EXPECT_EQ(found(second_, {2, 11, 20, 16}), 0);
    EXPECT_EQ(found(second_, {2, 10, 24, 16}), 0);
}

TEST_F(NodeSharingTest, RanksOfTheSameNodeAreNotLookedUp) {
    EXPECT_FALSE(first_.serves(0));
    EXPECT_FALSE(first_.serves(1));
    EXPECT_TRUE(first_.serves(2));
    EXPECT_TRUE(far_.serves(1));
}

TEST_F(NodeSharingTest, AfterAnAcquireOnlyLaterFetchesServe) {
    const NodeTime before = later();
    second_.acquired();
    fetch(first_, name_, 1, before);
    EXPECT_EQ(found(second_, name_), 0);
    EXPECT_EQ(found(first_, name_), 1);
    fetch(first_, name_, 2, later());
    EXPECT_EQ(found(second_, name_), 2);
}

TEST_F(NodeSharingTest, ABarrierCountsFromItsFirstRank) {
    for (std::uint64_t number = 0; number < 200; ++number) {
        const NodeTime before = later();
        for (NodeSharing* const rank : {&first_, &second_})
            rank->reaches_barrier(number);
        // Now and then it fails in all ranks.
        if (number % 7 == 3) continue;
        NodeSharing& early = number % 2 == 0 ? first_ : second_;
        NodeSharing& late = number % 2 == 0 ? second_ : first_;
        early.left_barrier(number);
        fetch(early, name_, static_cast<long>(number) + 1, later());
        late.left_barrier(number);
        EXPECT_EQ(found(late, name_), static_cast<long>(number) + 1) << number;
        const NodeSharing::Name other{3, 1, 1, 16};
        fetch(early, other, 1, before);
        EXPECT_EQ(found(late, other), 0) << number;
    }
}

TEST_F(NodeSharingTest, WhatIsBeingFetchedIsWaitedFor) {
    EXPECT_EQ(second_.may_wait_until(name_), 0u);
    const NodeTime issued = later();
    first_.announce(name_, issued);
    EXPECT_GT(second_.may_wait_until(name_), issued);
    second_.took(10'000'000'000);
    EXPECT_GT(second_.may_wait_until(name_), issued + 10'000'000'000);
    later();
    second_.acquired();
    EXPECT_EQ(second_.may_wait_until(name_), 0u) << "it may lack something";
}

TEST_F(NodeSharingTest, SharingEndsForAWhileWhereNobodyFindsAnything) {
    const auto offers = [&](std::uint64_t count) {
        for (std::uint64_t n = 0; n < count; ++n)
            fetch(first_, {2, n, 0, 16}, 1, later());
    };
    const auto pause = [&] {
        for (int n = 0;; ++n)
            if (first_.serves(2)) return n;
    };
    offers(63);
    EXPECT_EQ(pause(), 0);
    offers(1);
    EXPECT_EQ(pause(), 1024);
    offers(64);
    EXPECT_EQ(pause(), 2048);
    // The other rank needs it.
    offers(63);
    EXPECT_EQ(found(second_, {2, 5, 0, 16}), 1);
    offers(1);
    EXPECT_EQ(pause(), 0);
    offers(64);
    EXPECT_EQ(pause(), 1024);
}

using Found = VersionStore::Found;
using Wait = NodeSharing::Wait;

class LargePiecesTest : public NodeSharingTest {
  protected:
    static VersionStore::Version fetch_large(NodeSharing& rank, const NodeSharing::Name& name, long value) {
        VersionStore::Answer answer = rank.take(name, Wait::no);
        EXPECT_EQ(answer.found, Found::begun);
        std::memcpy(answer.version.data(), &value, sizeof value);
        rank.complete(answer.version);
        return std::move(answer.version);
    }
    /// 0: nothing.
    static long taken(NodeSharing& rank, const NodeSharing::Name& name) {
        const VersionStore::Answer answer = rank.take(name, Wait::no);
        long value = 0;
        if (answer.found == Found::complete) std::memcpy(&value, answer.version.data(), sizeof value);
        return value;
    }

    const NodeSharing::Name large_{2, 10, 20, 100'000};
};

TEST_F(LargePiecesTest, OneRankUsesWhatAnotherOneHasFetched) {
    later();
    const VersionStore::Version version = fetch_large(first_, large_, 7);
    EXPECT_EQ(taken(second_, large_), 7);
    EXPECT_EQ(taken(far_, large_), 0);
    EXPECT_EQ(taken(second_, {3, 10, 20, 100'000}), 0);
    EXPECT_EQ(first_.version_bytes(), 2 * VersionStore::unit_bytes);
    // Both processes can map it.
    PrivatePages one(100'000), other(100'000);
    const std::byte* const places[] = {one.data(), other.data()};
    ASSERT_TRUE(show_file(whole_pages({one.data(), 100'000}), first_.file_place(version)));
    ASSERT_TRUE(show_file(whole_pages({other.data(), 100'000}), second_.file_place(version)));
    long value = 0;
    for (const std::byte* const place : places) {
        std::memcpy(&value, place, sizeof value);
        EXPECT_EQ(value, 7);
    }
    EXPECT_EQ(one.data(), places[0]);
    // What is written is a process's own.
    value = 8;
    std::memcpy(one.data(), &value, sizeof value);
    std::memcpy(&value, other.data(), sizeof value);
    EXPECT_EQ(value, 7);
    EXPECT_EQ(taken(second_, large_), 7);
}

TEST_F(LargePiecesTest, AfterAnAcquireOnlyLaterVersionsServe) {
    later();
    const VersionStore::Version early = fetch_large(first_, large_, 1);
    later();
    second_.acquired();
    EXPECT_EQ(taken(second_, large_), 0);
    EXPECT_EQ(taken(first_, large_), 1);
    later();
    const VersionStore::Version late = fetch_large(second_, large_, 2);
    EXPECT_EQ(taken(second_, large_), 2);
    EXPECT_NE(taken(first_, large_), 0) << "either will do";
}

TEST_F(LargePiecesTest, AVersionAfterTheFirstRankHasLeftABarrierServesAll) {
    for (NodeSharing* const rank : {&first_, &second_})
        rank->reaches_barrier(1);
    const VersionStore::Version before = fetch_large(first_, large_, 1);
    later();
    first_.left_barrier(1);
    later();
    const VersionStore::Version after = fetch_large(first_, large_, 2);
    later();
    second_.left_barrier(1);
    EXPECT_EQ(taken(second_, large_), 2);
}

TEST_F(LargePiecesTest, WhatIsBeingFetchedIsWaitedForAsLongAsTwoFetchesTake) {
    later();
    VersionStore::Answer begun = first_.take(large_, Wait::yes);
    ASSERT_EQ(begun.found, Found::begun);
    const VersionStore::Answer expected = second_.take(large_, Wait::yes);
    ASSERT_EQ(expected.found, Found::arriving);
    EXPECT_EQ(second_.take(large_, Wait::no).found, Found::begun);
    second_.took(3'600'000'000'000);
    EXPECT_TRUE(second_.is_awaited(expected.arrival));
    first_.complete(begun.version);
    EXPECT_FALSE(second_.is_awaited(expected.arrival));
    EXPECT_EQ(second_.take(large_, Wait::yes).found, Found::complete);
    // Too old to be waited for, by a rank whose fetches take a millisecond at most.
    const VersionStore::Answer slow = first_.take(name_, Wait::yes);
    const VersionStore::Answer late = second_.take(name_, Wait::yes);
    ASSERT_EQ(late.found, Found::arriving);
    const NodeTime begin = steady_ns();
    while (steady_ns() < begin + 3'000'000) {
    }
    EXPECT_FALSE(first_.is_awaited(late.arrival));
    EXPECT_EQ(first_.take(name_, Wait::yes).found, Found::begun);
    EXPECT_EQ(second_.take(name_, Wait::yes).found, Found::arriving);
}

}  // namespace
}  // namespace nearfetch

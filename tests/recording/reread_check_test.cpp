// SPDX-License-Identifier: Apache-2.0
#include "recording/reread_check.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace nearfetch {
namespace {

/// A target's memory, of which enough granules are among those that are looked at.
class RereadCheckTest : public ::testing::Test {
  protected:
    void read(std::uint64_t offset, std::uint64_t size, AcquireCount acquires) {
        check.check(0, 1, offset, std::span(memory).subspan(offset, size), acquires);
    }
    void read_all(AcquireCount acquires) {
        for (std::uint64_t at = 0; at < memory.size(); at += 1024)
            read(at, 1024, acquires);
    }
    const Rereads& seen() const { return check.seen(); }

    RereadCheck check;
    std::vector<std::byte> memory = std::vector<std::byte>(1u << 16, std::byte{1});
};

TEST(AcquireCount, LocksAreToldFromOthers) {
    for (int kind = 0; kind <= static_cast<int>(EventKind::end); ++kind) {
        AcquireCount count;
        count.note(static_cast<EventKind>(kind));
        const bool is_lock =
            kind == static_cast<int>(EventKind::lock) || kind == static_cast<int>(EventKind::lock_all);
        const bool is_acquire = kind == static_cast<int>(EventKind::acquire);
        EXPECT_EQ(count.all, is_lock || is_acquire ? 1u : 0u) << kind;
        EXPECT_EQ(count.others, is_acquire ? 1u : 0u) << kind;
    }
}

TEST_F(RereadCheckTest, TheSameBytesAreTheSame) {
    read_all({1, 1});
    EXPECT_EQ(seen().checked(), 0u);
    read_all({5, 3});
    // A quarter of its words.
    EXPECT_NEAR(static_cast<double>(seen().same), static_cast<double>(memory.size()) / 32, 300);
    EXPECT_EQ(seen().checked(), seen().same);
}

TEST_F(RereadCheckTest, AChangeIsToldByWhatWasAcquired) {
    read_all({1, 1});
    std::memset(memory.data(), 2, memory.size());
    read_all({1, 1});
    const std::uint64_t all = seen().changed_unordered;
    EXPECT_GT(all, 0u);
    std::memset(memory.data(), 3, memory.size());
    read_all({3, 1});
    std::memset(memory.data(), 4, memory.size());
    read_all({4, 2});
    EXPECT_EQ(seen().changed_by_locks, all);
    EXPECT_EQ(seen().changed, all);
    EXPECT_EQ(seen().same, 0u);
}

TEST_F(RereadCheckTest, WhatTheProcessHasChangedItselfIsNotJudged) {
    read_all({1, 1});
    std::memset(memory.data(), 2, memory.size());
    check.forget(0, 1, {0, 1u << 15});
    check.forget(0, 1, {1u << 15, 1u << 16});
    read_all({2, 2});
    EXPECT_EQ(seen().checked(), 0u);
    check.forget(0, 1, {0, ~std::uint64_t{0}});
    read_all({3, 3});
    EXPECT_EQ(seen().checked(), 0u);
}

TEST_F(RereadCheckTest, OtherRangesAndTargetsAreOthers) {
    const auto read_each = [&](std::uint64_t size) {
        for (std::uint64_t at = 0; at + 64 <= memory.size(); at += 64)
            read(at, size, {1, 1});
    };
    read_each(4);
    memory.assign(memory.size(), std::byte{2});
    read_each(8);
    EXPECT_EQ(seen().checked(), 0u);
    check.check(0, 2, 0, memory, {1, 1});
    check.check(1, 1, 0, memory, {1, 1});
    EXPECT_EQ(seen().checked(), 0u);
    read_each(8);
    EXPECT_GT(seen().same, 0u);
    EXPECT_EQ(seen().checked(), seen().same);
}

TEST_F(RereadCheckTest, WordsThatAreReadOneByOneAreRemembered) {
    for (int pass = 0; pass < 2; ++pass) {
        for (std::uint64_t at = 0; at < memory.size(); at += 8)
            read(at, 8, {1, 1});
    }
    const std::uint64_t all = seen().same;
    EXPECT_GT(all, memory.size() / 40);
    memory.assign(memory.size(), std::byte{2});
    for (std::uint64_t at = 0; at < memory.size(); at += 8)
        read(at, 8, {2, 2});
    EXPECT_NEAR(static_cast<double>(seen().changed), static_cast<double>(all), static_cast<double>(all) / 20);
}

TEST_F(RereadCheckTest, OfLongReadsFewerAreLookedAt) {
    read(0, memory.size(), {1, 1});
    read(0, memory.size(), {1, 1});
    EXPECT_GT(seen().same, 0u);
    EXPECT_LT(seen().same, memory.size() / 128);
    const std::uint64_t same = seen().same;
    read_all({1, 1});
    EXPECT_GE(seen().same, 2 * same - same / 10) << "they are among those that short reads look at";
}

}  // namespace
}  // namespace nearfetch

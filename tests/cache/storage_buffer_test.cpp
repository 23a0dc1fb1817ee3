// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "base/error.hpp"
#include "cache/range_cache/storage_buffer.hpp"

namespace nearfetch {
namespace {

int owner_tag;
void* const owner = &owner_tag;

TEST(StorageBuffer, RegionsAreWholeLinesAndAligned) {
    StorageBuffer buffer(1024, 1024);
    for (const std::uint64_t size : {1, 64, 65, 128}) {
        StorageBuffer::Region* region = buffer.allocate(size, owner);
        ASSERT_NE(region, nullptr);
        EXPECT_EQ(region->bytes, size <= 64 ? 64u : 128u);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.data(region)) % 64, 0u);
    }
    EXPECT_EQ(buffer.free_bytes(), 1024u - 64 - 64 - 128 - 128);
    buffer.check_invariants();
}

// Free regions of 3, 1, 2 lines: one line goes into the one, two into the two, three into the three.
TEST(StorageBuffer, TakesTheSmallestThatIsLargeEnough) {
    StorageBuffer buffer(64 * 9, 64 * 9);
    StorageBuffer::Region* a = buffer.allocate(64 * 3, owner);
    buffer.allocate(64, owner);
    StorageBuffer::Region* b = buffer.allocate(64, owner);
    buffer.allocate(64, owner);
    StorageBuffer::Region* c = buffer.allocate(64 * 2, owner);
    StorageBuffer::Region* end = buffer.allocate(64, owner);
    ASSERT_NE(end, nullptr);
    EXPECT_EQ(buffer.allocate(1, owner), nullptr);
    const std::uint64_t at_a = a->offset, at_b = b->offset, at_c = c->offset;
    buffer.release(a);
    buffer.release(b);
    buffer.release(c);
    EXPECT_EQ(buffer.free_regions(), 3u);
    EXPECT_EQ(buffer.largest_free_bytes(), 192u);
    EXPECT_EQ(buffer.allocate(100, owner)->offset, at_c);
    EXPECT_EQ(buffer.allocate(10, owner)->offset, at_b);
    EXPECT_EQ(buffer.allocate(10, owner)->offset, at_a) << "the best fit is gone, the next larger is split";
    EXPECT_EQ(buffer.largest_free_bytes(), 128u);
    EXPECT_FALSE(buffer.fits(129));
    EXPECT_TRUE(buffer.fits(128));
    EXPECT_EQ(buffer.allocate(129, owner), nullptr);
    buffer.check_invariants();
}

TEST(StorageBuffer, LimitKeepsAnAllocationInFront) {
    StorageBuffer buffer(64 * 8, 64 * 8);
    StorageBuffer::Region* front = buffer.allocate(64 * 3, owner);
    buffer.allocate(64 * 3, owner);  // free after it: two lines
    buffer.release(front);
    EXPECT_EQ(buffer.allocate(128, owner, 64 * 6)->offset, 0u) << "best fit lies behind the limit";
    EXPECT_EQ(buffer.allocate(128, owner, 64 * 6), nullptr);
    EXPECT_EQ(buffer.allocate(128, owner)->offset, 64u * 6);
}

// A 1, B 2, C 1, D 4 lines: d_c (001, section III-C) by hand.
TEST(StorageBuffer, FreeBytesAdjacentToARegionAreKeptUpToDateAndNeighboursMerge) {
    StorageBuffer buffer(64 * 8, 64 * 8);
    StorageBuffer::Region* a = buffer.allocate(64, owner);
    EXPECT_EQ(a->adjacent_free, 64u * 7);
    StorageBuffer::Region* b = buffer.allocate(128, owner);
    EXPECT_EQ(a->adjacent_free, 0u);
    EXPECT_EQ(b->adjacent_free, 64u * 5);
    StorageBuffer::Region* c = buffer.allocate(64, owner);
    StorageBuffer::Region* d = buffer.allocate(256, owner);
    EXPECT_EQ(c->adjacent_free, 0u);
    buffer.release(b);
    EXPECT_EQ(a->adjacent_free, 128u);
    EXPECT_EQ(c->adjacent_free, 128u);
    EXPECT_EQ(d->adjacent_free, 0u);
    buffer.release(d);
    EXPECT_EQ(c->adjacent_free, 128u + 256u);
    EXPECT_EQ(buffer.free_regions(), 2u);
    buffer.release(c);
    EXPECT_EQ(buffer.free_regions(), 1u);
    EXPECT_EQ(a->adjacent_free, 64u * 7);
    EXPECT_EQ(buffer.largest_free_bytes(), 64u * 7);
    buffer.check_invariants();
}

TEST(StorageBuffer, GrowsInPlaceAndShrinksWhenTheEndIsFree) {
    StorageBuffer buffer(256, 1024);
    StorageBuffer::Region* a = buffer.allocate(256, owner);
    std::byte* const data = buffer.data(a);
    ASSERT_TRUE(buffer.resize(1024));
    EXPECT_EQ(buffer.data(a), data);
    EXPECT_EQ(a->adjacent_free, 768u);
    StorageBuffer::Region* b = buffer.allocate(64, owner);
    EXPECT_FALSE(buffer.resize(256)) << "something is stored there";
    EXPECT_TRUE(buffer.resize(512));
    EXPECT_EQ(b->adjacent_free, 192u);
    buffer.release(b);
    EXPECT_TRUE(buffer.resize(256));
    EXPECT_EQ(a->adjacent_free, 0u);
    EXPECT_EQ(buffer.free_bytes(), 0u);
    EXPECT_FALSE(buffer.resize(0));
    EXPECT_TRUE(buffer.resize(320));
    EXPECT_EQ(buffer.largest_free_bytes(), 64u);
    buffer.check_invariants();
}

TEST(StorageBuffer, InvariantsHoldUnderRandomUse) {
    for (const std::uint64_t seed : {21, 22, 23}) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        std::mt19937_64 random(seed);
        StorageBuffer buffer(64 * 40, 64 * 80);
        std::vector<StorageBuffer::Region*> regions;
        std::uint64_t allocated = 0;
        for (int step = 0; step < 5000; ++step) {
            const std::uint64_t what = random() % 10;
            if (what < 5) {
                const std::uint64_t size = 1 + random() % 400;
                const bool fits = buffer.fits(size);
                StorageBuffer::Region* region = buffer.allocate(size, owner);
                ASSERT_EQ(region != nullptr, fits);
                if (region != nullptr) {
                    regions.push_back(region);
                    allocated += StorageBuffer::footprint(size);
                }
            } else if (what < 9 && !regions.empty()) {
                std::swap(regions[random() % regions.size()], regions.back());
                allocated -= regions.back()->bytes;
                buffer.release(regions.back());
                regions.pop_back();
            } else {
                buffer.resize(64 * (20 + random() % 61));
            }
            ASSERT_EQ(buffer.free_bytes(), buffer.size_bytes() - allocated);
            buffer.check_invariants();
        }
    }
}

TEST(StorageBuffer, WhatCannotBeReservedIsAnError) {
    EXPECT_THROW(StorageBuffer(1 << 20, std::uint64_t{1} << 62), Error);
}

}  // namespace
}  // namespace nearfetch

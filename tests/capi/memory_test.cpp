// SPDX-License-Identifier: Apache-2.0

// Memory that comes and goes: registered regions and their borders, memory of which nothing is known, and
// memory that is freed, reused and unregistered under read-ahead.

#include "fixture.hpp"

namespace nearfetch::testing {
namespace {

class CApiMemory : public CApi {
  protected:
    using Region = SimulatedNetwork::Region;

    /// A get has to return the target's bytes.
    void expect_there(int rank, std::uint64_t address, std::uint64_t bytes) {
        ASSERT_EQ(get(rank, address, bytes), NEARFETCH_OK) << nearfetch_last_error();
        EXPECT_EQ(std::memcmp(seen.data(), network.memory(rank).data() + address, bytes), 0)
            << bytes << " bytes at " << address;
    }
    void fill(int rank) {
        for (std::uint64_t i = 0; i < segment_bytes; ++i)
            network.memory(rank)[i] = static_cast<std::byte>(i * 7 + i / 256 + ++filled_);
    }
    nearfetch_status put_byte(int rank, std::uint64_t address, int value) {
        const auto byte = static_cast<unsigned char>(value);
        return nearfetch_put(cache, &task, rank, address, 1, &byte);
    }

  private:
    std::uint64_t filled_ = 0;
};

TEST_F(CApiMemory, AHitAsksForNothing) {
    make();
    EXPECT_EQ(get_value(1, 0), 0u);
    EXPECT_EQ(network.questions, 1u);
    EXPECT_EQ(get_value(1, 8), 0u);
    EXPECT_EQ(get(1, 3, 40), NEARFETCH_OK);
    EXPECT_EQ(put_value(1, 16, 4), NEARFETCH_OK);
    EXPECT_EQ(get_value(1, 16), 4u);
    EXPECT_EQ(network.questions, 1u);
    // Nor does a hit of two pages.
    EXPECT_EQ(get(1, 1000, 48), NEARFETCH_OK);
    EXPECT_EQ(network.questions, 2u);
    EXPECT_EQ(get(1, 1010, 30), NEARFETCH_OK);
    EXPECT_EQ(network.questions, 2u);
}

TEST_F(CApiMemory, UnknownMemoryIsFetchedByTheByte) {
    network.set_regions(1, {{0, segment_bytes, false}});
    fill(1);
    make();
    expect_there(1, 100, 8);
    EXPECT_EQ(network.bytes_got, 8u);
    expect_there(1, 100, 8);
    EXPECT_EQ(network.gets, 1u) << "the bytes themselves are cached";
    expect_there(1, 108, 8);
    expect_there(1, 96, 4);
    expect_there(1, 96, 20);
    expect_there(1, 64, 300);
    expect_there(1, 5000, 9000);
    // A prefetch of what may not be there is skipped.
    const std::uint64_t before = network.gets;
    EXPECT_EQ(nearfetch_prefetch(cache, &task, 1, 20'000, 64), NEARFETCH_OK);
    EXPECT_EQ(network.gets, before);
    for (std::uint64_t at = 30'000; at < 40'000; at += 8)
        expect_there(1, at, 8);
    EXPECT_EQ(network.outside, 0u);
    EXPECT_EQ(network.bytes_got, 8u + 8u + 4u + 300u + 9000u + 10'000u)
        << "nothing is added, or fetched twice";
}

TEST_F(CApiMemory, AccessesCrossTheBordersOfRegions) {
    // Borders within lines; behind the second region is none.
    network.set_regions(1, {{0, 1010}, {1010, 3001}, {3001, 5000, false}, {6000, segment_bytes}});
    fill(1);
    make();
    for (const std::uint64_t border : {1010u, 3001u}) {
        expect_there(1, border - 20, 40);
        expect_there(1, border - 8, 8);
        expect_there(1, border, 8);
        expect_there(1, border - 1, 2);
        expect_there(1, border - 500, 1000);
    }
    expect_there(1, 4992, 8);
    EXPECT_EQ(get(1, 4992, 9), NEARFETCH_BAD_ADDRESS);
    EXPECT_EQ(get(1, 5990, 20), NEARFETCH_BAD_ADDRESS);
    expect_there(1, 6000, 8);
    const std::uint64_t before = network.outside;
    for (std::uint64_t at = 0; at < 5000; at += 4)
        expect_there(1, at, 4);
    for (std::uint64_t at = 6000; at < 9000; at += 4)
        expect_there(1, at, 4);
    for (std::uint64_t at = 8999; at >= 6000; --at)
        expect_there(1, at, 1);
    EXPECT_EQ(network.outside, before) << "neither rounding nor read-ahead leaves a region";
}

TEST_F(CApiMemory, TheEndOfARegionIsCached) {
    network.set_regions(1, {{1000, 1040}, {segment_bytes - 10, segment_bytes}});
    fill(1);
    make();
    for (int round = 0; round < 5; ++round) {
        for (std::uint64_t at = 1000; at < 1040; at += 4)
            expect_there(1, at, 4);
        expect_there(1, segment_bytes - 10, 10);
        expect_there(1, segment_bytes - 3, 3);
    }
    EXPECT_EQ(network.gets, 3u) << "1000 to 1024, to 1040, and the last bytes";
}

TEST_F(CApiMemory, PutsOnBothSidesOfABorderLeaveApart) {
    network.set_regions(1, {{0, 1010}, {1010, 3000}});
    make();
    for (std::uint64_t at = 1000; at < 1020; ++at)
        EXPECT_EQ(put_byte(1, at, 5), NEARFETCH_OK);
    EXPECT_EQ(nearfetch_release(cache), NEARFETCH_OK);
    EXPECT_EQ(network.puts, 2u);
    EXPECT_EQ(network.bytes_put, 20u);
}

TEST_F(CApiMemory, AnIllegalPutKeepsNoOtherFromItsTarget) {
    make();
    EXPECT_EQ(put_value(1, segment_bytes - 8, 3), NEARFETCH_OK);
    EXPECT_EQ(put_value(1, segment_bytes, 4), NEARFETCH_OK);
    EXPECT_EQ(put_value(3, 0, 4), NEARFETCH_OK);
    EXPECT_EQ(nearfetch_release(cache), NEARFETCH_TRANSFER_FAILED);
    EXPECT_TRUE(says("release again"));
    EXPECT_EQ(there(1, segment_bytes - 8), 3u);
    EXPECT_EQ(nearfetch_cache_destroy(cache, 0), NEARFETCH_NOT_RELEASED);
    EXPECT_EQ(nearfetch_discard(cache, 1, segment_bytes, 8), NEARFETCH_OK);
    EXPECT_EQ(nearfetch_release(cache), NEARFETCH_TRANSFER_FAILED);
    EXPECT_EQ(nearfetch_discard(cache, 3, 0, 1 << 20), NEARFETCH_OK);
    EXPECT_EQ(nearfetch_release(cache), NEARFETCH_OK);
    EXPECT_EQ(nearfetch_cache_destroy(cache, 0), NEARFETCH_OK);
    cache = nullptr;
}

TEST_F(CApiMemory, DiscardedPutsAreLostAndNoOthers) {
    make();
    const auto put_all = [&](int value) {
        for (std::uint64_t at = 2000; at < 2100; ++at)
            EXPECT_EQ(put_byte(1, at, value), NEARFETCH_OK);
    };
    const auto expect_kept = [&](int value, int lost) {
        for (std::uint64_t at = 2000; at < 2100; ++at)
            EXPECT_EQ(network.memory(1)[at], static_cast<std::byte>(at >= 2030 && at < 2060 ? lost : value))
                << at;
    };
    // Still in the pages.
    put_all(1);
    EXPECT_EQ(nearfetch_discard(cache, 1, 2030, 30), NEARFETCH_OK);
    EXPECT_EQ(nearfetch_release(cache), NEARFETCH_OK);
    expect_kept(1, 0);
    // In a PUT that was refused: from its middle, its begin and its end.
    put_all(2);
    network.behaviour().refusals_percent = 100;
    EXPECT_EQ(nearfetch_release(cache), NEARFETCH_TRANSFER_FAILED);
    EXPECT_EQ(nearfetch_discard(cache, 1, 2040, 10), NEARFETCH_OK);
    EXPECT_EQ(nearfetch_discard(cache, 1, 2030, 10), NEARFETCH_OK);
    EXPECT_EQ(nearfetch_discard(cache, 1, 2050, 10), NEARFETCH_OK);
    network.behaviour() = {};
    EXPECT_EQ(nearfetch_release(cache), NEARFETCH_OK);
    expect_kept(2, 0);
    EXPECT_EQ(get(1, 2030, 30), NEARFETCH_OK);
    EXPECT_EQ(seen[0], std::byte{0});
}

TEST_F(CApiMemory, ADiscardThatCannotPartAPutLosesNothing) {
    make([](nearfetch_cache_settings& s) { s.operations = 2; });
    const auto refused_puts = [&](int value) {
        for (const std::uint64_t begin : {2000, 8000})
            for (std::uint64_t at = begin; at < begin + 100; ++at)
                EXPECT_EQ(put_byte(1, at, value), NEARFETCH_OK);
        network.behaviour().refusals_percent = 100;
        EXPECT_EQ(nearfetch_release(cache), NEARFETCH_TRANSFER_FAILED);
        network.behaviour() = {};
    };
    const auto expect_there_is = [&](std::uint64_t begin, int value) {
        for (std::uint64_t at = begin; at < begin + 100; ++at)
            EXPECT_EQ(network.memory(1)[at], static_cast<std::byte>(value)) << at;
    };
    // Both operations are taken: none is free for the bytes behind the range.
    refused_puts(1);
    EXPECT_EQ(nearfetch_discard(cache, 1, 2030, 30), NEARFETCH_BUSY);
    EXPECT_TRUE(says("discard a range that includes them, or release them first"));
    EXPECT_EQ(nearfetch_cache_destroy(cache, 0), NEARFETCH_NOT_RELEASED);
    EXPECT_EQ(nearfetch_release(cache), NEARFETCH_OK);
    expect_there_is(2000, 1);
    expect_there_is(8000, 1);
    // What the message advises.
    refused_puts(2);
    EXPECT_EQ(nearfetch_discard(cache, 1, 2030, 30), NEARFETCH_BUSY);
    EXPECT_EQ(nearfetch_discard(cache, 1, 2000, 100), NEARFETCH_OK);
    EXPECT_EQ(nearfetch_release(cache), NEARFETCH_OK);
    expect_there_is(2000, 1);
    expect_there_is(8000, 2);
}

// --- Memory that is freed

TEST_F(CApiMemory, NothingIsUnderWayInMemoryThatWasInvalidated) {
    fill(1);
    make();
    for (std::uint64_t at = 0; at < 4096; at += 8)
        expect_there(1, at, 8);
    EXPECT_GT(network.under_way(), 0u) << "read-ahead";
    EXPECT_EQ(nearfetch_prefetch(cache, &task, 1, 20'000, 4000), NEARFETCH_OK);
    EXPECT_EQ(put_value(1, 21'000, 5), NEARFETCH_OK);
    // The network aborts if something is under way there.
    EXPECT_EQ(nearfetch_invalidate(cache, 1, 4096, segment_bytes), NEARFETCH_OK);
    network.set_regions(1, {{0, 4096}});
    EXPECT_EQ(there(1, 21'000), 5u);
    for (std::uint64_t at = 0; at < 4096; at += 8)
        expect_there(1, at, 8);
    EXPECT_EQ(nearfetch_acquire(cache, &task), NEARFETCH_OK);
    for (std::uint64_t at = 0; at < 4096; at += 8)
        expect_there(1, at, 8);
    EXPECT_EQ(get(1, 4096, 8), NEARFETCH_BAD_ADDRESS);
    EXPECT_EQ(get(1, 21'000, 8), NEARFETCH_BAD_ADDRESS);
    EXPECT_EQ(network.outside, 2u);
}

TEST_F(CApiMemory, ReusedMemoryHasItsNewBytes) {
    fill(1);
    make();
    for (int life = 0; life < 50; ++life) {
        // A reader in order, with read-ahead beyond where it stops.
        const std::uint64_t begin = 10'000 + 777u * static_cast<std::uint64_t>(life % 5);
        for (std::uint64_t at = begin; at < begin + 2500; at += 8)
            expect_there(1, at, 8);
        EXPECT_EQ(nearfetch_invalidate(cache, 1, begin, 8000), NEARFETCH_OK);
        network.set_regions(1, {{0, begin}, {begin + 8000, segment_bytes}});
        EXPECT_EQ(get(1, begin + 2600, 8), NEARFETCH_BAD_ADDRESS);
        expect_there(1, begin - 100, 100);
        expect_there(1, begin + 8000, 100);
        for (std::uint64_t at = begin; at < begin + 8000; ++at)
            network.memory(1)[at] = static_cast<std::byte>(at * 3 + static_cast<std::uint64_t>(life));
        network.set_regions(1, {{0, segment_bytes}});
        expect_there(1, begin, 8000);
        expect_there(1, begin + 2500, 8);
    }
}

TEST_F(CApiMemory, UnregisteredReadAheadThatFailsIsForgotten) {
    fill(1);
    make();
    for (std::uint64_t at = 0; at < 4096; at += 8)
        expect_there(1, at, 8);
    network.behaviour().failures_percent = 100;
    EXPECT_EQ(nearfetch_prefetch(cache, &task, 1, 20'000, 4000), NEARFETCH_OK);
    EXPECT_EQ(nearfetch_invalidate(cache, 1, 4096, segment_bytes), NEARFETCH_OK);
    network.behaviour() = {};
    expect_there(1, 20'000, 4000);
    expect_there(1, 4096, 4000);
}

}  // namespace
}  // namespace nearfetch::testing

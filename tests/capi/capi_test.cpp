// SPDX-License-Identifier: Apache-2.0

// The promises of the C API one by one.

#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <set>
#include <string>

#include "fixture.hpp"

namespace nearfetch::testing {
namespace {

TEST_F(CApi, AGetFetchesALineAndTheNextIsAHit) {
    make();
    store(1, 64, 5);
    store(1, 72, 6);
    EXPECT_EQ(get_value(1, 64), 5u);
    EXPECT_EQ(network.gets, 1u);
    EXPECT_EQ(network.bytes_got, 64u);
    EXPECT_EQ(get_value(1, 72), 6u);
    EXPECT_EQ(network.gets, 1u);
    EXPECT_EQ(statistic("hits"), 1u);
    EXPECT_EQ(statistic("misses"), 1u);
}

TEST_F(CApi, PutsAreSeenHereAtOnceAndThereAfterARelease) {
    make();
    for (std::uint64_t i = 0; i < 10; ++i)
        EXPECT_EQ(put_value(1, 800 + 8 * i, i + 1), NEARFETCH_OK);
    EXPECT_EQ(get_value(1, 808), 2u);
    EXPECT_EQ(network.puts + network.gets, 0u);
    EXPECT_EQ(there(1, 808), 0u);
    EXPECT_EQ(nearfetch_release(cache), NEARFETCH_OK);
    EXPECT_EQ(network.puts, 1u);
    EXPECT_EQ(network.bytes_put, 80u);
    EXPECT_EQ(there(1, 808), 2u);
}

TEST_F(CApi, AnAcquireIsItsTasksOwn) {
    make();
    nearfetch_task other = NEARFETCH_TASK_INIT;
    EXPECT_EQ(get_value(1, 0), 0u);
    store(1, 0, 9);
    EXPECT_EQ(get_value(1, 0), 0u);
    EXPECT_EQ(nearfetch_acquire(cache, &task), NEARFETCH_OK);
    std::uint64_t value = 1;
    EXPECT_EQ(nearfetch_get(cache, &other, 1, 0, 8, &value), NEARFETCH_OK);
    EXPECT_EQ(value, 0u);
    EXPECT_EQ(network.gets, 1u);
    EXPECT_EQ(get_value(1, 0), 9u);
    EXPECT_EQ(network.gets, 2u);
}

TEST_F(CApi, AFenceIsBoth) {
    make();
    EXPECT_EQ(get_value(1, 0), 0u);
    EXPECT_EQ(put_value(0, 512, 3), NEARFETCH_OK);
    store(1, 0, 9);
    EXPECT_EQ(nearfetch_fence(cache, &task), NEARFETCH_OK);
    EXPECT_EQ(there(0, 512), 3u);
    EXPECT_EQ(get_value(1, 0), 9u);
}

TEST_F(CApi, RangesAreReleasedAndAcquiredAlone) {
    make();
    EXPECT_EQ(get_value(1, 0), 0u);
    EXPECT_EQ(get_value(1, 8192), 0u);
    EXPECT_EQ(put_value(1, 16, 1), NEARFETCH_OK);
    EXPECT_EQ(put_value(1, 8208, 2), NEARFETCH_OK);
    EXPECT_EQ(nearfetch_release_range(cache, 1, 0, 64), NEARFETCH_OK);
    EXPECT_EQ(there(1, 16), 1u);
    EXPECT_EQ(there(1, 8208), 0u);
    store(1, 0, 7);
    store(1, 8192, 7);
    EXPECT_EQ(nearfetch_acquire_range(cache, 1, 0, 64), NEARFETCH_OK);
    EXPECT_EQ(get_value(1, 0), 7u);
    EXPECT_EQ(get_value(1, 8192), 0u);
    // The whole memory of a rank, also with an end beyond 2^64.
    EXPECT_EQ(nearfetch_invalidate(cache, 1, 8, std::numeric_limits<std::uint64_t>::max()), NEARFETCH_OK);
    EXPECT_EQ(there(1, 8208), 2u);
    EXPECT_EQ(get_value(1, 8192), 7u);
}

TEST_F(CApi, APrefetchIsStartedAndNotWaitedFor) {
    make();
    store(1, 4096, 4);
    EXPECT_EQ(nearfetch_prefetch(cache, &task, 1, 4096, 64), NEARFETCH_OK);
    EXPECT_EQ(network.gets, 1u);
    EXPECT_EQ(network.waiting_most, 0u);
    EXPECT_EQ(get_value(1, 4096), 4u);
    EXPECT_EQ(network.gets, 1u);
    // Hints never fail.
    EXPECT_EQ(nearfetch_prefetch(cache, &task, 1, segment_bytes, 64), NEARFETCH_OK);
    EXPECT_EQ(nearfetch_prefetch(cache, &task, 7, 0, 64), NEARFETCH_OK);
    EXPECT_EQ(nearfetch_prefetch(cache, &task, -7, 0, 64), NEARFETCH_OK);
    EXPECT_EQ(nearfetch_prefetch(cache, &task, 1, 0, 0), NEARFETCH_OK);
    EXPECT_EQ(network.gets, 1u);
}

TEST_F(CApi, WhatTheTransportRefusesIsABadAddressAndNeverCached) {
    make();
    EXPECT_EQ(get(2, 0, 8), NEARFETCH_BAD_ADDRESS);
    EXPECT_TRUE(says("a get of 8 bytes at address 0 of rank 2 failed (the transport knows no such rank)"))
        << nearfetch_last_error();
    EXPECT_EQ(get(-1, 0, 8), NEARFETCH_BAD_ADDRESS);
    EXPECT_EQ(nearfetch_last_transport_status(), NEARFETCH_TRANSPORT_BAD_RANK);
    EXPECT_EQ(get(0, segment_bytes - 7, 8), NEARFETCH_BAD_ADDRESS);
    EXPECT_EQ(nearfetch_last_transport_status(), NEARFETCH_TRANSPORT_OUTSIDE);
    EXPECT_EQ(get(0, segment_bytes - 10, 9000), NEARFETCH_BAD_ADDRESS);
    EXPECT_EQ(get(0, ~std::uint64_t{0} - 3, 8), NEARFETCH_BAD_ADDRESS);
    EXPECT_EQ(put_value(0, ~std::uint64_t{0} - 3, 8), NEARFETCH_BAD_ADDRESS);
    EXPECT_EQ(put_value(-2, 0, 1), NEARFETCH_BAD_ADDRESS);
    EXPECT_EQ(nearfetch_acquire_range(cache, -1, 0, 8), NEARFETCH_BAD_ADDRESS);
    EXPECT_EQ(nearfetch_release_range(cache, -1, 0, 8), NEARFETCH_BAD_ADDRESS);
    EXPECT_EQ(nearfetch_invalidate(cache, -1, 0, 8), NEARFETCH_BAD_ADDRESS);
    EXPECT_EQ(nearfetch_discard(cache, -1, 0, 8), NEARFETCH_BAD_ADDRESS);
    // The segment ends within a cached line.
    EXPECT_EQ(get(0, segment_bytes - 8, 8), NEARFETCH_OK);
    EXPECT_EQ(get(0, segment_bytes, 8), NEARFETCH_BAD_ADDRESS);
    EXPECT_EQ(get(0, segment_bytes - 8, 8), NEARFETCH_OK);
    EXPECT_EQ(statistic("hits"), 1u);
}

TEST_F(CApi, ArgumentsThatCannotBe) {
    make();
    std::uint64_t value = 0;
    nearfetch_request* request = nullptr;
    EXPECT_EQ(nearfetch_get(nullptr, &task, 0, 0, 8, &value), NEARFETCH_BAD_ARGUMENT);
    EXPECT_TRUE(says("the cache is NULL"));
    EXPECT_EQ(nearfetch_get(cache, nullptr, 0, 0, 8, &value), NEARFETCH_BAD_ARGUMENT);
    EXPECT_TRUE(says("the task is NULL"));
    EXPECT_EQ(nearfetch_put(cache, &task, 0, 0, 8, nullptr), NEARFETCH_BAD_ARGUMENT);
    EXPECT_TRUE(says("the memory is NULL"));
    EXPECT_EQ(nearfetch_start_get(cache, &task, 0, 0, 8, &value, nullptr), NEARFETCH_BAD_ARGUMENT);
    EXPECT_EQ(nearfetch_start_put(cache, &task, 0, 0, 8, nullptr, &request), NEARFETCH_BAD_ARGUMENT);
    EXPECT_EQ(nearfetch_acquire(cache, nullptr), NEARFETCH_BAD_ARGUMENT);
    EXPECT_EQ(nearfetch_release(nullptr), NEARFETCH_BAD_ARGUMENT);
    EXPECT_EQ(nearfetch_prefetch(nullptr, &task, 0, 0, 8), NEARFETCH_BAD_ARGUMENT);
    EXPECT_EQ(nearfetch_test(nullptr, nullptr), NEARFETCH_BAD_ARGUMENT);
    EXPECT_EQ(nearfetch_statistic(cache, "hit", &value), NEARFETCH_BAD_ARGUMENT);
    EXPECT_TRUE(says("there is no counter 'hit'"));
    EXPECT_EQ(nearfetch_statistics(cache, &value, 1000), NEARFETCH_BAD_ARGUMENT);
    // Zero bytes are always allowed.
    EXPECT_EQ(nearfetch_get(cache, &task, 0, segment_bytes, 0, nullptr), NEARFETCH_OK);
    EXPECT_EQ(nearfetch_put(cache, &task, 0, segment_bytes, 0, nullptr), NEARFETCH_OK);
    EXPECT_EQ(nearfetch_wait(nullptr), NEARFETCH_OK);
    EXPECT_EQ(nearfetch_cache_destroy(nullptr, 0), NEARFETCH_OK);
}

// --- A network that fails

TEST_F(CApi, AGetThatFailsLeavesNothingBehind) {
    make();
    network.behaviour().refusals_percent = 100;
    EXPECT_EQ(get(1, 0, 8), NEARFETCH_TRANSFER_FAILED);
    EXPECT_EQ(nearfetch_last_transport_status(), SimulatedNetwork::refused);
    EXPECT_TRUE(says("(the simulated network is closed): get it again")) << nearfetch_last_error();
    network.behaviour() = {.failures_percent = 100};
    EXPECT_EQ(get(1, 0, 8), NEARFETCH_TRANSFER_FAILED);
    EXPECT_EQ(nearfetch_last_transport_status(), SimulatedNetwork::failed);
    EXPECT_EQ(get(1, 0, 9000), NEARFETCH_TRANSFER_FAILED);
    network.behaviour() = {};
    store(1, 0, 12);
    EXPECT_EQ(get_value(1, 0), 12u);
}

TEST_F(CApi, WhatAFailedReleaseCouldNotWriteIsKeptAndWrittenByTheNext) {
    make();
    for (std::uint64_t page = 0; page < 10; ++page)
        EXPECT_EQ(put_value(1, 2048 * page, 100 + page), NEARFETCH_OK);
    const auto fails = [&](int status, const char* text) {
        EXPECT_EQ(nearfetch_release(cache), NEARFETCH_TRANSFER_FAILED);
        EXPECT_EQ(nearfetch_last_transport_status(), status);
        EXPECT_TRUE(says(text)) << nearfetch_last_error();
        EXPECT_TRUE(says("release again")) << nearfetch_last_error();
        // A reader meanwhile gets an error, or the bytes.
        std::uint64_t value = 0;
        for (std::uint64_t page = 0; page < 10; ++page)
            if (nearfetch_get(cache, &task, 1, 2048 * page, 8, &value) == NEARFETCH_OK) {
                EXPECT_EQ(value, 100 + page);
            }
        EXPECT_EQ(nearfetch_cache_destroy(cache, 0), NEARFETCH_NOT_RELEASED);
    };
    network.behaviour().refusals_percent = 100;
    fails(SimulatedNetwork::refused, "the simulated network is closed");
    network.behaviour() = {.failures_percent = 100};
    fails(SimulatedNetwork::failed, "the simulated network lost it");
    fails(SimulatedNetwork::failed, "the simulated network lost it");
    EXPECT_EQ(nearfetch_release_range(cache, 1, 0, 8), NEARFETCH_TRANSFER_FAILED);
    network.behaviour() = {};
    EXPECT_EQ(put_value(1, 0, 99), NEARFETCH_OK);
    EXPECT_EQ(nearfetch_release(cache), NEARFETCH_OK);
    EXPECT_EQ(there(1, 0), 99u);
    for (std::uint64_t page = 1; page < 10; ++page)
        EXPECT_EQ(there(1, 2048 * page), 100 + page);
    EXPECT_EQ(nearfetch_cache_destroy(cache, 0), NEARFETCH_OK);
    cache = nullptr;
}

TEST_F(CApi, APutThatCannotMakeRoomSaysSoAndIsNotThere) {
    make([](auto& s) { s.dirty_pages = 1; });
    EXPECT_EQ(put_value(1, 0, 1), NEARFETCH_OK);
    network.behaviour().failures_percent = 100;
    nearfetch_status status = NEARFETCH_OK;
    for (std::uint64_t page = 1; page < 100 && status == NEARFETCH_OK; ++page)
        status = put_value(1, 4096 * (page % 20), page);
    EXPECT_EQ(status, NEARFETCH_TRANSFER_FAILED);
    EXPECT_TRUE(says("put it again")) << nearfetch_last_error();
    EXPECT_EQ(nearfetch_put(cache, &task, 1, 0, 50'000, std::vector<std::byte>(50'000).data()),
              NEARFETCH_TRANSFER_FAILED);
    network.behaviour() = {};
    EXPECT_EQ(nearfetch_release(cache), NEARFETCH_OK);
}

// --- The end

TEST_F(CApi, ACacheWithUnwrittenBytesEndsOnlyWhenToldTo) {
    make();
    EXPECT_EQ(put_value(1, 0, 1), NEARFETCH_OK);
    EXPECT_EQ(nearfetch_cache_destroy(cache, 0), NEARFETCH_NOT_RELEASED);
    EXPECT_TRUE(says("call nearfetch_release() first"));
    EXPECT_EQ(nearfetch_release(cache), NEARFETCH_OK);
    EXPECT_EQ(nearfetch_cache_destroy(cache, 0), NEARFETCH_OK);
    make();
    EXPECT_EQ(put_value(1, 0, 2), NEARFETCH_OK);
    EXPECT_EQ(nearfetch_cache_destroy(cache, 1), NEARFETCH_OK);
    EXPECT_EQ(there(1, 0), 1u);
    cache = nullptr;
}

TEST_F(CApi, ACacheThatIsWaitedInDoesNotEnd) {
    make();
    nearfetch_status inside = NEARFETCH_OK;
    network.while_waiting = [&] { inside = nearfetch_cache_destroy(cache, 1); };
    EXPECT_EQ(get_value(1, 0), 0u);
    EXPECT_EQ(inside, NEARFETCH_BUSY);
    EXPECT_TRUE(says("one of the thread's tasks waits in it"));
}

TEST_F(CApi, WhatIsUnderWayIsAtItsEndBeforeTheCacheIs) {
    make();
    EXPECT_EQ(nearfetch_prefetch(cache, &task, 1, 4096, 64), NEARFETCH_OK);
    EXPECT_EQ(network.under_way(), 1u);
    EXPECT_EQ(nearfetch_cache_destroy(cache, 0), NEARFETCH_OK);
    EXPECT_EQ(network.under_way(), 0u);
    cache = nullptr;
}

// --- Requests

TEST_F(CApi, RequestsGoOnWhileTheProgramDoesSomethingElse) {
    make();
    store(1, 0, 1);
    std::vector<std::uint64_t> large(1000);
    std::uint64_t small = 0;
    nearfetch_request *first = nullptr, *second = nullptr;
    EXPECT_EQ(nearfetch_start_get(cache, &task, 1, 0, 8000, large.data(), &first), NEARFETCH_OK);
    EXPECT_EQ(nearfetch_start_get(cache, &task, 1, 50'000, 8, &small, &second), NEARFETCH_OK);
    EXPECT_GE(network.under_way(), 2u);
    EXPECT_EQ(network.waiting_most, 0u);
    EXPECT_EQ(nearfetch_cache_destroy(cache, 1), NEARFETCH_BUSY);
    EXPECT_TRUE(says("2 of its requests"));
    for (int done = 0; !done;)
        EXPECT_EQ(nearfetch_test(first, &done), NEARFETCH_OK);
    EXPECT_EQ(network.waiting_most, 0u);
    EXPECT_EQ(nearfetch_wait(second), NEARFETCH_OK);
    EXPECT_EQ(nearfetch_wait(first), NEARFETCH_OK);
    EXPECT_EQ(large[0], 1u);
    // A hit needs no request.
    EXPECT_EQ(nearfetch_start_get(cache, &task, 1, 50'000, 8, &small, &first), NEARFETCH_OK);
    EXPECT_EQ(first, nullptr);
    EXPECT_EQ(nearfetch_start_put(cache, &task, 1, 50'000, 8, &small, &first), NEARFETCH_OK);
    EXPECT_EQ(first, nullptr);
    large.assign(1000, 77);
    EXPECT_EQ(nearfetch_start_put(cache, &task, 1, 0, 8000, large.data(), &first), NEARFETCH_OK);
    EXPECT_NE(first, nullptr);
    EXPECT_EQ(nearfetch_wait(first), NEARFETCH_OK);
    EXPECT_EQ(nearfetch_release(cache), NEARFETCH_OK);
    EXPECT_EQ(there(1, 7992), 77u);
}

TEST_F(CApi, RequestsThatFailSaySo) {
    make();
    std::vector<std::byte> bytes(9000);
    nearfetch_request* request = nullptr;
    EXPECT_EQ(nearfetch_start_get(cache, &task, 1, segment_bytes - 1, 9000, bytes.data(), &request),
              NEARFETCH_BAD_ADDRESS);
    EXPECT_EQ(request, nullptr);
    network.behaviour().refusals_percent = 100;
    EXPECT_EQ(nearfetch_start_put(cache, &task, 1, 0, 9000, bytes.data(), &request),
              NEARFETCH_TRANSFER_FAILED);
    EXPECT_EQ(request, nullptr);
    network.behaviour() = {.failures_percent = 100};
    ASSERT_EQ(nearfetch_start_get(cache, &task, 1, 0, 9000, bytes.data(), &request), NEARFETCH_OK);
    ASSERT_NE(request, nullptr);
    EXPECT_EQ(nearfetch_wait(request), NEARFETCH_TRANSFER_FAILED);
    EXPECT_TRUE(says("a get of 9000 bytes at address 0 of rank 1 failed")) << nearfetch_last_error();
}

// --- Tables for people

TEST_F(CApi, StatisticsAreATable) {
    make();
    EXPECT_EQ(get_value(1, 0), 0u);
    std::size_t rows = 0;
    std::set<std::string> names;
    while (nearfetch_statistics_name(rows) != nullptr) {
        EXPECT_GT(std::strlen(nearfetch_statistics_meaning(rows)), 5u);
        names.insert(nearfetch_statistics_name(rows++));
    }
    EXPECT_EQ(names.size(), rows);
    EXPECT_EQ(nearfetch_statistics_meaning(rows), nullptr);
    std::vector<std::uint64_t> values(rows);
    EXPECT_EQ(nearfetch_statistics(cache, values.data(), rows), NEARFETCH_OK);
    for (std::size_t row = 0; row < rows; ++row)
        EXPECT_EQ(values[row], statistic(nearfetch_statistics_name(row)));
    EXPECT_EQ(statistic("get_messages"), 1u);
}

TEST(CApiStatus, EachHasItsWords) {
    std::set<std::string> texts;
    for (int status = NEARFETCH_OK; status <= NEARFETCH_BUSY; ++status)
        texts.insert(nearfetch_status_text(static_cast<nearfetch_status>(status)));
    EXPECT_EQ(texts.size(), static_cast<std::size_t>(NEARFETCH_BUSY) + 1);
    EXPECT_STREQ(nearfetch_status_text(static_cast<nearfetch_status>(7777)), "no status of nearfetch");
    EXPECT_STRNE(nearfetch_version(), "");
}

}  // namespace
}  // namespace nearfetch::testing

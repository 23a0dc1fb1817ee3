// SPDX-License-Identifier: Apache-2.0
//
// The parts of a window one by one, by hand: outstanding operations, the fetch table, overlapping origins,
// freshness.

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include "rma/fetch_table.hpp"
#include "rma/freshness.hpp"
#include "rma/lazy_range_cache.hpp"
#include "rma/outstanding_operations.hpp"
#include "rma/overlapping_origins.hpp"
#include "rma/process_state.hpp"

namespace nearfetch {
namespace {

using Buffer = std::vector<std::byte>;

Buffer bytes(std::size_t size, int first = 0) {
    Buffer all(size);
    for (auto& byte : all)
        byte = static_cast<std::byte>(first++);
    return all;
}

struct OutstandingOperationsTest : ::testing::Test {
    bool idle(Rank target, FlushKind kind = FlushKind::full) const {
        return operations.at(target).idle(kind);
    }

    TargetTable targets{3};
    EpochTracker epochs{3};
    Acquires acquires;
    OutstandingOperations operations{targets, epochs, acquires};
};

TEST_F(OutstandingOperationsTest, ACompletionCoversWhatWasStartedBefore) {
    operations.start_get(1);
    const Moment since = operations.now();
    operations.start_get(1);
    operations.start_get(2);
    operations.complete(1, since, FlushKind::full);
    EXPECT_FALSE(idle(1)) << "its second get";
    operations.complete(1, operations.now(), FlushKind::local);
    EXPECT_TRUE(idle(1));
    EXPECT_FALSE(idle(2));
    EXPECT_TRUE(idle(0));
}

TEST_F(OutstandingOperationsTest, AnUpdateIsCompleteAtTheTargetOnlyByAFullFlush) {
    const std::vector<ByteRun> runs{{100, 20, nullptr}, {40, 8, nullptr}};
    operations.start_update(1, runs);
    EXPECT_FALSE(idle(1, FlushKind::local));
    operations.complete(1, operations.now(), FlushKind::local);
    EXPECT_TRUE(idle(1, FlushKind::local));
    EXPECT_FALSE(idle(1));
    EXPECT_TRUE(operations.at(1).may_overlap_update({47, 48}));
    EXPECT_TRUE(operations.at(1).may_overlap_update({60, 70})) << "all between them";
    EXPECT_FALSE(operations.at(1).may_overlap_update({120, 130}));
    operations.complete(1, operations.now(), FlushKind::full);
    EXPECT_FALSE(operations.at(1).may_overlap_update({47, 48}));
    operations.start_update(1, {}, true);
    EXPECT_TRUE(idle(1, FlushKind::local)) << "a combined put's origin is free at once";
    EXPECT_FALSE(operations.at(1).may_overlap_update({47, 48})) << "the span begins anew";
}

TEST_F(OutstandingOperationsTest, FetchingAtomicsAcquireWhenTheyAreComplete) {
    operations.start_update(1, {});
    operations.start_fetch(1);
    EXPECT_TRUE(operations.any_fetches());
    operations.complete_fetches(1, operations.now() - 1);
    EXPECT_TRUE(operations.any_fetches());
    operations.complete_fetches(1, operations.now());
    EXPECT_FALSE(operations.any_fetches());
    const std::uint64_t before = acquires.count();
    operations.complete_fetches(1, operations.now());
    EXPECT_EQ(acquires.count(), before) << "none is outstanding";
}

TEST_F(OutstandingOperationsTest, BypassedOnesAreKnownByTheirKinds) {
    operations.start_get(1);
    operations.start_update(1, {});
    operations.count_by_kind(1);
    EXPECT_EQ(operations.at(1).bypassed, Bypassed::gets | Bypassed::updates);
    EXPECT_FALSE(idle(1));
    operations.complete_bypassed(1, FlushKind::local, 0);
    EXPECT_EQ(operations.at(1).bypassed, Bypassed::updates);
    operations.mark_bypassed(1, Bypassed::fetches);
    operations.complete_bypassed(1, FlushKind::full, 1);
    EXPECT_EQ(acquires.count(), 1u) << "an atomic that failed may have synchronised";
    EXPECT_FALSE(idle(1)) << "a call that failed completes nothing";
    EXPECT_EQ(operations.take_bypassed(1), Bypassed::updates);
    EXPECT_TRUE(idle(1));
}

TEST_F(OutstandingOperationsTest, IdleTargetsLeaveTheList) {
    operations.start_get(1);
    operations.list(2);
    operations.list(2);
    ASSERT_EQ(operations.targets().size(), 2u);
    operations.forget_idle([](Rank) { return false; });
    ASSERT_EQ(operations.targets().size(), 1u);
    EXPECT_EQ(operations.targets().front(), 1);
    operations.complete(1, operations.now(), FlushKind::full);
    operations.forget_idle([](Rank target) { return target == 1; });
    EXPECT_EQ(operations.targets().size(), 1u);
    operations.forget_idle([](Rank) { return false; });
    EXPECT_TRUE(operations.targets().empty());
}

/// A window's cache with its fetch table; a get of `size` bytes at an offset of target 1.
struct FetchTableTest : ::testing::Test, WindowListener {
    FetchTableTest() {
        Settings settings;
        settings.buffer_bytes = 1 << 16;
        settings.index_entries = 256;
        EXPECT_TRUE(cache.make(settings, 3, memory, {}, *this));
    }
    void arrived(RequestId request) noexcept override { complete.push_back(request); }

    Entry& pending(std::uint64_t offset, const Buffer& to, RequestId request = 0) {
        Entry& entry = *cache->admit(1, offset, to.size(), cache->now(), true).entry;
        entry.set_flight(to.data(), ++issued, request != 0);
        fetches.add_flight(entry, request);
        return entry;
    }
    bool resident(std::uint64_t offset, const Buffer& expected) {
        const std::byte* const data = cache->find(1, offset, expected.size());
        return data != nullptr && std::memcmp(data, expected.data(), expected.size()) == 0;
    }

    Moment issued = 0;
    std::vector<RequestId> complete;
    MemoryBudget memory;
    TargetTable targets{3};
    LazyRangeCache cache{targets};
    FetchTable fetches{targets, cache, *this};
};

TEST_F(FetchTableTest, WaitersGetTheirBytesBeforeTheEntryIsKept) {
    Buffer first = bytes(64), second(16);
    Entry& entry = pending(0, first);
    const Waiter waiter{&entry, first.data() + 8, second.data(), 16};
    fetches.reserve(1, 0, {&waiter, 1});
    fetches.add_waiters(1, {&waiter, 1});
    EXPECT_EQ(fetches.ranges_in_transit(1), 2u);
    EXPECT_EQ(fetches.complete(1, issued - 1).copied_bytes, 0u) << "it was started later";
    EXPECT_TRUE(fetches.any_in_transit());
    const FetchTable::Arrived arrived = fetches.complete(1, issued);
    EXPECT_EQ(arrived.handed_out_bytes, 16u);
    EXPECT_EQ(arrived.copied_bytes, 64u);
    EXPECT_EQ(second, bytes(16, 8));
    EXPECT_TRUE(resident(0, first));
    EXPECT_FALSE(fetches.any_in_transit());
}

TEST_F(FetchTableTest, WhatHasFailedIsNotKeptButHandedOutLater) {
    Buffer first = bytes(64), second(64);
    Entry& entry = pending(0, first);
    const Waiter waiter{&entry, first.data(), second.data(), 64};
    fetches.reserve(1, 0, {&waiter, 1});
    fetches.add_waiters(1, {&waiter, 1});
    fetches.fail(1, issued);
    EXPECT_TRUE(fetches.in_transit(1));
    fetches.complete(1, issued);
    EXPECT_EQ(second, first);
    EXPECT_FALSE(resident(0, first));
}

TEST_F(FetchTableTest, ARequestCompletesItsOwnFlightsAndWhoWaitsForThem) {
    const Buffer first = bytes(64), third = bytes(32, 100);
    Buffer second(64);
    Entry& entry = pending(0, first, 7);
    pending(512, third, 8);
    const Waiter waiter{&entry, first.data(), second.data(), 64, 9};
    fetches.reserve(1, 0, {&waiter, 1});
    fetches.add_waiters(1, {&waiter, 1});
    EXPECT_TRUE(fetches.has_flight_of(1, 7));
    fetches.complete_request(1, 7);
    EXPECT_EQ(complete, std::vector<RequestId>{9});
    EXPECT_EQ(second, first);
    EXPECT_TRUE(resident(0, first));
    EXPECT_TRUE(fetches.in_transit(1));
    fetches.leave_to_flush(1, 8);
    EXPECT_FALSE(fetches.has_flight_of(1, 8));
    fetches.complete(1, issued);
    EXPECT_TRUE(resident(512, third));
}

TEST_F(FetchTableTest, AnAbandonedRequestKeepsOnlyWhatIsInMemoryOfItsOwn) {
    const Buffer first = bytes(64);
    pending(0, first, 7);
    Entry& own = *cache->admit(1, 512, 64, cache->now(), true).entry;
    ASSERT_TRUE(fetches.begin_fill(own, 7, {}));
    own.set_flight(own.data(), ++issued, true);
    std::memcpy(own.data(), first.data(), 64);
    fetches.abandon_request(1, 7);
    EXPECT_TRUE(resident(512, first));
    fetches.complete(1, issued);
    EXPECT_FALSE(resident(0, first)) << "the program may have used its buffer again";
}

TEST_F(FetchTableTest, AFillThatDoesNotStartLeavesNothing) {
    Buffer to(64);
    Entry& entry = *cache->admit(1, 0, 64, cache->now(), true).entry;
    const Waiter waiter{&entry, entry.data(), to.data(), 64};
    ASSERT_TRUE(fetches.begin_fill(entry, 0, {&waiter, 1}));
    fetches.cancel_fill(entry);
    EXPECT_FALSE(fetches.in_transit(1));
    EXPECT_EQ(cache->occupancy().pending, 0u);
}

TEST_F(FetchTableTest, WhereTheLibraryDeliversAtOnceAChangedBufferIsNotKept) {
    for (const bool at_once : {true, false}) {
        Buffer to = bytes(64);
        Entry& entry = pending(0, to);
        std::memcpy(entry.data(), to.data(), 64);
        entry.note_copied();
        targets.make(1).fetches.delivery = Delivery::unknown;
        if (at_once) fetches.learn_at_once(1);
        to[5] = std::byte{0xff};
        fetches.complete(1, issued);
        EXPECT_EQ(resident(0, to), !at_once);
        EXPECT_EQ(fetches.delivery(1), at_once ? Delivery::at_once : Delivery::later);
    }
}

struct OverlappingOriginsTest : FetchTableTest {
    ByteRun run_of(Buffer& buffer, std::size_t from, std::size_t size) {
        return {0, size, buffer.data() + from};
    }
    bool overlaps(OverlappingOrigins& window, ByteRun run) {
        return window.invalidate_overlapping({&run, 1});
    }
    void add(OverlappingOrigins& window, ByteRun run) { window.add(1, {&run, 1}); }

    OriginsOfProcess process;
    OverlappingOrigins origins{targets, false, fetches, process};
};

TEST_F(OverlappingOriginsTest, NeitherOfTwoGetsIntoOneBufferIsKept) {
    Buffer to = bytes(128);
    pending(0, to);
    add(origins, run_of(to, 0, 128));
    EXPECT_TRUE(origins.any());
    Buffer other(8);
    EXPECT_FALSE(overlaps(origins, run_of(other, 0, 8)));
    EXPECT_TRUE(overlaps(origins, run_of(to, 120, 8)));
    fetches.complete(1, issued);
    EXPECT_FALSE(resident(0, to));
    origins.release(1);
    EXPECT_FALSE(origins.any());
    EXPECT_FALSE(overlaps(origins, run_of(to, 120, 8)));
}

TEST_F(OverlappingOriginsTest, WindowsOfAProcessAreComparedUnlessItHasThreads) {
    Buffer to = bytes(64);
    for (const bool threaded : {false, true}) {
        TargetTable its_targets(3);
        OverlappingOrigins other(its_targets, threaded, fetches, process);
        pending(0, to);
        add(origins, run_of(to, 0, 64));
        EXPECT_EQ(overlaps(other, run_of(to, 0, 64)), !threaded);
        fetches.complete(1, issued);
        EXPECT_EQ(resident(0, to), threaded);
        origins.release_all();
    }
    EXPECT_TRUE(process.all.none());
    EXPECT_EQ(process.first, nullptr);
}

TEST_F(OverlappingOriginsTest, AWindowThatGoesLeavesTheProcess) {
    Buffer to(64);
    add(origins, run_of(to, 0, 64));
    {
        TargetTable its_targets(3);
        OverlappingOrigins other(its_targets, false, fetches, process);
        add(other, run_of(to, 0, 64));
        EXPECT_EQ(process.first, &other);
    }
    EXPECT_EQ(process.first, &origins);
}

TEST_F(OverlappingOriginsTest, LateBytesMayComeUntilAFlush) {
    Buffer to(64);
    const ByteRun run = run_of(to, 0, 64);
    origins.add_late(1, {&run, 1});
    origins.release(1);
    EXPECT_TRUE(overlaps(origins, run)) << "nothing is in transit, but its request has said too much";
    origins.late_arrived(1);
    origins.release(1);
    EXPECT_FALSE(origins.any());
}

struct FreshnessTest : FetchTableTest {
    static RangeGet get_of(std::uint64_t offset, Buffer& to, RequestId request = 0) {
        return {.target = 1, .offset = offset, .size = to.size(), .origin = to.data(), .request = request};
    }
    /// A get that goes to the network and is complete.
    void get(std::uint64_t offset, Buffer& to) {
        freshness.bypassed_get_started(get_of(offset, to), ++issued);
        freshness.complete(1, issued, 0);
        freshness.completed();
    }

    Acquires acquires;
    Freshness freshness{cache, acquires, 1000};
};

TEST_F(FreshnessTest, WhatWasCachedBeforeAnAcquireIsForgottenAtTheNextGet) {
    const Buffer first = bytes(64);
    pending(0, first);
    fetches.complete(1, issued);
    Buffer to(8);
    EXPECT_TRUE(freshness.is_current(get_of(0, to)));
    acquires.acquire();
    EXPECT_FALSE(freshness.is_current(get_of(8, to)));
    EXPECT_TRUE(resident(0, first));
    freshness.catch_up(true);
    EXPECT_FALSE(resident(0, first));
    EXPECT_TRUE(freshness.is_current(get_of(16, to)));
}

TEST_F(FreshnessTest, TheSameGetAgainIsAPollAndOneThatBringsOtherBytesAcquires) {
    Buffer to(8);
    get(0, to);
    EXPECT_EQ(freshness.poll_count(), 0u);
    get(0, to);
    EXPECT_EQ(freshness.poll_count(), 1u);
    EXPECT_EQ(acquires.count(), 0u) << "as before";
    freshness.bypassed_get_started(get_of(0, to), ++issued);
    to[0] = std::byte{1};
    freshness.complete(1, issued, 0);
    EXPECT_EQ(acquires.count(), 1u);
}

TEST_F(FreshnessTest, APollOfWhichNothingIsKnownAcquires) {
    Buffer to(8);
    get(0, to);
    freshness.bypassed_get_started(get_of(0, to), ++issued);
    EXPECT_TRUE(freshness.get_under_way());
    freshness.lose_get();
    EXPECT_EQ(acquires.count(), 1u);
    get(64, to);
    freshness.bypassed_get_started(get_of(64, to, 5), ++issued);
    EXPECT_FALSE(freshness.complete_request(6));
    EXPECT_TRUE(freshness.complete_request(5, false)) << "nobody sees when it is complete";
    EXPECT_EQ(acquires.count(), 2u);
    EXPECT_FALSE(freshness.get_under_way());
}

TEST_F(FreshnessTest, APollIsComparedWithWhatAnotherProcessOfTheNodeHasFetched) {
    Buffer to(8);
    const ByteRun run{0, 8, to.data()};
    get(0, to);
    to[0] = std::byte{1};
    freshness.get_served({.target = 1, .runs = {&run, 1}, .size_bytes = 8});
    get(0, to);
    EXPECT_EQ(acquires.count(), 0u) << "the bytes that were served";
    freshness.bypassed_get_started(get_of(0, to), ++issued);
    to[0] = std::byte{2};
    freshness.complete(1, issued, 0);
    EXPECT_EQ(acquires.count(), 1u) << "others";
}

TEST_F(FreshnessTest, BytesThatChangeAfterTheStartHaveComeLate) {
    Buffer to(8);
    DeliveryProbe probe;
    probe.begin({0, 8, to.data()});
    freshness.get_started(get_of(0, to), 8, ++issued, probe);
    to[3] = std::byte{1};
    EXPECT_FALSE(freshness.has_come_late(2, issued)) << "another target";
    EXPECT_TRUE(freshness.has_come_late(1, issued));
    EXPECT_FALSE(freshness.has_come_late(1, issued)) << "looked at once";
}

TEST(LazyRangeCacheTest, SaysWhyThereIsNone) {
    struct Told final : WindowListener {
        void no_cache(const char* why) noexcept override { said += why; }
        std::string said;
    };
    Settings huge;
    huge.buffer_bytes = 1ull << 60;
    Told told;
    MemoryBudget memory;
    TargetTable targets(2);
    LazyRangeCache cache(targets);
    EXPECT_FALSE(cache.make(huge, 2, memory, {}, told));
    EXPECT_TRUE(cache.is_broken());
    EXPECT_NE(told.said.find("lower memory_bytes"), std::string::npos) << told.said;
    cache.outdate();
    EXPECT_TRUE(cache.make(Settings{}, 2, memory, {}, told));
}

}  // namespace
}  // namespace nearfetch

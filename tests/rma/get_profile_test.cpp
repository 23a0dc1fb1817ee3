// SPDX-License-Identifier: Apache-2.0

// Why gets went to the network: by cause, and by the call that forgot; and totals over time.

#include "rma/get_profile.hpp"

#include <gtest/gtest.h>

namespace nearfetch {
namespace {

constexpr ByteRange bytes{0, 8};

struct Rig {
    Acquires acquires;
    RangeCacheCounters counters{};
    GetProfile profile{acquires, counters};

    void get(Fate fate = Fate::kept) { profile.record(1, bytes, bytes, fate); }
    std::uint64_t forgotten_by(std::string_view call) const {
        for (const GetProfile::Cause& cause : profile.causes())
            if (cause.call == call) return cause.gets;
        return 0;
    }
};

TEST(GetProfile, FirstReadsAreNotForgotten) {
    Rig rig;
    rig.acquires.acquire("MPI_Recv");
    rig.get();
    EXPECT_EQ(rig.counters.first_reads, 1u);
    EXPECT_EQ(rig.counters.forgotten, 0u);
}

TEST(GetProfile, TheFirstAcquireAfterAFetchForgets) {
    Rig rig;
    rig.get();
    rig.acquires.acquire("MPI_Recv");
    rig.acquires.acquire("MPI_Barrier");
    rig.get();
    EXPECT_EQ(rig.counters.forgotten, 1u);
    EXPECT_EQ(rig.forgotten_by("MPI_Recv"), 1u);
    EXPECT_EQ(rig.forgotten_by("MPI_Barrier"), 0u);
    rig.acquires.acquire("MPI_Barrier");
    rig.get();
    EXPECT_EQ(rig.forgotten_by("MPI_Barrier"), 1u);
}

TEST(GetProfile, OfOldAcquiresTheOldestThatIsKnownForgets) {
    Rig rig;
    rig.get();
    rig.acquires.acquire("MPI_Recv");
    for (int i = 0; i < 1000; ++i)
        rig.acquires.acquire("MPI_Wait");
    rig.get();
    EXPECT_EQ(rig.forgotten_by("MPI_Wait"), 1u);
}

TEST(GetProfile, LocksAreToldFromOtherAcquires) {
    Rig rig;
    rig.get();
    rig.acquires.acquire_by_lock("MPI_Win_lock");
    rig.get();
    EXPECT_EQ(rig.counters.forgotten_by_locks, 1u);
    rig.acquires.acquire_by_lock("MPI_Win_lock");
    rig.acquires.acquire("MPI_Barrier");
    rig.get();
    EXPECT_EQ(rig.counters.forgotten, 2u);
    EXPECT_EQ(rig.counters.forgotten_by_locks, 1u);
    EXPECT_EQ(rig.forgotten_by("MPI_Win_lock"), 2u);
}

TEST(GetProfile, WhatIsFreshHasAnotherCause) {
    Rig rig;
    rig.get(Fate::kept);
    rig.get(Fate::not_kept);
    EXPECT_EQ(rig.counters.evicted_before, 1u);
    rig.get(Fate::kept);
    EXPECT_EQ(rig.counters.not_kept, 1u);
    rig.get(Fate::bypassed);
    EXPECT_EQ(rig.counters.bypassed_before, 1u) << "it may still be cached";
    rig.get(Fate::kept);
    EXPECT_EQ(rig.counters.bypassed_before, 2u);
    rig.profile.overwrite(1, bytes);
    rig.get(Fate::kept);
    EXPECT_EQ(rig.counters.overwritten, 1u);
}

TEST(GetProfile, EachModeHasItsOwnClock) {
    Rig rig;
    rig.profile.record(1, bytes, bytes, Fate::kept, Mode::always_cache, 0);
    rig.acquires.acquire("MPI_Barrier");
    rig.profile.record(1, bytes, bytes, Fate::kept, Mode::always_cache, 0);
    EXPECT_EQ(rig.counters.forgotten, 0u);
    rig.profile.record(1, bytes, bytes, Fate::kept, Mode::user_defined, 1);
    EXPECT_EQ(rig.forgotten_by("nearfetch_win_invalidate"), 1u);
}

TEST(GetProfile, WhatIsReadAheadCountsAsFetched) {
    Rig rig;
    rig.profile.record(1, bytes, {0, 4096}, Fate::kept);
    rig.acquires.acquire("MPI_Recv");
    rig.profile.record(1, {1000, 1008}, {1000, 1008}, Fate::kept);
    EXPECT_EQ(rig.counters.forgotten, 1u);
    EXPECT_EQ(rig.profile.distinct_bytes(), 4096u);
}

TEST(Timeline, SpreadsWhatCameBetweenTwoNotes) {
    Timeline line;
    constexpr double s = Timeline::shortest_s;
    line.note(0.5 * s, {.hits = 1, .gets = 2});
    EXPECT_FALSE(line.is_due(1.2 * s));
    EXPECT_TRUE(line.is_due(1.6 * s));
    line.note(3.5 * s, {.hits = 7, .gets = 8});
    ASSERT_EQ(line.size(), 4u);
    EXPECT_DOUBLE_EQ(line.at(0).hits, 2);
    EXPECT_DOUBLE_EQ(line.at(1).hits, 2);
    EXPECT_DOUBLE_EQ(line.at(2).hits, 2);
    EXPECT_DOUBLE_EQ(line.at(3).hits, 1);
    EXPECT_DOUBLE_EQ(line.at(0).gets, 3);
}

TEST(Timeline, HalvesItsResolutionWhenItIsFull) {
    Timeline line;
    double gets = 0;
    for (int i = 1; i <= 1000; ++i)
        line.note(i * Timeline::shortest_s, {.gets = ++gets});
    EXPECT_EQ(line.interval_s(), 16 * Timeline::shortest_s);
    ASSERT_LE(line.size(), Timeline::most_intervals);
    double sum = 0;
    for (std::size_t i = 0; i < line.size(); ++i)
        sum += line.at(i).gets;
    EXPECT_NEAR(sum, 1000, 1e-6);
    EXPECT_NEAR(line.at(10).gets, 16, 1e-6);
}

TEST(Timeline, AWindowBeginsLater) {
    Timeline line;
    line.begin(10);
    line.note(10.5, {.gets = 100});
    double before = 0;
    for (std::size_t i = 0; i < line.size(); ++i)
        if ((static_cast<double>(i) + 1) * line.interval_s() <= 10) before += line.at(i).gets;
    EXPECT_EQ(before, 0);
}

}  // namespace
}  // namespace nearfetch

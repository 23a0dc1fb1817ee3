// SPDX-License-Identifier: Apache-2.0
//
// What a window knows of its targets: a state for each that was accessed, and one for all others. What that
// takes for groups of up to a million ranks.

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "../cache/refusing_new.hpp"
#include "base/per_rank.hpp"
#include "rig.hpp"

namespace nearfetch {
namespace {

using testing::allocated_bytes;
using testing::Rig;

TEST(PerRank, AllHaveOneValueUntilTheyAreGivenAnother) {
    PerRank<int> of(1000, 7);
    EXPECT_EQ(of.ranks(), 1000);
    of.make(300) = 8;
    for (Rank rank = 0; rank < 1000; ++rank)
        EXPECT_EQ(of[rank], rank == 300 ? 8 : 7);
    of.make(999) = 9;
    EXPECT_EQ(of[999], 9);
    EXPECT_EQ(of[998], 7);
    PerRank<int> one(1);
    one.make(0) = 1;
    EXPECT_EQ(one[0], 1);
}

TEST(TargetTable, ATargetHasAStateFromItsFirstAccess) {
    TargetTable targets(1000);
    EXPECT_EQ(&targets.at(3), &targets.others());
    std::vector<Rank> made;
    targets.when_made([&](Rank target, TargetState&) { made.push_back(target); });
    targets.make(3).target.hits = 1;
    TargetState& last = targets.make(999);
    EXPECT_EQ(&targets.make(999), &last);
    EXPECT_EQ(targets.at(3).target.hits, 1u);
    EXPECT_EQ(targets.at(4).target.hits, 0u);
    EXPECT_EQ(made, (std::vector<Rank>{3, 999}));
    EXPECT_EQ(std::vector<Rank>(targets.accessed().begin(), targets.accessed().end()), made);
}

TEST(TargetTable, WhatAllOthersHaveIsWhatANewOneBeginsWith) {
    TargetTable targets(10);
    targets.make(1);
    targets.visit_all([](TargetState& state) { state.operations.bypassed = Bypassed::gets; });
    targets.make(1).operations.bypassed = Bypassed::nothing;
    EXPECT_EQ(targets.make(2).operations.bypassed, Bypassed::gets);
    EXPECT_EQ(targets.at(1).operations.bypassed, Bypassed::nothing);
    EXPECT_EQ(targets.at(9).operations.bypassed, Bypassed::gets);
}

TEST(TargetTable, ListsHaveRoomForEachThatWasAccessed) {
    TargetTable targets(1000);
    std::vector<Rank> list;
    targets.keep_room_in(list);
    for (Rank target = 0; target < 1000; ++target) {
        targets.make(target);
        ASSERT_GE(list.capacity(), static_cast<std::size_t>(target) + 1);
    }
}

/// A window of a group of so many ranks, of which a hundred all over it are read, put to and flushed.
struct WindowOfManyRanks : WindowTransfers, WindowListener {
    explicit WindowOfManyRanks(Rank count)
        : window(settings(), count, 0, false, process, *this, *this), every(std::max<Rank>(count / 100, 1)) {
        window.locks().change_epochs([](EpochTracker& epochs) { epochs.set_all(Epoch::passive); });
    }
    static Settings settings() {
        Settings all = Rig::settings(Mode::acquire);
        all.buffer_bytes = 1 << 16;
        return all;
    }
    void access() {
        for (Rank target = 0; target < window.ranks(); target += every) {
            const ByteRun run{0, 8, reinterpret_cast<std::byte*>(&to)};
            Starter starter;
            Begun begun{};
            EXPECT_EQ(window.gets().get({target, {&run, 1}, 8}, starter, begun), 0);
            const Flush flush = window.completions().flush(target, FlushKind::full);
            EXPECT_TRUE(flush == Flush::needed || flush == Flush::needed_bypassed);
            window.completions().complete(target, window.completions().now(), FlushKind::full, 0, 100);
        }
        EXPECT_NE(window.completions().flush_all(FlushKind::full), Flush::needed) << "nothing is outstanding";
    }

    struct Starter final : GetStarter {
        int start_whole() override { return 0; }
        int start_runs(std::span<const ByteRun>) override { return 0; }
        int start_waiting(Moment) override { return 1; }
    };
    int start_get(Rank, std::span<const ByteRun>) override { return 0; }
    int start_put(Rank, std::span<const ByteRun>) override { return 0; }
    int flush_local(Rank) override { return 0; }
    void progress() override {}

    ProcessState process;
    std::uint64_t to = 0;
    WindowCache window;
    Rank every;
};

TEST(WindowOfManyRanksTest, WhatWasNotAccessedTakesNoMemory) {
    std::uint64_t of_the_cache = 0;
    for (const Rank ranks : {100, 10'000, 100'000, 1'000'000}) {
        const std::uint64_t before = allocated_bytes;
        WindowOfManyRanks window(ranks);
        window.access();
        const std::uint64_t bytes = allocated_bytes - before;
        if (ranks == 100) of_the_cache = bytes;
        EXPECT_LE(bytes, of_the_cache + (1u << 20)) << ranks;
        EXPECT_EQ(window.window.counters().gets, 100u);
    }
}

}  // namespace
}  // namespace nearfetch

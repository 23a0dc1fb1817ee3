// SPDX-License-Identifier: Apache-2.0
//
// Tests of the simulator: it is reproducible, finds injected faults and shrinks them, and does not report
// faults of its own.

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "campaign.hpp"
#include "memory_model.hpp"
#include "page_run.hpp"
#include "range_run.hpp"
#include "shrink.hpp"

namespace nearfetch::simulation {
namespace {

constexpr std::uint64_t programs = 60;

TEST(Simulation, EveryFaultIsFoundAndShrunk) {
    for (const FaultInfo& info : fault_table) {
        if (info.cache == CacheKind::locks) continue;
        SCOPED_TRACE(info.name);
        Outcome total;
        std::optional<Finding> found;
        for (std::uint64_t i = 0; i < programs && !found; ++i)
            found = examine(info.cache, program_seed(info.cache, 3, i), info.fault, total);
        ASSERT_TRUE(found.has_value());
        EXPECT_LE(found->history.size(), 15u);
        EXPECT_GE(found->history.size(), 1u);
        EXPECT_NE(found->what.find("Allowed:"), std::string::npos) << found->what;
    }
}

TEST(Simulation, FaultsOfLocksAreFoundAndShrunk) {
    for (const FaultInfo& info : fault_table) {
        if (info.cache != CacheKind::locks) continue;
        SCOPED_TRACE(info.name);
        Outcome total;
        // They show in few schedules. One found may show in no schedule of fewer operations: then the next.
        std::size_t smallest = ~std::size_t{0};
        int found = 0;
        for (std::uint64_t i = 0; i < 10 * programs && found < 3 && smallest > 15; ++i) {
            const auto one = examine(info.cache, program_seed(info.cache, 3, i), info.fault, total);
            if (!one) continue;
            ++found;
            smallest = std::min(smallest, one->history.size());
            EXPECT_NE(one->what.find("Allowed:"), std::string::npos) << one->what;
        }
        ASSERT_GT(found, 0);
        EXPECT_LE(smallest, 15u);
        EXPECT_GE(smallest, 1u);
    }
}

TEST(Simulation, WithoutAFaultNothingIsFound) {
    for (const CacheKind cache : all_caches) {
        Outcome total;
        for (std::uint64_t i = 0; i < programs; ++i) {
            const auto found = examine(cache, program_seed(cache, 3, i), Fault::none, total);
            ASSERT_FALSE(found.has_value()) << found->what;
        }
        EXPECT_GT(total.bytes, 100000u);
    }
}

TEST(Simulation, SomeProgramsPutToTargetsThatAreWatched) {
    Outcome total;
    for (std::uint64_t i = 0; i < 10 * programs; ++i)
        ASSERT_FALSE(examine(CacheKind::ranges, program_seed(CacheKind::ranges, 4, i), Fault::none, total));
}

TEST(Simulation, WhereNothingIsCachedTheLiesDoNoHarm) {
    for (const Fault fault : {Fault::unseen_puts, Fault::unseen_accumulates, Fault::forgotten_invalidates}) {
        RangeCacheCounters counters;
        for (std::uint64_t seed = 1; seed <= programs; ++seed) {
            RangeProgram program = make_range_program(seed);
            program.settings.mode = Mode::off;
            EXPECT_EQ(run(program, fault, counters).failure, "");
        }
        EXPECT_EQ(counters.hits, 0u);
        EXPECT_GT(counters.gets, 1000u);
    }
}

TEST(Simulation, TheSameSeedDoesTheSame) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        const PageProgram program = make_page_program(seed);
        PageCacheCounters first, second;
        const Outcome one = run(program, Fault::none, first);
        const Outcome two = run(make_page_program(seed), Fault::none, second);
        EXPECT_EQ(one.bytes, two.bytes);
        EXPECT_EQ(one.ops, program.ops.size());
        EXPECT_TRUE(first == second);
    }
}

TEST(Simulation, ProgramsWithoutRacesHaveOneValuePerByte) {
    // The run checks the values; here, that such programs exist and read.
    int race_free = 0;
    PageCacheCounters counters;
    for (std::uint64_t seed = 1; seed <= 200; ++seed) {
        const PageProgram program = make_page_program(seed);
        if (!program.race_free || program.flaky) continue;
        ++race_free;
        EXPECT_EQ(run(program, Fault::none, counters).failure, "");
    }
    EXPECT_GT(race_free, 20);
    EXPECT_GT(counters.hits, 1000u);
}

/// A byte written by two ranks.
class MemoryModelTest : public ::testing::Test {
  protected:
    bool allowed(const MemoryModel::View& view, std::uint8_t value) const {
        const std::byte byte{value};
        return model.check(view, 0, 5, 1, &byte).empty();
    }
    MemoryModel::WriteId put(Rank rank, std::uint8_t value) {
        const std::byte byte{value};
        const auto id = model.issue(rank, 0, 0, 5, 1, &byte);
        model.finish(id);
        return id;
    }
    void release(Rank rank) { model.released(rank, model.tick(), 0, {}); }
    MemoryModel::View fresh(Rank rank) { return model.look(rank, model.tick(), 0, {5, 6}); }

    std::vector<std::vector<std::byte>> memory{std::vector<std::byte>(8, std::byte{9})};
    MemoryModel model{1, 8, memory};
};

TEST_F(MemoryModelTest, ReadersSeeOldValuesUntilTheyAcquire) {
    const MemoryModel::View old = fresh(1);
    put(0, 1);
    release(0);
    EXPECT_TRUE(allowed(old, 9));
    EXPECT_TRUE(allowed(old, 1));
    EXPECT_FALSE(allowed(fresh(1), 9));
    EXPECT_TRUE(allowed(fresh(1), 1));
    EXPECT_FALSE(allowed(fresh(1), 2));
    model.acquired(1, 0, {5, 6});
    EXPECT_FALSE(allowed(model.look(1, 0, 0, {5, 6}), 9)) << "an acquire of the range is enough";
}

TEST_F(MemoryModelTest, WritersSeeWhatTheyHaveWritten) {
    put(0, 1);
    EXPECT_FALSE(allowed(model.look(0, 0, 0, {5, 6}), 9));
    EXPECT_TRUE(allowed(fresh(1), 9)) << "it is not released";
    EXPECT_TRUE(allowed(fresh(1), 1)) << "it may have been written back";
    put(0, 2);
    EXPECT_FALSE(allowed(model.look(0, 0, 0, {5, 6}), 1));
    release(0);
    EXPECT_FALSE(allowed(fresh(1), 1)) << "a rank's writes keep their order";
}

TEST_F(MemoryModelTest, OfConcurrentWritesEitherMayBeTheLast) {
    put(0, 1);
    put(1, 2);
    release(0);
    release(1);
    EXPECT_TRUE(allowed(fresh(2), 1));
    EXPECT_TRUE(allowed(fresh(2), 2));
    EXPECT_EQ(model.choices(fresh(2), 0, 5), 2u);
    memory[0][5] = std::byte{1};
    EXPECT_NE(model.check_and_reset(memory, true), "") << "that is a race";
    EXPECT_TRUE(allowed(fresh(2), 1));
    EXPECT_FALSE(allowed(fresh(2), 2)) << "now it is known which was";
}

TEST_F(MemoryModelTest, WhatFailedRulesNothingOut) {
    put(0, 1);
    const std::byte byte{2};
    model.doubt(model.issue(0, 0, 0, 5, 1, &byte));
    release(0);
    for (const std::uint8_t value : {9, 1, 2})
        EXPECT_TRUE(allowed(fresh(1), value));
    put(0, 3);
    release(0);
    EXPECT_EQ(model.choices(fresh(1), 0, 5), 1u);
}

TEST(Shrinking, LeavesWhatItTakes) {
    std::vector<PageOp> ops(100);
    for (std::uint32_t i = 0; i < ops.size(); ++i) {
        ops[i].id = i;
        ops[i].size_bytes = 50;
    }
    const auto fails = [](const std::vector<PageOp>& some) {
        const auto has = [&](std::uint32_t id, std::uint64_t size) {
            return std::any_of(some.begin(), some.end(),
                               [&](const PageOp& op) { return op.id == id && op.size_bytes >= size; });
        };
        return has(17, 1) && has(63, 20) && has(64, 1);
    };
    const auto small = shrunk(ops, fails, 1000);
    ASSERT_EQ(small.size(), 3u);
    EXPECT_EQ(small[0].id, 17u);
    EXPECT_EQ(small[1].size_bytes, 25u);
    EXPECT_EQ(small[2].size_bytes, 1u);
}

}  // namespace
}  // namespace nearfetch::simulation

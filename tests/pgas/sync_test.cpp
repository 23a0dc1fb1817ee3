// SPDX-License-Identifier: Apache-2.0
//
// Sync variables order what is around them, and do so once per operation: litmus tests of message passing.
// Relaxed atomics on neighbouring words of the variable are in between, and order nothing. On threads as they
// come, and in virtual time with several seeds.

#include <gtest/gtest.h>

#include <nearfetch/pgas.hpp>
#include <nearfetch/sync_var.hpp>

#include "all_networks.hpp"
#include "pgas/context.hpp"
#include "pgas/runtime.hpp"

namespace nearfetch {
namespace {

using Variable = SyncVar<long>;

/// A variable and its neighbours, in one cache line.
struct Line {
    long before = 0;
    Variable::Cell cell;
    long after = 0;
};

class Sync : public ::testing::TestWithParam<bool> {
  protected:
    static void on_all_networks(Rank ranks, const std::function<void()>& main) {
        launch_on_all_networks({.ranks = ranks, .cached = GetParam()}, main);
    }
    static Variable variable(GlobalPtr<Line> line) {
        return Variable({line.rank(), line.address() + offsetof(Line, cell)});
    }
    /// Changes the words beside the variable without any order.
    static void disturb(GlobalPtr<Line> line) {
        const GlobalPtr<long> before(line.rank(), line.address());
        atomic_fetch_add(before, 1, std::memory_order_relaxed);
        atomic_load(before + 3, std::memory_order_relaxed);
    }
};

constexpr long rounds = 30;

// The reader has the old value in its cache.
TEST_P(Sync, WhatWasPutBeforeItIsReadAfterIt) {
    on_all_networks(3, [] {
        const auto lines = allocate<Line>(1);
        const auto data = allocate<long>(2).at_rank(2);
        const auto there = lines.at_rank(0), back = lines.at_rank(2);
        if (rank() == 0) {
            for (long i = 1; i <= rounds; ++i) {
                disturb(there);
                put(data, i);
                disturb(back);
                variable(there).write_ef(i);
                EXPECT_EQ(variable(back).read_fe(), -i);
                EXPECT_EQ(get(data + 1), -i);
            }
        } else if (rank() == 1) {
            for (long i = 1; i <= rounds; ++i) {
                EXPECT_LE(get(data), i);
                disturb(there);
                EXPECT_EQ(variable(there).read_fe(), i);
                EXPECT_EQ(get(data), i);
                put(data + 1, -i);
                disturb(back);
                variable(back).write_ef(-i);
            }
        }
        barrier();
        EXPECT_EQ(get(GlobalPtr<long>(there.rank(), there.address())), 2 * rounds);
        barrier();
    });
}

// Rank 2 learns from rank 1 what rank 0 has put.
TEST_P(Sync, OrderIsPassedOn) {
    on_all_networks(3, [] {
        const auto lines = allocate<Line>(1);
        const auto data = allocate<long>(1).at_rank(1);
        const Variable first = variable(lines.at_rank(0)), second = variable(lines.at_rank(1)),
                       done = variable(lines.at_rank(2));
        for (long i = 1; i <= rounds; ++i) {
            if (rank() == 0) {
                put(data, i);
                first.write_ef(i);
                EXPECT_EQ(done.read_fe(), i);
            } else if (rank() == 1) {
                second.write_ef(first.read_fe());
            } else {
                EXPECT_GE(get(data), i - 1);
                disturb(lines.at_rank(1));
                EXPECT_EQ(second.read_fe(), i);
                EXPECT_EQ(get(data), i);
                done.write_ef(i);
            }
        }
        barrier();
    });
}

// Writers that wait for each other: each sees what the one before has put.
TEST_P(Sync, AWriterSeesWhatWasReadBefore) {
    on_all_networks(4, [] {
        const auto lock = variable(allocate<Line>(1).at_rank(1));
        const auto counter = allocate<long>(1).at_rank(3);
        for (long i = 0; i < rounds; ++i) {
            lock.write_ef(rank());
            put(counter, get(counter) + 1);
            EXPECT_EQ(lock.read_fe(), rank());
        }
        barrier();
        EXPECT_EQ(get(counter), rounds * ranks());
        barrier();
    });
}

TEST(SyncCounts, AWaitFencesOnce) {
    LaunchOptions options;
    options.ranks = 2;
    options.network = "aries";
    options.virtual_time = true;
    launch(options, [] {
        const Variable ball(allocate<Variable::Cell>(1).at_rank(0));
        const auto other = allocate<long>(1);
        if (rank() == 0) {
            for (int step = 0; step < 300; ++step)  // rank 1 looks after each
                atomic_load(other.at_rank(1), std::memory_order_relaxed);
            ball.write_ef(5);
            barrier();
            return;
        }
        pgas::Context& context = pgas::Context::here();
        const pgas::SyncState& fences = context.sync();
        // What an acquire has to make stale.
        EXPECT_GT(context.runtime().clock().issue(), fences.acquired);
        const Stamp acquired = fences.acquired;
        const std::uint64_t released = fences.release_count->load();
        const std::uint64_t acquires = statistics()["acquires"];
        EXPECT_EQ(ball.read_fe(), 5);
        EXPECT_GT(fences.acquired, acquired);
        EXPECT_EQ(fences.release_count->load(), released + 1);
        // Each look acquires the variable's own bytes.
        EXPECT_GT(statistics()["acquires"], acquires + 100) << "it has looked often";
        barrier();
    });
}

INSTANTIATE_TEST_SUITE_P(Caches, Sync, ::testing::Bool(),
                         [](const auto& test) { return test.param ? "cached" : "uncached"; });

}  // namespace
}  // namespace nearfetch

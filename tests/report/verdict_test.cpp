// SPDX-License-Identifier: Apache-2.0

// Which sentence is said of which counters, and that a page has at most 100 columns.

#include "report/verdict.hpp"

#include <gtest/gtest.h>

#include <sstream>

#include "report/page.hpp"

namespace nearfetch {
namespace {

/// A run of two ranks with one window, of whose gets none was served.
RunSummary run_of(std::uint64_t gets) {
    RunSummary run{.ranks = 2, .elapsed_s = 19};
    WindowGroup group{.name = "table", .mode = "acquire", .site = "app(+0x12)", .bytes = 4096, .windows = 1};
    group.ranks = 2;
    group.counters.gets = gets;
    run.groups.push_back(group);
    return run;
}
RangeCacheCounters& counters(RunSummary& run) { return run.groups.front().counters; }

void expect(const RunSummary& run, Situation situation, const std::string& text) {
    const Verdict verdict = verdict_of(run);
    EXPECT_EQ(verdict.situation, situation) << situation_name(verdict.situation);
    EXPECT_EQ(verdict.text, text);
}

TEST(Verdict, NoWindow) {
    expect({}, Situation::no_window, "this program made no MPI window: nothing to do");
}

TEST(Verdict, Unused) {
    RunSummary run = run_of(0);
    expect(run, Situation::unused, "no window was read or written by a get or put: nothing to do");
    counters(run).puts = 1000;
    counters(run).puts_combined = 900;
    counters(run).put_messages = 9;
    expect(run, Situation::unused,
           "no window was read by a get: 1,000 puts and accumulates, of which 900 were combined into 9 "
           "messages");
}

TEST(Verdict, OwnMemory) {
    RunSummary run = run_of(500);
    counters(run).bypassed = counters(run).own_memory = 500;
    expect(run, Situation::own_memory,
           "own memory only: all 500 gets read what the process itself exposes, which is never cached");
}

TEST(Verdict, Helps) {
    RunSummary run = run_of(1000);
    counters(run).hits = 840;
    expect(run, Situation::helps, "84 % of remote gets hit; what that saved is too little to be measured");
    counters(run).saved_ns = 25'000'000'000;
    counters(run).spent_ns = 1'000'000'000;
    expect(run, Situation::helps, "saved about 12 s of 31 s a rank; 84 % of remote gets hit");
    counters(run).spent_ns = 27'000'000'000;
    expect(run, Situation::gains_nothing,
           "84 % of remote gets hit, but that saves nothing: a get takes no longer than a hit (1.0 s of 19 s "
           "a rank were lost)");
}

TEST(Verdict, OwnMemoryIsNoRemoteGet) {
    RunSummary run = run_of(1000);
    counters(run).hits = 100;
    counters(run).bypassed = counters(run).own_memory = 800;
    EXPECT_EQ(verdict_of(run).situation, Situation::helps);
    EXPECT_NE(verdict_of(run).text.find("50 % of remote gets hit"), std::string::npos);
}

TEST(Verdict, NoReuse) {
    RunSummary run = run_of(1000);
    counters(run).direct = counters(run).first_reads = 1000;
    expect(run, Situation::no_reuse, "nothing to gain: no byte was read twice");
    counters(run).first_reads = 970;
    counters(run).forgotten = 30;
    expect(run, Situation::no_reuse,
           "little to gain: 97 % of remote gets asked for bytes that were not read before");
}

TEST(Verdict, Forgotten) {
    RunSummary run = run_of(11'300);
    counters(run).direct = 11'300;
    counters(run).first_reads = 1'700;
    counters(run).forgotten = 9'600;
    run.groups.front().forgotten_by = {{"MPI_Allreduce", 2}, {"MPI_Win_lock", 9'598}};
    expect(
        run, Situation::forgotten,
        "9,600 gets asked for bytes that were forgotten at `MPI_Win_lock` (9,598) and `MPI_Allreduce` (2); "
        "with `mode=always-cache` 85 % would have hit, if nobody writes meanwhile");
    counters(run).forgotten_by_locks = 9'590;
    expect(
        run, Situation::forgotten,
        "9,600 gets asked for bytes that were forgotten at `MPI_Win_lock` (9,598) and `MPI_Allreduce` (2); "
        "with `locks=access` 85 % would have hit, if no lock alone tells that somebody has written");
    counters(run).puts = 7;
    EXPECT_EQ(verdict_of(run).situation, Situation::written_to);
}

TEST(Verdict, AdvisesAboutLocks) {
    RunSummary run = run_of(1000);
    counters(run).direct = 1000;
    counters(run).first_reads = 100;
    counters(run).forgotten = counters(run).forgotten_by_locks = 900;
    EXPECT_EQ(verdict_of(run).advice, "") << "no lock for each access";
    counters(run).locks = 1000;
    EXPECT_EQ(verdict_of(run).advice, "") << "no leases";
    counters(run).lease_looks = 10;
    EXPECT_EQ(verdict_of(run).advice,
              "without a promise: longer leases, such as `lease_us=10000`, if exclusive locks are rare");
    counters(run).flushes = 1000;
    EXPECT_EQ(verdict_of(run).advice, "") << "a flush takes the lock";
    counters(run).flushes = 0;
    counters(run).forgotten_by_locks = 800;
    EXPECT_EQ(verdict_of(run).advice, "") << "leases do not outlive other calls";

    run.is_threaded = true;
    const std::string threads =
        "`MPI_THREAD_MULTIPLE`: there are no leases, and each lock enters MPI; if one thread at a time calls "
        "MPI, ask for less (mpi4py: `MPI4PY_RC_THREAD_LEVEL=serialized`)";
    EXPECT_EQ(verdict_of(run).advice, threads);
    counters(run).hits = 900;
    counters(run).forgotten = counters(run).forgotten_by_locks = 0;
    EXPECT_EQ(verdict_of(run).situation, Situation::helps);
    EXPECT_EQ(verdict_of(run).advice, threads);
    run.is_threaded = false;
    EXPECT_EQ(verdict_of(run).advice, "");
}

TEST(Verdict, ManyCallsAreAddedUp) {
    RunSummary run = run_of(100);
    counters(run).forgotten = 100;
    run.groups.front().forgotten_by = {
        {"MPI_Recv", 50}, {"MPI_Wait", 30}, {"a fetching atomic", 15}, {"MPI_Bcast", 3}, {"MPI_Barrier", 2}};
    EXPECT_NE(
        verdict_of(run).text.find("`MPI_Recv` (50), `MPI_Wait` (30), a fetching atomic (15) and others (5)"),
        std::string::npos)
        << verdict_of(run).text;
}

TEST(Verdict, TooSmall) {
    RunSummary run = run_of(1000);
    counters(run).first_reads = 100;
    counters(run).evicted_before = 500;
    counters(run).not_kept = 300;
    counters(run).hits = 100;
    counters(run).distinct_bytes = 8ull << 20;
    run.memory_limit_bytes = run.memory_taken_bytes = 1 << 20;
    expect(
        run, Situation::too_small,
        "buffer too small: 800 gets asked for bytes that had been fetched, and had no room to stay (a rank "
        "reads 4.0 MiB, and its caches took 1.0 MiB of 1.0 MiB); with more `memory_bytes` 90 % would have "
        "hit");
}

TEST(Verdict, Bypassed) {
    RunSummary run = run_of(1000);
    counters(run).bypassed = 1000;
    counters(run).first_reads = 100;
    counters(run).bypassed_before = 900;
    EXPECT_EQ(verdict_of(run).situation, Situation::does_not_pay);
    counters(run).same_node = 1000;
    expect(
        run, Situation::same_node,
        "same node: the library delivers from shared memory, where a hit saves nothing, so 1,000 gets were "
        "bypassed");
    run.groups.front().mode = "off";
    expect(run, Situation::off,
           "mode `off`: nothing was cached; 90 % of remote gets would have hit in mode `acquire`");
    counters(run) = {};
    expect(run, Situation::off, "mode `off`: nothing was cached");
}

TEST(Verdict, Overwritten) {
    RunSummary run = run_of(1000);
    counters(run).overwritten = 900;
    counters(run).first_reads = 100;
    expect(
        run, Situation::overwritten,
        "window written to: 900 gets asked for bytes that this process itself had changed by accumulates or "
        "atomics");
}

TEST(Page, HasAtMostAHundredColumnsAndFiveWindows) {
    RunSummary run = run_of(123'456'789);
    WindowGroup& first = run.groups.front();
    first.name = std::string(250, 'n');
    first.site = std::string(90, 's') + " " + std::string(90, 't');
    first.counters.forgotten = 100'000'000;
    for (const char* const call : {"MPI_Recv", "MPI_Neighbor_alltoallw", "MPI_Win_lock_all", "MPI_Wait"})
        first.forgotten_by[call] = 25'000'000;
    for (const CounterInfo& row : range_cache_counter_table)
        if (first.counters.*row.member == 0) first.counters.*row.member = 1'000'000;
    first.counters.locks = first.counters.gets;
    run.is_threaded = true;
    const WindowGroup like = first;
    for (int i = 0; i < 9; ++i) {
        WindowGroup other = like;
        other.name = "w" + std::to_string(i);
        run.groups.push_back(other);
    }
    run.memory_origin = "memory_bytes";
    const std::string page = page_of(run, "2 ranks");
    std::istringstream lines(page);
    int windows = 0;
    for (std::string line; std::getline(lines, line);) {
        EXPECT_LE(line.size(), 100u) << line;
        windows += line.starts_with("  window ");
    }
    EXPECT_EQ(windows, 5);
    EXPECT_NE(page.find("5 more kinds of windows"), std::string::npos) << page;
}

}  // namespace
}  // namespace nearfetch

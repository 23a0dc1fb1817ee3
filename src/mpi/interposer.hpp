// SPDX-License-Identifier: Apache-2.0
#pragma once

// What nearfetch keeps for the process: one object. It is there before the first call, and outlives
// everything that may still call MPI at exit.

#include <mpi.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "mpi/mru_lookups.hpp"
#include "mpi/passthrough.hpp"
#include "mpi/report/world.hpp"
#include "rma/process_state.hpp"

namespace nearfetch {

class RequestTable;
class WindowTable;

/// Of the requests that are in the table: what calls ask that find none of theirs there.
struct RequestsUnderWay {
    std::atomic<std::size_t> tracked{0};
    std::atomic<std::size_t> waiting{0};  ///< for a leader
    /// The calls that complete requests come by here.
    std::atomic<bool> completions_are_seen{false};
};

struct Interposer {
    ProcessState process;  ///< what its windows share
    Passthrough passthrough;
    MruLookups mru{};
    /// Several threads may be in MPI at a time (MPI_THREAD_MULTIPLE).
    bool threaded = false;
    /// Windows that may expose the same memory as another, so that what is written through one is an acquire
    /// for the other.
    std::atomic<int> overlapping_windows{0};
    /// Changes whenever a window comes or goes.
    std::atomic<std::uint64_t> window_generation{1};

    /// When statistics are to be prepared again (WindowTable::prepare_for_end); never: not at all.
    std::atomic<std::uint64_t> report_due_ticks{~std::uint64_t{0}};

    RequestsUnderWay requests_under_way;
    World world;

    // Made when they are asked for first.
    WindowTable& windows();
    RequestTable& requests();

    /// Takes the process off the writers of targets that it holds no lock of, where that may be done now.
    void end_lease_writing() noexcept;

    /// To be called now and then where something goes to the network.
    void note_time() noexcept {
        const std::uint64_t due = report_due_ticks.load(std::memory_order_relaxed);
        if (due != ~std::uint64_t{0} && ticks() >= due) [[unlikely]]
            prepare_report();
    }
    bool has_overlapping_windows() const noexcept {
        return overlapping_windows.load(std::memory_order_relaxed) != 0;
    }
    /// Asks MPI whether there are several threads. For each window: a session may bring more threads than
    /// MPI_Init has.
    void look_for_threads() noexcept;

  private:
    void prepare_report() noexcept;
};

extern constinit Interposer interposer __attribute__((visibility("hidden")));

}  // namespace nearfetch

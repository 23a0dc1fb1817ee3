// SPDX-License-Identifier: Apache-2.0
#pragma once

// The MPI_COMM_WORLD of this process. A job has several worlds where it spawns processes, and the name of a
// world tells the files of one from those of another.
//
// Launchers that follow PMIx name a world. Elsewhere each process draws a number. Processes that make a
// window together take the least number of their world. So all that have met in windows agree.

#include <mpi.h>

#include <atomic>
#include <cstdint>
#include <span>
#include <string>

namespace nearfetch {

class World {
  public:
    /// Asks MPI, which has to be initialized. Call it early: later the program may have left its parents.
    void look() noexcept;

    /// Whether MPI_Comm_spawn has made it.
    bool spawned() const noexcept { return spawned_; }
    /// \pre look()
    std::uint64_t number() const noexcept { return number_.load(std::memory_order_relaxed); }
    /// The number in hexadecimal.
    std::string name() const;

    /// From now on a communicator may be a session's. Its group may not be compared with that of another
    /// session or of the world, and it does not tell whose it is.
    void begin_session() noexcept { has_sessions_.store(true, std::memory_order_relaxed); }
    bool has_sessions() const noexcept { return has_sessions_.load(std::memory_order_relaxed); }

    /// Takes part in a window of `comm`, whose ranks have these numbers. Beside sessions nobody is met.
    /// \param has_summary all of them are going to add up a summary
    void meet(MPI_Comm comm, std::span<const std::uint64_t> numbers, bool has_summary) noexcept;

    /// Whether all ranks of the world are known to add up a summary.
    bool has_met_all() const noexcept { return has_met_all_.load(std::memory_order_relaxed); }

  private:
    std::atomic<bool> has_met_all_{false};
    std::atomic<bool> has_sessions_{false};
    std::atomic<std::uint64_t> number_{0};  ///< 0: not known
    bool spawned_ = false;
};

}  // namespace nearfetch

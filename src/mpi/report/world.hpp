// SPDX-License-Identifier: Apache-2.0
#pragma once

// The MPI_COMM_WORLD of this process, of which a job has several where processes are spawned, and how its
// files are told from another world's.
//
// Launchers that follow PMIx give a world a name. Elsewhere each process draws a number, and nothing is sent
// for the sake of it: where processes make a window they take the least number among those of their world. So
// all who have met in windows agree; others keep numbers of their own.

#include <mpi.h>

#include <atomic>
#include <cstdint>
#include <span>
#include <string>

namespace nearfetch {

class World {
  public:
    /// Asks MPI, which has to be initialized. Once: later the program may have disconnected its parents.
    void look() noexcept;

    /// Whether MPI_Comm_spawn has made it.
    bool spawned() const noexcept { return spawned_; }
    /// \pre look()
    std::uint64_t number() const noexcept { return number_.load(std::memory_order_relaxed); }
    /// The number as its files have it.
    std::string name() const;

    /// Takes part in a window of `comm`, whose ranks have these numbers.
    void meet(MPI_Comm comm, std::span<const std::uint64_t> numbers) noexcept;

  private:
    std::atomic<std::uint64_t> number_{0};  ///< 0: not known
    bool spawned_ = false;
};

/// The process's.
extern constinit World world __attribute__((visibility("hidden")));

}  // namespace nearfetch

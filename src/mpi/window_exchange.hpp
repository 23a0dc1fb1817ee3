// SPDX-License-Identifier: Apache-2.0
#pragma once

// What the ranks of a new window tell one another.
//
// What is the same for all comes from a reduction: nothing is kept or sent for each rank. Of each rank alone
// are its node and its world (16 bytes), and, where its memory is not like the others', what it exposes.

#include <mpi.h>

#include <cstdint>
#include <vector>

#include "base/per_rank.hpp"
#include "mpi/lease_windows.hpp"
#include "rma/front_end.hpp"

namespace nearfetch {

/// Whether a process would share what it fetches with others of its node.
enum class Sharing : std::uint64_t { wanted, not_with_threads, not_wanted };

/// What a process exposes, as far as others need to know.
struct ExposedMemory {
    std::uint64_t unit_bytes;    ///< of displacements
    std::uint64_t extent_bytes;  ///< 0 if that is not known, or changes
    std::uint64_t page_phase;    ///< as TargetMemory has it
    std::uint64_t is_declared;

    friend bool operator==(const ExposedMemory&, const ExposedMemory&) noexcept = default;
};

/// What one process tells of a window, or several have told.
struct WindowFacts {
    ExposedMemory memory;  ///< of one of them
    std::uint64_t memory_differs = 0;
    std::uint64_t total_bytes = 0;
    std::uint64_t overlaps = 0;     ///< for one of them
    std::uint64_t has_summary = 0;  ///< each is going to add one up
    Sharing sharing = Sharing::wanted;
    LeaseWindows::Offer leases{};

    static WindowFacts joined(const WindowFacts& a, const WindowFacts& b) noexcept;
};

class WindowExchange {
  public:
    /// Collective over `comm`. \param node by this_node() \param world its number
    /// \return an MPI error code \throws std::bad_alloc
    int meet(MPI_Comm comm, const WindowFacts& mine, std::uint64_t node, std::uint64_t world);

    // After that:
    /// What all have told.
    const WindowFacts& facts() const noexcept { return facts_; }
    /// Displacement unit of each rank, bytes; one entry if all are the same.
    std::vector<std::uint64_t> units() const;
    /// \throws std::bad_alloc
    PerRank<TargetMemory> memory() const;
    /// Of each rank.
    const std::vector<std::uint64_t>& nodes() const noexcept { return nodes_; }
    const std::vector<std::uint64_t>& worlds() const noexcept { return worlds_; }
    /// How many ranks are on this node.
    int ranks_here() const noexcept { return static_cast<int>(here_.size()); }

  private:
    WindowFacts facts_{};
    std::vector<ExposedMemory> memory_;  ///< of each rank, if they differ
    std::vector<std::uint64_t> nodes_, worlds_;
    std::vector<Rank> here_;
};

}  // namespace nearfetch

// SPDX-License-Identifier: Apache-2.0
#pragma once

// The words that leases need (rma/leases.hpp): a hidden window for each group of processes that has windows,
// with slots. A window of the program takes one, which all ranks agree upon when it is made. Out of slots, or
// out of hidden windows, its locks are acquires.
//
// A hidden window is open for all ranks (lock_all), and is freed with MPI_Finalize, which all of its group
// call: in the order in which they were made, which is one that does not block. Processes that do not end
// together, as those of two worlds, have none.

#include <mpi.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "rma/leases.hpp"

namespace nearfetch {

/// The words of one window of the program.
class LeaseSlot final : public LeaseWords {
  public:
    /// \param words of this process in the hidden window
    LeaseSlot(MPI_Win hidden, std::uint64_t* words, int slot) noexcept
        : hidden_(hidden), words_(words), slot_(slot) {}

    int fetch_add(Rank target, std::uint64_t amount, std::uint64_t& before) override;
    int start_fetch_add(Rank target, std::uint64_t amount, std::uint64_t& before) override;
    void wait_until(std::uint64_t end_ticks) override;
    int complete() override { return PMPI_Win_flush_all(hidden_); }

    MPI_Win hidden() const noexcept { return hidden_; }
    int number() const noexcept { return slot_; }
    /// \pre the window is gone, on all ranks
    void clear() noexcept;

  private:
    bool is_announcement_left_out(std::uint64_t amount) noexcept;

    MPI_Win hidden_;
    std::uint64_t* words_;
    int slot_;
    int left_out_ = 0;
};

class LeaseWindows {
  public:
    /// What a process tells the others of a group's new window.
    struct Offer {
        std::uint64_t may_lease = 0;    ///< 0: this process cannot keep the rules of leases in this window
        std::uint64_t wants_lease = 0;  ///< shared locks of this process may be kept
        std::uint64_t has_words = 0;    ///< there is a hidden window of the group, or there may be one
        std::uint64_t may_make = 0;
        std::uint64_t free_slots = 0;  ///< a bit for each
        std::uint64_t lease_ns = 0;
    };
    /// What this process can offer to the group of `comm`. \throws std::bad_alloc
    Offer offer(MPI_Comm comm);
    /// What all ranks have told, in one.
    static Offer joined(const Offer& a, const Offer& b) noexcept;
    /// A slot for a new window, if all offer it. Collective over `comm` if a hidden window has to be made.
    /// \return null: there is none \throws std::bad_alloc
    std::unique_ptr<LeaseSlot> take(MPI_Comm comm, const Offer& of_all);
    /// This process has no memory to keep the rules in a slot that it has taken: nobody gets a lease there.
    static void renounce(MPI_Win hidden, int slot) noexcept;
    /// Within MPI_Finalize.
    void free_all() noexcept;
    /// The slot's window is gone, on all ranks.
    void give_back(std::unique_ptr<LeaseSlot> slot) noexcept;

  private:
    static constexpr std::size_t most_windows = 16;
    static constexpr int slots = 64;

    struct Hidden {
        MPI_Group group;
        MPI_Win win;
        std::uint64_t* words;
        std::uint64_t free_slots;
    };
    Hidden* find(MPI_Comm comm) noexcept;
    Hidden* make(MPI_Comm comm) noexcept;

    std::vector<Hidden> windows_;
};

}  // namespace nearfetch

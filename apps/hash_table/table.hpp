// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <cstdint>
#include <unordered_map>

#include "common/mpi_session.hpp"
#include "common/mpi_window.hpp"
#include "hash_table/options.hpp"

namespace nearfetch::hash_table {

/// Counters in a window, as many on each rank. All ranks may add to them at any time. They begin at 0.
class Counters {
  public:
    /// Collective.
    Counters(const apps::MpiSession& mpi, std::uint64_t count, const apps::WindowOptions& window);
    ~Counters();
    Counters(const Counters&) = delete;
    Counters& operator=(const Counters&) = delete;

    /// \return its value before
    std::uint64_t add(int rank, std::uint64_t which, std::uint64_t amount);

  private:
    apps::Window window_;
};

/// An open-addressing hash table in a window, distributed over the ranks in blocks of equal size.
///
/// A slot is a key and its value, 8 bytes each. A key is stored in the first free slot from its hash position
/// on, in the same rank's part. The first rank to add to the slot's counter reserves the slot. All ranks may
/// insert, change values, or look up concurrently, but only one of these at a time; synchronize() separates
/// them.
class Table {
  public:
    /// An empty table with room for all keys at the wanted load. Collective.
    Table(const apps::MpiSession& mpi, const Options& options);
    ~Table();
    Table(const Table&) = delete;
    Table& operator=(const Table&) = delete;

    /// Only one rank may insert a key. @throws std::runtime_error when the part of the key's rank is full
    void insert(std::uint64_t key, std::uint64_t value);

    /// Changes a key that this rank has inserted.
    void change(std::uint64_t key, std::uint64_t value);

    /// The value; kNone if the key is not in the table.
    std::uint64_t find(std::uint64_t key);

    /// Makes the ranks' changes visible to all. Collective.
    void synchronize();

    std::uint64_t slots() const { return static_cast<std::uint64_t>(ranks_) * per_rank_; }
    std::uint64_t remote_gets() const { return remote_gets_; }

  private:
    struct Slot {
        std::uint64_t key, value;
    };
    struct SlotLocation {
        int rank;
        std::uint64_t slot;
    };

    SlotLocation home(std::uint64_t key) const;
    Slot read(const SlotLocation& location);
    void write(const SlotLocation& location, const Slot& slot);

    int rank_;
    int ranks_;
    std::uint64_t per_rank_;
    apps::Window window_;
    Counters reservations_;                                     ///< one per slot
    std::unordered_map<std::uint64_t, SlotLocation> inserted_;  ///< by this rank
    std::uint64_t remote_gets_ = 0;
};

}  // namespace nearfetch::hash_table

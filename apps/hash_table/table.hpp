// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <cstdint>
#include <unordered_map>

#include "common/mpi_session.hpp"
#include "common/mpi_window.hpp"
#include "hash_table/options.hpp"

namespace nearfetch::hash_table {

/// Counters in a window, as many on each rank, that all ranks may add to at any time. They begin at 0.
class Counters {
  public:
    /// Collective.
    Counters(const apps::MpiSession& mpi, std::uint64_t count, const apps::WindowOptions& window);
    ~Counters();
    Counters(const Counters&) = delete;
    Counters& operator=(const Counters&) = delete;

    /// Its value before.
    std::uint64_t add(int rank, std::uint64_t which, std::uint64_t amount);

  private:
    apps::Window window_;
};

/// An open-addressing hash table in a window, dealt out over the ranks in blocks of equal size.
///
/// A slot is a key and its value, 8 bytes each. A key stands in the first slot that was free from the one on
/// that it is hashed to, within the same rank's part: who is the first to add to the slot's counter takes it.
/// All ranks may insert at once, or change values, or look up; not one while another does something else,
/// which synchronize() separates.
class Table {
  public:
    /// An empty one, with room for all keys at the wanted load. Collective.
    Table(const apps::MpiSession& mpi, const Options& options);
    ~Table();
    Table(const Table&) = delete;
    Table& operator=(const Table&) = delete;

    /// Nobody else may insert the same key.
    /// @throws std::runtime_error when the rank's part that the key belongs to is full
    void insert(std::uint64_t key, std::uint64_t value);

    /// Of a key that this rank has inserted.
    void change(std::uint64_t key, std::uint64_t value);

    /// The value; kNone for a key that is not in the table.
    std::uint64_t find(std::uint64_t key);

    /// What any rank has done is seen by all afterwards. Collective.
    void synchronize();

    std::uint64_t slots() const { return static_cast<std::uint64_t>(ranks_) * per_rank_; }
    std::uint64_t remote_gets() const { return remote_gets_; }

  private:
    struct Slot {
        std::uint64_t key, value;
    };
    struct Place {
        int rank;
        std::uint64_t slot;
    };

    Place home(std::uint64_t key) const;
    Slot read(const Place& place);
    void write(const Place& place, const Slot& slot);

    int rank_;
    int ranks_;
    std::uint64_t per_rank_;
    apps::Window window_;
    Counters claims_;                                    ///< one for each slot
    std::unordered_map<std::uint64_t, Place> inserted_;  ///< by this rank
    std::uint64_t remote_gets_ = 0;
};

}  // namespace nearfetch::hash_table

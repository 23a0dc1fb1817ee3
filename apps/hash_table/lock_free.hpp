// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <fstream>

#include "common/mpi_session.hpp"
#include "common/mpi_window.hpp"
#include "hash_table/options.hpp"

namespace nearfetch::hash_table {

/// A table of results that all ranks share without any synchronisation, as simulations use one to compute
/// nothing twice: get, compare, put, flush.
///
/// Ranks race. A checksum tells what was written by two at a time, which then counts as absent. An entry that
/// another one overwrites is lost, and computed again. A key has four places; if all are taken it overwrites
/// the last one.
class LockFreeTable {
  public:
    static constexpr std::size_t value_words = 10;
    using Value = std::array<std::uint64_t, value_words>;

    /// Collective.
    LockFreeTable(const apps::MpiSession& mpi, const Options& options);
    ~LockFreeTable();
    LockFreeTable(const LockFreeTable&) = delete;
    LockFreeTable& operator=(const LockFreeTable&) = delete;

    /// \return whether the key is there
    bool find(std::uint64_t key, Value& value);
    void store(std::uint64_t key, const Value& value);

    /// Keys of this rank's part with a good checksum. Collective: no rank is storing.
    std::uint64_t count_keys();
    /// Entries whose checksum was wrong.
    std::uint64_t torn() const { return torn_; }

  private:
    struct Slot {
        std::uint64_t key = 0;
        Value value{};
        std::uint64_t checksum = 0;
    };
    struct Place {
        int rank;
        std::uint64_t slot;
    };
    static constexpr std::uint64_t places = 4;

    Place place_of(std::uint64_t key, std::uint64_t which) const;
    Slot read(const Place& place);
    static bool is_good(const Slot& slot);
    static std::uint64_t checksum_of(const Slot& slot);

    int rank_, ranks_;
    std::uint64_t per_rank_;
    apps::Window window_;
    std::uint64_t torn_ = 0;
};

/// Each rank looks keys up, and computes and stores those that are not there. \return the exit code
int share_results(const apps::MpiSession& mpi, const Options& options, std::ofstream& json);

}  // namespace nearfetch::hash_table

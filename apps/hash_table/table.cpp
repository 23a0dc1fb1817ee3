// SPDX-License-Identifier: Apache-2.0
#include "hash_table/table.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "common/random.hpp"
#include "hash_table/keys.hpp"

namespace nearfetch::hash_table {

namespace {

std::uint64_t slots_of_a_rank(const apps::MpiSession& mpi, const Options& options) {
    const double slots = std::ceil(static_cast<double>(options.keys) / options.load / mpi.ranks());
    // Room for hashing's variation: eight standard deviations, and eight more slots for small tables.
    const double share = static_cast<double>(options.keys) / mpi.ranks();
    return static_cast<std::uint64_t>(std::max(slots, share + 8 * std::sqrt(share) + 8));
}

}  // namespace

Counters::Counters(const apps::MpiSession& mpi, std::uint64_t count, const apps::WindowOptions& window)
    : window_(count * sizeof(std::uint64_t), sizeof(std::uint64_t), window) {
    window_.clear(mpi.rank(), count * sizeof(std::uint64_t));
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, window_.handle());
}

Counters::~Counters() { MPI_Win_unlock_all(window_.handle()); }

std::uint64_t Counters::add(int rank, std::uint64_t which, std::uint64_t amount) {
    std::uint64_t before = 0;
    MPI_Fetch_and_op(&amount, &before, MPI_UINT64_T, rank, static_cast<MPI_Aint>(which), MPI_SUM,
                     window_.handle());
    MPI_Win_flush(rank, window_.handle());
    return before;
}

Table::Table(const apps::MpiSession& mpi, const Options& options)
    : rank_(mpi.rank()),
      ranks_(mpi.ranks()),
      per_rank_(slots_of_a_rank(mpi, options)),
      window_(per_rank_ * sizeof(Slot), sizeof(Slot), options.common.window),
      reservations_(mpi, per_rank_, options.common.window) {
    window_.clear(rank_, per_rank_ * sizeof(Slot));
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, window_.handle());
}

Table::~Table() { MPI_Win_unlock_all(window_.handle()); }

Table::SlotLocation Table::home(std::uint64_t key) const {
    const std::uint64_t slot = apps::mixed(key) % slots();
    return {static_cast<int>(slot / per_rank_), slot % per_rank_};
}

void Table::insert(std::uint64_t key, std::uint64_t value) {
    SlotLocation location = home(key);
    for (std::uint64_t tried = 0; tried < per_rank_;
         ++tried, location.slot = (location.slot + 1) % per_rank_) {
        if (reservations_.add(location.rank, location.slot, 1) != 0) continue;
        write(location, {key, value});
        inserted_.emplace(key, location);
        return;
    }
    throw std::runtime_error("a rank's part of the table is full");
}

void Table::change(std::uint64_t key, std::uint64_t value) { write(inserted_.at(key), {key, value}); }

void Table::write(const SlotLocation& location, const Slot& slot) {
    MPI_Put(&slot, 2, MPI_UINT64_T, location.rank, static_cast<MPI_Aint>(location.slot), 2, MPI_UINT64_T,
            window_.handle());
    MPI_Win_flush(location.rank, window_.handle());
}

std::uint64_t Table::find(std::uint64_t key) {
    SlotLocation location = home(key);
    for (std::uint64_t tried = 0; tried < per_rank_;
         ++tried, location.slot = (location.slot + 1) % per_rank_) {
        const Slot slot = read(location);
        if (slot.key == key) return slot.value;
        if (slot.key == kNone) break;
    }
    return kNone;
}

Table::Slot Table::read(const SlotLocation& location) {
    if (location.rank == rank_) return static_cast<const Slot*>(window_.memory())[location.slot];
    ++remote_gets_;
    Slot slot{};
    MPI_Get(&slot, 2, MPI_UINT64_T, location.rank, static_cast<MPI_Aint>(location.slot), 2, MPI_UINT64_T,
            window_.handle());
    MPI_Win_flush(location.rank, window_.handle());
    return slot;
}

void Table::synchronize() {
    MPI_Win_flush_all(window_.handle());
    MPI_Win_sync(window_.handle());
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_sync(window_.handle());
}

}  // namespace nearfetch::hash_table

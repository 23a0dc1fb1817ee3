// SPDX-License-Identifier: Apache-2.0
#include "hash_table/lock_free.hpp"

#include <algorithm>
#include <cmath>

#include "common/mpi_support.hpp"
#include "common/random.hpp"
#include "common/stopwatch.hpp"
#include "hash_table/keys.hpp"

namespace nearfetch::hash_table {

namespace {

/// What a rank would compute for the key.
LockFreeTable::Value computed(std::uint64_t key) {
    LockFreeTable::Value value;
    for (std::size_t i = 0; i < value.size(); ++i)
        value[i] = apps::mixed(key + i);
    return value;
}

}  // namespace

LockFreeTable::LockFreeTable(const apps::MpiSession& mpi, const Options& options)
    : rank_(mpi.rank()),
      ranks_(mpi.ranks()),
      per_rank_(static_cast<std::uint64_t>(
          std::ceil(static_cast<double>(options.keys) / options.load / mpi.ranks()))),
      window_(per_rank_ * sizeof(Slot), sizeof(Slot), options.common.window) {
    window_.clear(rank_, per_rank_ * sizeof(Slot));
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, window_.handle());
}

LockFreeTable::~LockFreeTable() { MPI_Win_unlock_all(window_.handle()); }

LockFreeTable::Place LockFreeTable::place_of(std::uint64_t key, std::uint64_t which) const {
    // All of a key's places are on one rank.
    const auto rank = static_cast<int>(apps::mixed(key) % static_cast<std::uint64_t>(ranks_));
    return {rank, apps::mixed(key ^ apps::mixed(which + 1)) % per_rank_};
}

bool LockFreeTable::find(std::uint64_t key, Value& value) {
    for (std::uint64_t which = 0; which < places; ++which) {
        const Slot slot = read(place_of(key, which));
        if (slot.key == kNone) return false;
        if (slot.key != key) continue;
        if (!is_good(slot)) {
            ++torn_;
            return false;
        }
        value = slot.value;
        return true;
    }
    return false;
}

void LockFreeTable::store(std::uint64_t key, const Value& value) {
    Place place = place_of(key, 0);
    for (std::uint64_t which = 0; which < places; ++which) {
        place = place_of(key, which);
        const std::uint64_t there = read(place).key;
        if (there == kNone || there == key) break;
    }
    Slot slot{key, value, 0};
    slot.checksum = checksum_of(slot);
    MPI_Put(&slot, sizeof slot, MPI_BYTE, place.rank, static_cast<MPI_Aint>(place.slot), sizeof slot,
            MPI_BYTE, window_.handle());
    MPI_Win_flush(place.rank, window_.handle());
}

LockFreeTable::Slot LockFreeTable::read(const Place& place) {
    Slot slot;
    MPI_Get(&slot, sizeof slot, MPI_BYTE, place.rank, static_cast<MPI_Aint>(place.slot), sizeof slot,
            MPI_BYTE, window_.handle());
    MPI_Win_flush(place.rank, window_.handle());
    return slot;
}

bool LockFreeTable::is_good(const Slot& slot) { return slot.checksum == checksum_of(slot); }

std::uint64_t LockFreeTable::checksum_of(const Slot& slot) {
    std::uint64_t sum = apps::mixed(slot.key);
    for (const std::uint64_t word : slot.value)
        sum = apps::mixed(sum ^ word);
    return sum;
}

std::uint64_t LockFreeTable::count_keys() {
    MPI_Win_sync(window_.handle());
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_sync(window_.handle());
    const auto* const slots = static_cast<const Slot*>(window_.memory());
    return static_cast<std::uint64_t>(std::count_if(
        slots, slots + per_rank_, [](const Slot& slot) { return slot.key != kNone && is_good(slot); }));
}

int share_results(const apps::MpiSession& mpi, const Options& options, std::ofstream& json) {
    LockFreeTable table(mpi, options);
    const Popularity popular(options);
    apps::Random random(apps::mixed(~options.seed) + static_cast<std::uint64_t>(mpi.rank()));
    std::uint64_t found = 0, computations = 0, wrong = 0;
    apps::Stopwatch watch;
    for (std::uint64_t i = 0; i < options.lookups; ++i) {
        const std::uint64_t key = popular.draw(random);
        const LockFreeTable::Value right = computed(key);
        LockFreeTable::Value value{};
        watch.start();
        const bool is_there = table.find(key, value);
        if (!is_there) table.store(key, right);
        watch.stop();
        ++(is_there ? found : computations);
        if (is_there && value != right) ++wrong;
    }
    const std::uint64_t kept = apps::sum_over_ranks(table.count_keys());
    found = apps::sum_over_ranks(found);
    computations = apps::sum_over_ranks(computations);
    wrong = apps::sum_over_ranks(wrong);
    const std::uint64_t torn = apps::sum_over_ranks(table.torn());
    const double seconds = apps::max_over_ranks(watch.seconds());
    int code = wrong == 0 ? 0 : 1;
    if (!mpi.is_root()) return code;
    apps::Report out;
    out.add("ranks", mpi.ranks());
    out.add("lookups", found + computations);
    out.add("found", found);
    out.add("computed", computations);
    out.add("kept", kept);
    out.add("torn", torn);
    out.add("wrong", wrong);
    out.add("communication_seconds", seconds);
    code = std::max(code, apps::deliver("hash_table", out, json));
    return code;
}

}  // namespace nearfetch::hash_table

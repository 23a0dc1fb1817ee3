// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include "transport/window_transfers.hpp"

namespace nearfetch {

/// Enters the MPI library, so that it serves other ranks.
void enter_mpi() noexcept;

/// GETs and PUTs of an MPI window by PMPI. Statuses are MPI error codes.
class MpiWindowTransfers final : public WindowTransfers {
  public:
    /// \param displacement_units of each target, in bytes; one entry if all are equal. Has to outlive the
    /// transport.
    MpiWindowTransfers(MPI_Win win, std::span<const std::uint64_t> displacement_units) noexcept
        : win_(win), units_(displacement_units) {}

    int start_get(Rank target, std::span<const ByteRun> runs) override {
        return start(target, runs, Direction::get, nullptr);
    }
    int start_put(Rank target, std::span<const ByteRun> runs) override {
        return start(target, runs, Direction::put, nullptr);
    }
    int flush_local(Rank target) override { return PMPI_Win_flush_local(target, win_); }

    int lock_shared(Rank target, int assertion) override {
        return PMPI_Win_lock(MPI_LOCK_SHARED, target, assertion, win_);
    }
    int unlock(Rank target) override { return PMPI_Win_unlock(target, win_); }

    /// As start_get, by MPI_Rget.
    int start_rget(Rank target, std::span<const ByteRun> runs, MPI_Request& request) {
        return start(target, runs, Direction::get, &request);
    }

    void progress() override {
#if !defined(NEARFETCH_MPI_SMPI)  // where the simulation itself serves others, and probes take time
        enter_mpi();
#endif
    }

    bool wait_a_moment() override;

    std::uint64_t displacement_unit(Rank target) const noexcept {
        return units_.size() == 1 ? units_.front() : units_[static_cast<std::size_t>(target)];
    }

  private:
    enum class Direction : bool { get, put };
    int start(Rank target, std::span<const ByteRun> runs, Direction direction, MPI_Request* request);
    int start_one(Rank target, const ByteRun& run, Direction direction, MPI_Request* request);
    int start_many(Rank target, std::span<const ByteRun> runs, Direction direction, MPI_Request* request);
    int issue(std::byte* origin, int origin_count, MPI_Datatype origin_type, Rank target,
              MPI_Aint displacement, int count, MPI_Datatype type, Direction direction, MPI_Request* request);

    MPI_Win win_;
    std::span<const std::uint64_t> units_;
};

}  // namespace nearfetch

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include "transport/window_transfers.hpp"

namespace nearfetch {

/// Gets and puts of bytes of an MPI window, by PMPI. Its statuses are MPI error codes.
class MpiWindowTransfers final : public WindowTransfers {
  public:
    /// \param displacement_unit of each target, in bytes; one entry if all are the same. Must outlive the
    /// transport.
    MpiWindowTransfers(MPI_Win win, std::span<const std::uint64_t> displacement_units) noexcept
        : win_(win), units_(displacement_units) {}

    int start_get(Rank target, std::span<const ByteRun> runs) override {
        return start(target, runs, Way::get, nullptr);
    }
    int start_put(Rank target, std::span<const ByteRun> runs) override {
        return start(target, runs, Way::put, nullptr);
    }
    int flush_local(Rank target) override { return PMPI_Win_flush_local(target, win_); }

    /// As start_get, by MPI_Rget.
    int start_rget(Rank target, std::span<const ByteRun> runs, MPI_Request& request) {
        return start(target, runs, Way::get, &request);
    }

    void progress() override;

    std::uint64_t displacement_unit(Rank target) const noexcept {
        return units_.size() == 1 ? units_.front() : units_[static_cast<std::size_t>(target)];
    }

  private:
    enum class Way : bool { get, put };
    int start(Rank target, std::span<const ByteRun> runs, Way way, MPI_Request* request);
    int start_one(Rank target, const ByteRun& run, Way way, MPI_Request* request);
    int start_many(Rank target, std::span<const ByteRun> runs, Way way, MPI_Request* request);
    int issue(std::byte* origin, int origin_count, MPI_Datatype origin_type, Rank target,
              MPI_Aint displacement, int count, MPI_Datatype type, Way way, MPI_Request* request);

    MPI_Win win_;
    std::span<const std::uint64_t> units_;
};

}  // namespace nearfetch

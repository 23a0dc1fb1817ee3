// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include "transport/window_gets.hpp"

namespace nearfetch {

/// Gets of bytes from an MPI window, by PMPI. Its statuses are MPI error codes.
class MpiWindowGets final : public WindowGets {
  public:
    /// \param displacement_unit of each target, in bytes; one entry if all are the same. Must outlive the
    /// transport.
    MpiWindowGets(MPI_Win win, std::span<const std::uint64_t> displacement_units) noexcept
        : win_(win), units_(displacement_units) {}

    int start_get(Rank target, std::span<const Piece> pieces) override {
        return start(target, pieces, nullptr);
    }

    /// As start_get, by MPI_Rget.
    int start_rget(Rank target, std::span<const Piece> pieces, MPI_Request& request) {
        return start(target, pieces, &request);
    }

    void progress() override;

    std::uint64_t displacement_unit(Rank target) const noexcept {
        return units_.size() == 1 ? units_.front() : units_[static_cast<std::size_t>(target)];
    }

  private:
    int start(Rank target, std::span<const Piece> pieces, MPI_Request* request);
    int start_one(Rank target, const Piece& piece, MPI_Request* request);
    int start_many(Rank target, std::span<const Piece> pieces, MPI_Request* request);

    MPI_Win win_;
    std::span<const std::uint64_t> units_;
};

}  // namespace nearfetch

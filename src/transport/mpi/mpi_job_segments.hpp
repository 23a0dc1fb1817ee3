// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/types.hpp"
#include "transport/transport.hpp"

namespace nearfetch {

/// MPI's text for an error code.
std::string mpi_error_text(int code);
/// Advice if this process does not know the cause.
inline constexpr const char* ask_the_others = "look at what the other ranks print";
/// \throws Error *call failed (MPI's text): what_to_do*, unless `code` is MPI_SUCCESS
void check_mpi(int code, const char* call, const char* what_to_do);

/// The window of all ranks' segments. It is locked (lock_all) for its life, so that only the program
/// synchronises processes. Collective.
class MpiJobSegments {
  public:
    static constexpr std::uint64_t alignment_bytes = 4096;

    /// \throws Error when memory is exhausted, or sizes differ between ranks
    MpiJobSegments(MPI_Comm comm, std::uint64_t segment_bytes);
    ~MpiJobSegments();
    MpiJobSegments(const MpiJobSegments&) = delete;
    MpiJobSegments& operator=(const MpiJobSegments&) = delete;

    MPI_Win win() const noexcept { return win_; }
    Rank ranks() const noexcept { return static_cast<Rank>(skipped_.size()); }
    bool has_rank(Rank rank) const noexcept { return rank >= 0 && rank < ranks(); }
    std::uint64_t segment_bytes() const noexcept { return segment_bytes_; }
    ByteRange addresses() const noexcept { return {0, segment_bytes_}; }
    std::span<std::byte> mine() const noexcept { return {mine_, segment_bytes_}; }

    /// 0, or the transport's status for an invalid range.
    int check(Rank target, std::uint64_t address, std::uint64_t size) const noexcept {
        if (!has_rank(target)) return transport_status::bad_rank;
        return addresses().contains(address, size) ? 0 : transport_status::outside;
    }
    MPI_Aint displacement(Rank target, std::uint64_t address) const noexcept {
        return static_cast<MPI_Aint>(address + skipped_[static_cast<std::size_t>(target)]);
    }
    /// Orders this process's loads and stores of its segment with RMA operations.
    void sync() const noexcept { PMPI_Win_sync(win_); }

  private:
    void allocate(MPI_Comm comm);

    std::uint64_t segment_bytes_;
    MPI_Win win_ = MPI_WIN_NULL;
    std::byte* mine_ = nullptr;
    std::vector<std::uint64_t> skipped_;  ///< padding before each rank's segment
};

}  // namespace nearfetch

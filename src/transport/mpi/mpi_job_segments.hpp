// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/types.hpp"
#include "transport/job.hpp"
#include "transport/segment_table.hpp"

namespace nearfetch {

/// MPI's text for an error code.
std::string mpi_error_text(int code);
/// Advice if this process does not know the cause.
inline constexpr const char* ask_the_others = "look at what the other ranks print";
/// \throws Error *call failed (MPI's text): what_to_do*, unless `code` is MPI_SUCCESS
void check_mpi(int code, const char* call, const char* what_to_do);

/// A segment of all ranks: a window, locked (lock_all) for its life, so that only the program synchronises
/// processes.
struct MpiSegment {
    static constexpr std::uint64_t alignment_bytes = 4096;

    explicit MpiSegment(std::uint64_t bytes) noexcept : size_bytes(bytes) {}
    MpiSegment(const MpiSegment&) = delete;
    MpiSegment& operator=(const MpiSegment&) = delete;
    /// Collective.
    ~MpiSegment();

    MPI_Aint displacement(Rank target, std::uint64_t address) const noexcept {
        return static_cast<MPI_Aint>(SegmentTable<MpiSegment>::offset(address) +
                                     skipped[static_cast<std::size_t>(target)]);
    }

    std::uint64_t size_bytes;
    MPI_Win win = MPI_WIN_NULL;
    std::byte* mine = nullptr;
    std::vector<std::uint64_t> skipped;             ///< padding before each rank's memory
    std::atomic<std::int64_t> outstanding_ops = 0;  ///< of this rank's endpoints
};

/// The segments of an MPI job. A window for each, made by MPI_Win_allocate: so a library shares its memory on
/// a node, and registers with the network what arrays use and no more. A window that was declared large, or
/// one of dynamic memory, would have neither.
class MpiJobSegments {
  public:
    /// \param first_bytes of a segment at address 0 \throws Error when memory is exhausted, or sizes differ
    /// between ranks
    MpiJobSegments(MPI_Comm comm, std::uint64_t first_bytes);

    Rank ranks() const noexcept { return ranks_; }
    bool has_rank(Rank rank) const noexcept { return rank >= 0 && rank < ranks_; }
    /// The segment of these bytes; nullptr if they are not all in one.
    MpiSegment* find(std::uint64_t address, std::uint64_t size) const noexcept {
        return table_.find(address, size);
    }
    ByteRange around(std::uint64_t address) const noexcept { return table_.around(address); }
    /// This rank's memory from that address to the end of its segment; empty outside.
    std::span<std::byte> mine(std::uint64_t address) const noexcept;

    /// Collective. \throws Error when sizes differ between ranks
    AddedSegment add(std::uint64_t bytes);
    /// Collective. \pre no operation of any rank is outstanding there
    void remove(std::uint64_t address) { table_.remove(address); }
    /// Orders this process's loads and stores of its segments with RMA operations.
    void sync() const noexcept {
        table_.for_each([](std::uint64_t, const MpiSegment& segment) { PMPI_Win_sync(segment.win); });
    }

  private:
    void compare_sizes(std::uint64_t bytes) const;
    std::string why_no_segment(std::uint64_t bytes) const;
    std::string allocate(MpiSegment& segment) const;
    void align(MpiSegment& segment) const;
    static std::string make_usable(MpiSegment& segment);
    std::string agree(const std::string& refused) const;

    MPI_Comm comm_;
    Rank rank_ = 0;
    Rank ranks_ = 0;
    std::uint64_t node_ranks_ = 1;
    SegmentTable<MpiSegment> table_;
};

}  // namespace nearfetch

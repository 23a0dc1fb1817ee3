// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "base/reserved_memory.hpp"
#include "base/types.hpp"
#include "transport/job.hpp"
#include "transport/segment_table.hpp"

namespace nearfetch {

/// The segments of ranks that are threads. The first rank that makes its n-th add() or remove() does it for
/// all, and the others find what came of it. So nobody waits, as virtual time requires.
class InprocSegments {
  public:
    /// \param first_bytes of a segment at address 0; 0: none \throws Error when memory is exhausted
    InprocSegments(Rank ranks, std::uint64_t first_bytes);

    /// A rank's memory from that address to the end of its segment; empty outside.
    std::span<std::byte> at(Rank rank, std::uint64_t address) const noexcept;
    bool contain(std::uint64_t address, std::uint64_t size) const noexcept {
        return table_.find(address, size) != nullptr;
    }
    ByteRange around(std::uint64_t address) const noexcept { return table_.around(address); }
    AddedSegment add(Rank rank, std::uint64_t bytes);
    void remove(Rank rank, std::uint64_t address);
    /// Shared ownership of a rank's memory at that place; nullptr if there is none.
    std::shared_ptr<void> keep(Rank rank, const std::byte* place) const;

  private:
    struct Segment {
        std::uint64_t size_bytes;
        std::vector<std::shared_ptr<ReservedMemory>> memories;  ///< of the ranks
    };
    /// Does `body` unless another rank was first. \return what came of it
    template <class Body>
    AddedSegment once(Rank rank, const Body& body);
    AddedSegment add_for_all(std::uint64_t bytes);

    std::size_t ranks_;
    SegmentTable<Segment> table_;
    mutable std::mutex mutex_;  ///< guards changes of the table, and the members below
    std::vector<std::size_t> calls_;
    std::vector<AddedSegment> outcomes_;
};

}  // namespace nearfetch

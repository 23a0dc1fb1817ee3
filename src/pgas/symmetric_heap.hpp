// SPDX-License-Identifier: Apache-2.0
#pragma once

// The memory of a rank's segments, and who has it. Allocations begin at the same address in all ranks, as on
// the symmetric heap of OpenSHMEM: the ranks make the same calls in the same order, so their lists of free
// memory are the same.
//
// When there is no room, memory that all ranks have dropped is reclaimed. If that is not enough, all ranks
// add a segment. A segment is never moved and never grows, because others hold its address. Segments that
// have become empty are given back before another one is added.
//
// Address space is not reserved in advance. A network that moves bytes by itself pins what a window exposes,
// a batch system may limit address space (ulimit -v), and a node's shared memory has a size. So a segment is
// as large as what is asked for, or an eighth of what there is, if that is more: then the number of segments
// grows with the logarithm of the memory.

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "transport/job.hpp"

namespace nearfetch::pgas {

class SymmetricHeap {
  public:
    /// Of the segment that a job begins with, so that small programs need no other.
    static constexpr std::uint64_t first_bytes = std::uint64_t{4} << 20;

    /// \param page_bytes segments have whole pages, so that no page of a cache reaches beyond one
    SymmetricHeap(Job& job, std::uint64_t page_bytes);
    SymmetricHeap(const SymmetricHeap&) = delete;
    SymmetricHeap& operator=(const SymmetricHeap&) = delete;

    /// Allocates zeroed memory (at least a byte, so that addresses differ) at the same address in all ranks,
    /// which call it in the same order. Waits for all ranks if a segment is needed.
    /// \throws Error in all ranks when one of them has no memory; nothing has changed then
    std::uint64_t allocate(std::size_t bytes);
    /// Ends such an allocation in this rank. All ranks have stopped to access it.
    /// \throws Error when none begins there
    void free(std::uint64_t address);
    /// Replaces an allocation by another, which may overlap it; zeroed. Collective: nobody uses the old
    /// memory any more, or the new memory before all ranks have it. On failure nothing changes.
    std::uint64_t reallocate(std::uint64_t address, std::size_t bytes, std::size_t wanted_bytes);
    /// As allocate(), for memory that may be dropped. If there is no room, memory that all ranks have dropped
    /// is reclaimed. That takes two barriers, each an acquire and a release.
    std::uint64_t allocate_droppable(std::size_t bytes);
    /// Marks memory as unused by this rank. Thread-safe.
    void drop(std::uint64_t address, std::size_t bytes) noexcept;

  private:
    /// Addresses: begin and end.
    using Range = std::pair<std::uint64_t, std::uint64_t>;

    std::uint64_t take(std::size_t bytes);
    std::optional<std::uint64_t> find_room(std::size_t bytes);
    void give_back(std::uint64_t begin, std::uint64_t end);
    void clear(std::uint64_t begin, std::uint64_t end);
    /// Collective. \return whether memory was reclaimed
    bool reclaim();
    void grow(std::size_t bytes);
    void give_back_empty_segments();
    [[noreturn]] void no_room(std::size_t bytes, const std::string& why) const;
    /// The intersection of all ranks' ranges, sorted. Collective.
    std::vector<Range> common(std::vector<Range> own);

    Job& job_;
    std::uint64_t page_bytes_;
    std::map<std::uint64_t, std::uint64_t> segments_;  ///< begin to end
    std::map<std::uint64_t, std::uint64_t> free_;      ///< begin to end of free ranges: disjoint and zeroed
    std::map<std::uint64_t, std::uint64_t> freeable_;  ///< begin to end of what may be freed
    bool droppable_ = false;                           ///< whether droppable memory was ever allocated
    std::mutex mutex_;                                 ///< guards dropped_
    std::vector<Range> dropped_;
};

}  // namespace nearfetch::pgas

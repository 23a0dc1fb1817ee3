// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "cache/range_cache/range_cache.hpp"

namespace nearfetch {

/// A stretch of neighbouring regions of the buffer: free ones, and entries that would go.
struct RangeCache::Window {
    StorageBuffer::Region* first = nullptr;  ///< nullptr: none found
    StorageBuffer::Region* last = nullptr;
    double cost = 0;
};

/// What asks to be admitted.
struct RangeCache::Newcomer {
    Rank target;
    ByteRange range;
    Stamp stamp;
    bool store;
    std::uint8_t skew = 0;
    bool will_be_used = false;  ///< beside the use that asks
};

/// Where a range lies in a CPU cache line of the target's memory.
inline std::uint8_t skew_of(ByteRange range) noexcept {
    return static_cast<std::uint8_t>(range.begin % StorageBuffer::line_bytes);
}

/// How a newcomer gets in, worked out before anything is changed.
struct RangeCache::Plan {
    std::vector<Entry*> victims;  ///< for space: neighbours
    double victims_score = 0;
    std::uint64_t victims_bytes = 0;
    Entry* slot_victim = nullptr;            ///< for an index slot, when it is none of the above
    std::uint32_t slot = CuckooIndex::none;  ///< taken from an occupant; none: the index has a way

    // Kept for their memory.
    std::vector<Entry*> marked;
    mutable std::vector<StorageBuffer::Region*> left;
    mutable std::vector<StorageBuffer::Region*> right;

    void clear() noexcept {
        victims.clear();
        victims_score = 0;
        victims_bytes = 0;
        slot_victim = nullptr;
        slot = CuckooIndex::none;
    }
};

}  // namespace nearfetch

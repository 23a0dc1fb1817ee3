// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "cache/range_cache/range_cache.hpp"

namespace nearfetch {

/// Consecutive regions of the buffer: free ones, and entries to evict.
struct RangeCache::Window {
    StorageBuffer::Region* first = nullptr;  ///< nullptr: none found
    StorageBuffer::Region* last = nullptr;
    double cost = 0;
};

/// A range that asks for admission.
struct RangeCache::Newcomer {
    Rank target;
    ByteRange range;
    Stamp stamp;
    bool store;
    std::uint8_t skew = 0;
    bool will_be_used = false;  ///< further uses are expected
};

/// Alignment of a range in a CPU cache line of the target's memory.
inline std::uint8_t skew_of(ByteRange range) noexcept {
    return static_cast<std::uint8_t>(range.begin % StorageBuffer::line_bytes);
}

/// How a newcomer is admitted, planned before anything changes.
struct RangeCache::Plan {
    std::vector<Entry*> victims;  ///< adjacent entries, evicted for space
    double victims_score = 0;
    std::uint64_t victims_bytes = 0;
    Entry* slot_victim = nullptr;            ///< evicted for an index slot, if it is not one of the victims
    std::uint32_t slot = CuckooIndex::none;  ///< to be taken from its occupant; none: there is a free one

    // Members that keep their memory between plans.
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

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cache/range_cache/range_cache.hpp"

namespace nearfetch {

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

}  // namespace nearfetch

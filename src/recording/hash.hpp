// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "base/types.hpp"

namespace nearfetch {

/// A hash of which all bits depend on all bits (the finalizer of SplitMix64: Steele, Lea and Flood 2014).
constexpr std::uint64_t mixed(std::uint64_t x) noexcept {
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ x >> 27) * 0x94d049bb133111ebull;
    return x ^ x >> 31;
}

/// A number for each window and target, to which the number of a part of its memory may be added.
constexpr std::uint64_t memory_of(std::uint32_t window, Rank target) noexcept {
    return mixed(static_cast<std::uint64_t>(window) << 32 | static_cast<std::uint32_t>(target));
}

}  // namespace nearfetch

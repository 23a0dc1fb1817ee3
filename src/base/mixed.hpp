// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace nearfetch {

/// A hash of which all bits depend on all bits (the finaliser of SplitMix64: Steele, Lea and Flood 2014).
constexpr std::uint64_t mixed(std::uint64_t x) noexcept {
    x += 0x9E3779B97F4A7C15;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
    return x ^ (x >> 31);
}

}  // namespace nearfetch

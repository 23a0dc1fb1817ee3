// SPDX-License-Identifier: Apache-2.0
#pragma once

// Wall-clock time.

#include <chrono>
#include <cstdint>

namespace nearfetch {

/// Nanoseconds of the steady clock, which all processes of a machine share.
inline std::uint64_t steady_ns() noexcept {
    return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                          std::chrono::steady_clock::now().time_since_epoch())
                                          .count());
}

/// Keeps the processor busy.
inline void compute_for(std::uint64_t ns) noexcept {
    const std::uint64_t end_ns = steady_ns() + ns;
    while (steady_ns() < end_ns) {
    }
}

}  // namespace nearfetch

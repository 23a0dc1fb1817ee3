// SPDX-License-Identifier: Apache-2.0
#pragma once

// Time where ranks are simulated: their clock moves only when somebody says what something takes. What this
// process computes takes no time there. Other families need nothing of this.

#include <cstdint>

namespace nearfetch::simulated {

#if defined(NEARFETCH_MPI_SMPI)

// Rounded up from what ./nf bench paper_sizes measures of windows.
constexpr std::uint64_t hit_ns = 100;      ///< a get's lookup, and its flush
constexpr std::uint64_t miss_ns = 500;     ///< the same, and room in the cache
constexpr std::uint64_t copied_bytes = 8;  ///< in a nanosecond, to the program or into the cache

/// Makes ticks() tell the simulation's time, in nanoseconds.
void use_clock() noexcept;
/// So much time passes in this rank. It may pass a little later.
void charge(std::uint64_t ns) noexcept;

inline void charge_hit(std::uint64_t bytes) noexcept { charge(hit_ns + bytes / copied_bytes); }
inline void charge_miss(std::uint64_t bytes) noexcept { charge(miss_ns + bytes / copied_bytes); }

#else

inline void use_clock() noexcept {}
inline void charge_hit(std::uint64_t /*bytes*/) noexcept {}
inline void charge_miss(std::uint64_t /*bytes*/) noexcept {}

#endif

}  // namespace nearfetch::simulated

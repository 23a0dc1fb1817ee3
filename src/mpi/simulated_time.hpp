// SPDX-License-Identifier: Apache-2.0
#pragma once

// Time where ranks are simulated: their clock moves only when somebody says what something takes. What this
// process computes takes no time there. Other families need nothing of this. A plain hit is charged by the
// wrapper that serves it, all other work where it is done (base/ticks.hpp).

#include <cstdint>

namespace nearfetch::simulated {

// What is charged: rounded up from what ./nf bench paper_sizes measures of windows.
inline constexpr std::uint64_t lookup_ns = 100;  ///< a hit has its flush
inline constexpr std::uint64_t admission_ns = 400;
inline constexpr double copy_ns_per_byte = 0.125;

#if defined(NEARFETCH_MPI_SMPI)

inline constexpr bool ranks_are_simulated = true;  ///< all in one process

/// Makes ticks() tell the simulation's time, in nanoseconds, and says what work takes.
void use_clock() noexcept;
/// A get of so many bytes was a plain hit.
void charge_hit(std::uint64_t bytes) noexcept;

#else

inline constexpr bool ranks_are_simulated = false;

inline void use_clock() noexcept {}
inline void charge_hit(std::uint64_t /*bytes*/) noexcept {}

#endif

}  // namespace nearfetch::simulated

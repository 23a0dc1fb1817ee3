// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace nearfetch {

/// A process of a parallel program: of a window's group, as MPI counts it there, or of an SPMD program.
using Rank = std::int32_t;

/// Operations on 64-bit integers that nothing comes between.
enum class AtomicOp : std::uint8_t { load, store, add, bit_and, bit_or, bit_xor, swap, compare_swap };

}  // namespace nearfetch

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace nearfetch {

/// A process of a parallel program: its rank in a window's group, or in an SPMD program.
using Rank = std::int32_t;

/// Atomic operations on 64-bit integers; add_double is on the double that the 64 bits are. On MPI it is
/// atomic with other add_double only: a barrier orders it and the rest.
enum class AtomicOp : std::uint8_t {
    load,
    store,
    add,
    bit_and,
    bit_or,
    bit_xor,
    swap,
    compare_swap,
    add_double
};

}  // namespace nearfetch

// SPDX-License-Identifier: Apache-2.0
#pragma once

// Programs whose calls go straight to the library (src/mpi/passthrough.hpp), and what they do next: gets of
// what was bypassed, epochs of other kinds, other windows. All settings but passthrough_calls are the default
// ones. Linked with the fault-injection build, which counts such calls, they also show that there were some.

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "check.hpp"

extern "C" unsigned long long nearfetch_fault_passed_through() __attribute__((weak));

namespace passthrough {

using namespace check;

#if defined(OMPI_MAJOR_VERSION)
inline constexpr bool openmpi = true;
#else
inline constexpr bool openmpi = false;
#endif

inline bool is_counted() { return nearfetch_fault_passed_through != nullptr; }
/// Calls of passthroughs that are over; 0 where nobody counts them.
inline unsigned long long passed_through() { return is_counted() ? nearfetch_fault_passed_through() : 0; }

inline constexpr int slots = 512;
inline constexpr int many_slots = 1 << 16;

inline int rounds() { return crowded() ? 300 : 3000; }
inline int left() { return (rank() + size() - 1) % size(); }

inline std::int64_t get(MPI_Win win, int target, MPI_Aint slot) {
    std::int64_t value = -1;
    CHECK_MPI(MPI_Get(&value, 1, MPI_INT64_T, target, slot, 1, MPI_INT64_T, win));
    CHECK_MPI(MPI_Win_flush(target, win));
    return value;
}

/// Puts one by one until each slot at the right neighbour is `version`'s.
inline void put_all(MPI_Win win, int version) {
    std::vector<std::uint64_t> values(slots);
    for (int i = 0; i < slots; ++i) {
        const auto slot = static_cast<std::size_t>(i);
        values[slot] = pattern(rank(), slot, version);
        CHECK_MPI(MPI_Put(&values[slot], 1, MPI_UINT64_T, right(), i, 1, MPI_UINT64_T, win));
        CHECK_MPI(MPI_Win_flush(right(), win));
    }
}

inline void check_own(const Window& window, int version) {
    for (std::size_t i = 0; i < slots; ++i)
        CHECK_EQ(window.as<std::uint64_t>()[i], pattern(left(), i, version));
}

// Parts, of passthrough_windows.cpp and passthrough_batches.cpp: each is to be called by all ranks.
void batches();
void windows();
void after_a_window_that_is_kept();
void off(Kind kind);

}  // namespace passthrough

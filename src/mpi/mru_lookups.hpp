// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <cstdint>

namespace nearfetch {

class Window;

/// The window and the datatype of the last get or flush that took the slow way, for the hot path. One for the
/// process, because calls do not overlap; with MPI_THREAD_MULTIPLE it stays empty.
struct MruLookups {
    MPI_Win win;
    Window* window;  ///< null: none; emptied when a window goes, so that only the handle has to be compared
    MPI_Datatype type;
    std::uint64_t type_generation;
    std::uint64_t dense_bytes;
    // Of the last get that was looked at further, if its type is predefined and has no gaps.
    MPI_Datatype known_type;
    MPI_Count known_count;
    std::uint64_t known_bytes;
};

}  // namespace nearfetch

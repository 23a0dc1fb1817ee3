// SPDX-License-Identifier: Apache-2.0
#pragma once

// The calls that make windows, for the interposer and for the recorder. Each has a function
//
//   template <class Create>
//   int create_window(const char* call, WindowMemory memory, MPI_Aint size, MPI_Aint unit, MPI_Info info,
//                     MPI_Comm comm, const void* base, MPI_Win* win, const Create& make);
//
// where `base` is where the address of the memory stands when make() has made the window; null for a dynamic
// one.

#include <mpi.h>

#include <cstdint>

#include "mpi/wrappers/large_count.hpp"

namespace nearfetch {

enum class WindowMemory : std::uint8_t {
    declared,   ///< the program's: only it knows how much is there
    allocated,  ///< by the library
    shared,     ///< the same, and the others' memory is reached by loads and stores
    dynamic,    ///< it may come to expose anything
};

}  // namespace nearfetch

// The bodies are the same for int and, in the large-count variants, MPI_Aint displacement units.
#define NEARFETCH_SIZED_WINDOWS(SUFFIX, UNIT)                                                              \
    int MPI_Win_create##SUFFIX(void* base, MPI_Aint size, UNIT unit, MPI_Info info, MPI_Comm comm,         \
                               MPI_Win* win) {                                                             \
        return create_window("MPI_Win_create", WindowMemory::declared, size, unit, info, comm, &base, win, \
                             [&] { return PMPI_Win_create##SUFFIX(base, size, unit, info, comm, win); });  \
    }                                                                                                      \
    int MPI_Win_allocate##SUFFIX(MPI_Aint size, UNIT unit, MPI_Info info, MPI_Comm comm, void* baseptr,    \
                                 MPI_Win* win) {                                                           \
        return create_window(                                                                              \
            "MPI_Win_allocate", WindowMemory::allocated, size, unit, info, comm, baseptr, win,             \
            [&] { return PMPI_Win_allocate##SUFFIX(size, unit, info, comm, baseptr, win); });              \
    }                                                                                                      \
    int MPI_Win_allocate_shared##SUFFIX(MPI_Aint size, UNIT unit, MPI_Info info, MPI_Comm comm,            \
                                        void* baseptr, MPI_Win* win) {                                     \
        return create_window(                                                                              \
            "MPI_Win_allocate_shared", WindowMemory::shared, size, unit, info, comm, baseptr, win,         \
            [&] { return PMPI_Win_allocate_shared##SUFFIX(size, unit, info, comm, baseptr, win); });       \
    }

#if NEARFETCH_LARGE_COUNT
#define NEARFETCH_ALL_SIZED_WINDOWS NEARFETCH_SIZED_WINDOWS(, int) NEARFETCH_SIZED_WINDOWS(_c, MPI_Aint)
#else
#define NEARFETCH_ALL_SIZED_WINDOWS NEARFETCH_SIZED_WINDOWS(, int)
#endif

/// Within extern "C".
#define NEARFETCH_WINDOW_CREATION                                                                        \
    NEARFETCH_ALL_SIZED_WINDOWS                                                                          \
    int MPI_Win_create_dynamic(MPI_Info info, MPI_Comm comm, MPI_Win* win) {                             \
        return create_window("MPI_Win_create_dynamic", WindowMemory::dynamic, 0, 1, info, comm, nullptr, \
                             win, [&] { return PMPI_Win_create_dynamic(info, comm, win); });             \
    }

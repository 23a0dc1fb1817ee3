// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

// MPI-4 has a variant with large counts of every call that takes a count; a library that lacks them is not
// asked for them.
#if MPI_VERSION >= 4
#define NEARFETCH_LARGE_COUNT 1
#else
#define NEARFETCH_LARGE_COUNT 0
#endif

// SPDX-License-Identifier: Apache-2.0
#pragma once

// The calls of a program, through whatever is preloaded, and those past it, which is how it is without.

#include <mpi.h>

namespace nearfetch::bench {

struct Calls {
    decltype(&MPI_Win_allocate) win_allocate;
    decltype(&MPI_Win_create) win_create;
    decltype(&MPI_Win_free) win_free;
    decltype(&MPI_Get) get;
    decltype(&MPI_Rget) rget;
    decltype(&MPI_Put) put;
    decltype(&MPI_Accumulate) accumulate;
    decltype(&MPI_Fetch_and_op) fetch_and_op;
    decltype(&MPI_Win_flush) flush;
    decltype(&MPI_Win_lock) lock;
    decltype(&MPI_Win_unlock) unlock;
    decltype(&MPI_Win_lock_all) lock_all;
    decltype(&MPI_Win_unlock_all) unlock_all;
    decltype(&MPI_Win_fence) fence;
    decltype(&MPI_Send) send;
    decltype(&MPI_Recv) recv;
    decltype(&MPI_Isend) isend;
    decltype(&MPI_Irecv) irecv;
    decltype(&MPI_Wait) wait;
    decltype(&MPI_Waitall) waitall;
    decltype(&MPI_Allreduce) allreduce;
    decltype(&MPI_Barrier) barrier;
};

#define NEARFETCH_CALLS(P)                                                                    \
    {                                                                                         \
        &P##MPI_Win_allocate,   &P##MPI_Win_create, &P##MPI_Win_free,   &P##MPI_Get,          \
        &P##MPI_Rget,           &P##MPI_Put,        &P##MPI_Accumulate, &P##MPI_Fetch_and_op, \
        &P##MPI_Win_flush,      &P##MPI_Win_lock,   &P##MPI_Win_unlock, &P##MPI_Win_lock_all, \
        &P##MPI_Win_unlock_all, &P##MPI_Win_fence,  &P##MPI_Send,       &P##MPI_Recv,         \
        &P##MPI_Isend,          &P##MPI_Irecv,      &P##MPI_Wait,       &P##MPI_Waitall,      \
        &P##MPI_Allreduce,      &P##MPI_Barrier}
inline const Calls through = NEARFETCH_CALLS();
inline const Calls past = NEARFETCH_CALLS(P);
#undef NEARFETCH_CALLS

}  // namespace nearfetch::bench

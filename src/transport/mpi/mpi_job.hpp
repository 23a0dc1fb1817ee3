// SPDX-License-Identifier: Apache-2.0
#pragma once

// An SPMD program whose ranks are the processes of an MPI job, and whose segments are one MPI-3 window.
//
// No mpi.h here: what includes this is the same for every MPI family, and who links it decides.
//
// Everything goes through MPI's profiling names (PMPI_...). Such a program may run under the interposer, too,
// which would otherwise cache beneath a cache: GETs that are asked for because they must go to the network
// would be served from memory that nobody told to forget.
//
// What was met on real MPI libraries, and decides how it is done:
//  - A PUT is an MPI_Rput, and complete when its request and after that a flush of its target are. The
//    request alone promises that the memory may be used again, no more. The flush alone would do by the
//    standard, but MPICH 5.0 over TCP returns from it while a small MPI_Put has still to arrive (6 of 3000
//    were read too early by a third rank, none when they were started by MPI_Rput).
//  - Compare-and-swap on 64 bits crashes in Open MPI 4.1 where ranks share memory and the window is that of
//    its component osc/rdma; osc/sm does it well, and all else faster. Its choice is changed (mpi_job.cpp).
//  - Open MPI's osc/pt2pt, which it takes over TCP, refuses MPI_THREAD_MULTIPLE when the window is made,
//    which is too late for asking for less. It cannot be used by a program that has started MPI itself so.

#include <cstdint>
#include <functional>

#include "transport/job.hpp"

namespace nearfetch {

struct MpiJobConfig {
    std::uint64_t segment_bytes = 0;  ///< of each rank; the same on all
    /// Whether to ask for MPI_THREAD_MULTIPLE, without which Job::threads() is false. It makes each call of
    /// the MPI library slower.
    bool threads = true;
    /// MPI stays as it is for a later launch_mpi(); finish_mpi() ends it then.
    bool leave_started = false;
};

/// Starts MPI, runs `program` on each rank and ends MPI. Collective over MPI_COMM_WORLD. What `program`
/// throws is printed with the rank, or once when all ranks throw the same, and ends the job (MPI_Abort), as
/// does memory that is not to be had. An MPI that somebody else has started is used, with the level of
/// threads and the components that were chosen there, and left to him to end.
/// \param argc,argv for MPI_Init; may be nullptr
/// \return 0
/// \throws Error when MPI has ended, which it does once, or was started in a way that its components refuse
int launch_mpi(const MpiJobConfig& config, int* argc, char*** argv, const std::function<void(Job&)>& program);

/// Ends MPI if a launch_mpi() has started and left it. Collective over MPI_COMM_WORLD.
void finish_mpi();

}  // namespace nearfetch

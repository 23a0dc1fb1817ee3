// SPDX-License-Identifier: Apache-2.0
#pragma once

// An SPMD program whose ranks are MPI processes, and whose segments are MPI-3 windows. This header does
// not include mpi.h, so it is the same for every MPI family; linking decides.
//
// All calls use MPI's profiling names (PMPI_...). The program may run under the interposer, which would
// otherwise cache below a cache and could return stale data for GETs that must reach the network.
//
// Workarounds for MPI libraries:
// - A PUT is an MPI_Rput. It is complete when its request and then a flush are. The request alone promises
// only that the memory may be reused. The flush alone should suffice, but MPICH 5.0 over TCP returns from it
// before a small MPI_Put has arrived.
// - 64-bit compare-and-swap crashes in Open MPI 4.1's osc/rdma with shared memory. osc/sm works and is
// faster, so the choice is changed (mpi_job.cpp).
// - Open MPI's osc/pt2pt (over TCP) refuses MPI_THREAD_MULTIPLE when the window is made, too late to ask for
// less. A program that initialised MPI itself cannot use it at that level.

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <span>

#include "transport/job.hpp"

namespace nearfetch {

struct MpiJobConfig {
    std::uint64_t segment_bytes = 0;  ///< of each rank's first segment; the same on all
    /// Whether to ask for MPI_THREAD_MULTIPLE, which makes each MPI call slower. Without it Job::threads() is
    /// false.
    bool threads = true;
    /// Memory for the ranks of each node, if there are nodes with several of them, and several nodes.
    struct Node {
        std::uint64_t bytes = 0;  ///< 0: none
        std::uint64_t ranks = 0;  ///< how many consecutive ranks count as a node; 0: those of a machine
        /// Called by one rank of each node when the memory is zero; false: there is to be none.
        std::function<bool(std::span<std::byte> memory)> prepare = {};
    } node = {};
    /// Address of the MPI_Comm whose processes are the ranks; nullptr: MPI_COMM_WORLD. It may be freed when
    /// the program has started.
    const void* communicator = nullptr;
};

/// This process as a rank of an SPMD program. Its end is collective, after finish().
class MpiProgram {
  public:
    MpiProgram() = default;
    MpiProgram(const MpiProgram&) = delete;
    MpiProgram& operator=(const MpiProgram&) = delete;
    virtual ~MpiProgram() = default;

    virtual Job& job() noexcept = 0;
    /// Waits for all ranks, and receives what they have sent. Collective, at the end of the program.
    virtual void finish() = 0;
    /// Prints an exception with its rank, or once if all ranks fail with the same, and aborts the job
    /// (MPI_Abort).
    [[noreturn]] virtual void fail(const std::exception_ptr& failure) = 0;
};

/// Initialises MPI if needed, and starts a program. Collective over the communicator. Exhausted memory aborts
/// the job. If MPI is initialised already, it is used with its thread level and components.
/// \param argc,argv for MPI_Init; may be nullptr
/// \throws Error when MPI was finalised, or was initialised in a way that its components refuse
std::unique_ptr<MpiProgram> start_mpi_program(const MpiJobConfig& config, int* argc = nullptr,
                                              char*** argv = nullptr);

/// Runs `program` on each rank; an exception of it aborts the job. Finalises MPI if it has initialised it.
/// \return 0 \throws as start_mpi_program
int launch_mpi(const MpiJobConfig& config, int* argc, char*** argv, const std::function<void(Job&)>& program);

/// Finalises MPI if start_mpi_program() has initialised it. Collective over MPI_COMM_WORLD.
void finish_mpi();

}  // namespace nearfetch

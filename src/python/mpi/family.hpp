// SPDX-License-Identifier: Apache-2.0
#pragma once

// The interface between the native module, which does not know MPI, and the library built for an MPI family.

#include "transport/mpi/mpi_job.hpp"

extern "C" {

/// launch_mpi(). An exception of `program` ends the job. \return success; else `error`, of `size` bytes, has
/// the reason
using nearfetch_python_launch_t = bool(const nearfetch::MpiJobConfig* config,
                                       void (*program)(nearfetch::Job& job, void* context), void* context,
                                       char* error, std::size_t size);
/// finish_mpi()
using nearfetch_python_finish_t = void();

[[gnu::visibility("default")]] nearfetch_python_launch_t nearfetch_python_launch;
[[gnu::visibility("default")]] nearfetch_python_finish_t nearfetch_python_finish;
}

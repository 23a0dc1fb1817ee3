// SPDX-License-Identifier: Apache-2.0
#pragma once

// The way from the native module, which knows no MPI, to the library that was built for one family of it.

#include "transport/mpi/mpi_job.hpp"

extern "C" {

/// launch_mpi(). What `program` throws ends the job. \return whether it worked; else `error`, of `size`
/// bytes, says why not
using nearfetch_python_launch_t = bool(const nearfetch::MpiJobConfig* config,
                                       void (*program)(nearfetch::Job& job, void* context), void* context,
                                       char* error, std::size_t size);
/// finish_mpi()
using nearfetch_python_finish_t = void();

[[gnu::visibility("default")]] nearfetch_python_launch_t nearfetch_python_launch;
[[gnu::visibility("default")]] nearfetch_python_finish_t nearfetch_python_finish;
}

// SPDX-License-Identifier: Apache-2.0
#pragma once

// The interface between the native module, which does not know MPI, and the library built for an MPI family.

#include "transport/mpi/mpi_job.hpp"

extern "C" {

/// start_mpi_program(). \return nullptr: `error`, of `size` bytes, has the reason
using nearfetch_python_start_t = nearfetch::MpiProgram*(const nearfetch::MpiJobConfig* config, char* error,
                                                        std::size_t size);
/// finish_mpi()
using nearfetch_python_finish_t = void();

[[gnu::visibility("default")]] nearfetch_python_start_t nearfetch_python_start;
[[gnu::visibility("default")]] nearfetch_python_finish_t nearfetch_python_finish;
}

// SPDX-License-Identifier: Apache-2.0
#pragma once

// Programs whose ranks are processes of an MPI job. The native module does not know MPI: it loads a library
// that was built for the MPI library of the process.

#include <memory>
#include <nearfetch/pgas.hpp>
#include <string>

#include "transport/mpi/mpi_job.hpp"

namespace nearfetch::python {

/// Where the ranks of a program are.
struct MpiPlace {
    std::string library;              ///< built for the MPI family
    std::string libmpi;               ///< loaded before it
    std::uintptr_t communicator = 0;  ///< address of an MPI_Comm; 0: all processes
};

/// Starts a program in this process. Collective over the communicator.
/// \throws Error when a library cannot be loaded, and as start_mpi_program
std::unique_ptr<MpiProgram> start_processes(const MpiPlace& place);
/// Finalises MPI if start_processes() has initialised it.
void finish_processes();
/// Loads a library with global symbols, ahead of libraries that are loaded later. Its own dependencies may be
/// loaded later. \throws Error when it cannot be loaded
void load_globally(const std::string& library);

}  // namespace nearfetch::python

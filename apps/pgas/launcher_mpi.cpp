// SPDX-License-Identifier: Apache-2.0
#include <nearfetch/pgas_mpi.hpp>

#include "pgas/program.hpp"

namespace nearfetch::programs {

const bool launches_ranks = false;
#if defined(NEARFETCH_MPI_MPICH)
const char* const mpi_family = "mpich";
#elif defined(NEARFETCH_MPI_OPENMPI)
const char* const mpi_family = "openmpi";
#else
const char* const mpi_family = "mpiabi";
#endif

int start_ranks(const LaunchOptions& options, int& argc, char**& argv, const std::function<void()>& main) {
    return launch_mpi(options, &argc, &argv, main);
}

}  // namespace nearfetch::programs

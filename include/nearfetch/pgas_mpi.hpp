// SPDX-License-Identifier: Apache-2.0
#pragma once

// SPMD programs whose ranks are the processes of an MPI program. Link nearfetch::cpp_<family> in place of
// nearfetch::cpp, or use pkg-config nearfetch-pgas-<family>.

#include <nearfetch/pgas.hpp>

namespace [[gnu::visibility("default")]] nearfetch {

namespace detail {
int launch_mpi(const LaunchOptions& options, int* argc, char*** argv, const std::function<void()>& main,
               void (*anchor)());
}

/// Runs `main` in every process of an MPI program. Options for ranks and modelled networks are ignored.
/// Initialises and finalises MPI, unless the program has initialised it. \throws Error after MPI_Finalize
/// \return the value that main() should return
inline int launch_mpi(const LaunchOptions& options, int* argc, char*** argv,
                      const std::function<void()>& main) {
    return detail::launch_mpi(options, argc, argv, main, &detail::anchor);
}

}  // namespace nearfetch

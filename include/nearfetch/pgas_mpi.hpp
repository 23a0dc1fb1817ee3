// SPDX-License-Identifier: Apache-2.0
#pragma once

// SPMD programs whose ranks are the processes of an MPI program. Linked with the library for its MPI:
// nearfetch::cpp_<family> in place of nearfetch::cpp, or by pkg-config nearfetch-pgas-<family>.

#include <nearfetch/pgas.hpp>

namespace [[gnu::visibility("default")]] nearfetch {

namespace detail {
int launch_mpi(const LaunchOptions& options, int* argc, char*** argv, const std::function<void()>& main,
               void (*anchor)());
}

/// Runs `main` in every process of an MPI program; what LaunchOptions says of ranks and modelled networks is
/// not used. MPI is started for it and ended after it, unless the program has started MPI itself: then that
/// is used and left as it is. \throws Error when MPI has ended
/// \return what main() should return
inline int launch_mpi(const LaunchOptions& options, int* argc, char*** argv,
                      const std::function<void()>& main) {
    return detail::launch_mpi(options, argc, argv, main, &detail::anchor);
}

}  // namespace nearfetch

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nearfetch/pgas.hpp>

namespace nearfetch {

namespace detail {
int launch_mpi(const LaunchOptions& options, int* argc, char*** argv, const std::function<void()>& main,
               void (*anchor)());
}

/// Runs `main` in every process of an MPI program, which has not initialised MPI itself; what LaunchOptions
/// says of ranks and modelled networks is not used. To be called once.
/// \return what main() should return
inline int launch_mpi(const LaunchOptions& options, int* argc, char*** argv,
                      const std::function<void()>& main) {
    return detail::launch_mpi(options, argc, argv, main, &detail::anchor);
}

}  // namespace nearfetch

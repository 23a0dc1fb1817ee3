// SPDX-License-Identifier: Apache-2.0
#include <nearfetch/pgas_mpi.hpp>

#include "pgas/launch.hpp"

namespace nearfetch::detail {

int launch_mpi(const LaunchOptions& options, int* argc, char*** argv, const std::function<void()>& main,
               void (*anchor)()) {
    return nearfetch::launch_mpi(pgas::mpi_config(), argc, argv,
                                 [&](Job& job) { pgas::Runtime(job, options, anchor).run(main); });
}

}  // namespace nearfetch::detail

// SPDX-License-Identifier: Apache-2.0
#include <nearfetch/pgas_mpi.hpp>

#include "pgas/runtime.hpp"
#include "transport/mpi/mpi_job.hpp"

namespace nearfetch::detail {

int launch_mpi(const LaunchOptions& options, int* argc, char*** argv, const std::function<void()>& main,
               void (*anchor)()) {
    MpiJobConfig config;
    config.segment_bytes = pgas::segment_bytes(options);
    return nearfetch::launch_mpi(config, argc, argv,
                                 [&](Job& job) { pgas::Runtime(job, options, anchor).run(main); });
}

}  // namespace nearfetch::detail

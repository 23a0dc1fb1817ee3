// SPDX-License-Identifier: Apache-2.0
#include "pgas/program.hpp"

namespace nearfetch::programs {

const bool launches_ranks = true;
const char* const mpi_family = "none";

int start_ranks(const LaunchOptions& options, int&, char**&, const std::function<void()>& main) {
    launch(options, main);
    return 0;
}

}  // namespace nearfetch::programs

// SPDX-License-Identifier: Apache-2.0
#pragma once

#if defined(NEARFETCH_MPI_SMPI)
#include <smpi/smpi.h>
#endif

namespace nearfetch::apps {

/// Where ranks are simulated, what they compute takes no time of itself: so much passes. Elsewhere nothing.
inline void pass_simulated_time([[maybe_unused]] double ns) {
#if defined(NEARFETCH_MPI_SMPI)
    smpi_execute_benched(ns * 1e-9);
#endif
}

}  // namespace nearfetch::apps

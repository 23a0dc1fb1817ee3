// SPDX-License-Identifier: Apache-2.0
#pragma once

// Ranks as threads of one process: no MPI, nothing to install, and what tests and first steps run on. A GET
// or PUT is a copy between two places of the same memory, done when it is started; messages go through
// mailboxes, and the barrier is a counter.

#include <cstdint>
#include <functional>

#include "base/types.hpp"
#include "transport/job.hpp"

namespace nearfetch {

struct InprocConfig {
    Rank ranks = 2;
    std::uint64_t segment_bytes = 1 << 20;  ///< of each rank
};

/// Runs `main` once for each rank, each in a thread of its own, and returns when all have ended.
/// \throws Error when the configuration is bad or memory or threads are not to be had; or else what the first
/// rank that failed threw. The others' waits then end with an Error that says so.
void launch_inproc(const InprocConfig& config, const std::function<void(Job&)>& main);

}  // namespace nearfetch

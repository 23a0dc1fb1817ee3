// SPDX-License-Identifier: Apache-2.0
#pragma once

// Ranks as threads of one process, without MPI, for tests and first steps. A GET or PUT is a memory copy,
// done when it is started. Messages go through mailboxes, and the barrier is a counter.
//
// A modelled network may be put in front (transport/model), in wall-clock or in virtual time. Virtual time is
// deterministic, and hundreds of ranks need one processor. There a rank may wait only through the job and its
// endpoints: a thread that spins on memory or a lock of its own blocks all others.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/types.hpp"
#include "transport/job.hpp"
#include "transport/model/network_model.hpp"

namespace nearfetch {

struct InprocConfig {
    Rank ranks = 2;
    std::uint64_t segment_bytes = 1 << 20;  ///< of each rank's first segment; 0: none

    std::string network = {};                          ///< name of a preset (network_names()); empty: none
    std::optional<NetworkModel> model = std::nullopt;  ///< a custom network instead of a preset
    bool virtual_time = false;                         ///< also without a network
    std::uint64_t seed = 1;       ///< of all random choices: delays, and ties in virtual time
    std::uint64_t jitter_ns = 0;  ///< longest random delay of an operation
    bool late_effects = false;    ///< GETs read and PUTs write at a random time before they complete
};

/// Runs `main` once per rank, each in its own thread, and returns when all have ended. The job is a ModelJob
/// (network_of(), traffic_of()) with a network, virtual time, jitter or late effects.
/// \throws Error for an invalid configuration, or when memory or threads are exhausted; else the first
/// exception of a rank. The other ranks' waits then end with an Error.
void launch_inproc(const InprocConfig& config, const std::function<void(Job&)>& main);

}  // namespace nearfetch

// SPDX-License-Identifier: Apache-2.0
#pragma once

// Ranks as threads of one process: no MPI, nothing to install, and what tests and first steps run on. A GET
// or PUT is a copy between two places of the same memory, done when it is started; messages go through
// mailboxes, and the barrier is a counter.
//
// A network can be put in front of that (transport/model), which then takes the time that the model says:
// on the wall's clock, or in virtual time, where results are the same in every run and hundreds of ranks need
// no more than one processor. In virtual time only the job and its endpoints may be waited for: a thread that
// spins on memory or sleeps on a lock of its own keeps all others from running.

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
    std::uint64_t segment_bytes = 1 << 20;  ///< of each rank

    std::string network = {};                          ///< a preset's name (network_names()); none if empty
    std::optional<NetworkModel> model = std::nullopt;  ///< a network of one's own, instead of a preset
    bool virtual_time = false;                         ///< rather than the wall's; also without a network
    std::uint64_t seed = 1;       ///< for all that happens by chance: delays, and turns in virtual time
    std::uint64_t jitter_ns = 0;  ///< each operation takes up to so much longer, by chance
    bool late_effects = false;    ///< GETs read and PUTs write at some time before they complete, by chance
};

/// Runs `main` once for each rank, each in a thread of its own, and returns when all have ended. The job is a
/// ModelJob (network_of(), traffic_of()) when there is a network, virtual time, jitter or late effects.
/// \throws Error when the configuration is bad or memory or threads are not to be had; or else what the first
/// rank that failed threw. The others' waits then end with an Error that says so.
void launch_inproc(const InprocConfig& config, const std::function<void(Job&)>& main);

}  // namespace nearfetch

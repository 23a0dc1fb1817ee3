// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/settings.hpp"
#include "pgas/node_sharing.hpp"
#include "pgas/runtime.hpp"
#include "transport/inproc/inproc.hpp"
#include "transport/mpi/mpi_job.hpp"

namespace nearfetch::pgas {

/// Configures ranks as threads of this process.
inline InprocConfig inproc_config(const LaunchOptions& options) {
    InprocConfig config;
    config.ranks = options.ranks;
    config.segment_bytes = SymmetricHeap::first_bytes;
    config.network = options.network;
    config.virtual_time = options.virtual_time;
    config.seed = options.seed;
    config.jitter_ns = options.jitter_ns;
    return config;
}

/// Configures ranks as processes of an MPI job. What ranks of a node share is as the environment's settings
/// say.
inline MpiJobConfig mpi_config() {
    const Settings settings = settings_of_environment();
    MpiJobConfig config;
    config.segment_bytes = SymmetricHeap::first_bytes;
    const std::uint64_t record_bytes = settings.node_buffer_bytes;
    if (record_bytes == 0) return config;
    config.node.bytes = NodeSharing::memory_bytes(record_bytes);
    config.node.ranks = settings.node_ranks;
    config.node.prepare = [record_bytes](std::span<std::byte> memory) {
        return NodeSharing::create(memory, record_bytes);
    };
    return config;
}

}  // namespace nearfetch::pgas

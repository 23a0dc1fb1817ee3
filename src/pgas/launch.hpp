// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "base/node_memory.hpp"
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

/// What ranks of a node share. Large slices take memory as they come, but address space at once.
inline NodeSharing::Sizes node_sizes(std::uint64_t record_bytes) {
    return {record_bytes, std::min(64 * record_bytes, address_space_bytes() / 8)};
}

/// Configures ranks as processes of an MPI job. What ranks of a node share is as the environment's settings
/// say.
inline MpiJobConfig mpi_config() {
    const Settings settings = settings_of_environment();
    MpiJobConfig config;
    config.segment_bytes = SymmetricHeap::first_bytes;
    if (settings.node_buffer_bytes == 0) return config;
    const NodeSharing::Sizes sizes = node_sizes(settings.node_buffer_bytes);
    config.node.bytes = NodeSharing::memory_bytes(sizes);
    config.node.ranks = settings.node_ranks;
    config.node.prepare = [sizes](std::span<std::byte> memory) { return NodeSharing::create(memory, sizes); };
    return config;
}

}  // namespace nearfetch::pgas

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "pgas/runtime.hpp"
#include "transport/inproc/inproc.hpp"

namespace nearfetch::pgas {

/// Configures ranks as threads of this process.
inline InprocConfig inproc_config(const LaunchOptions& options) {
    InprocConfig config;
    config.ranks = options.ranks;
    config.segment_bytes = segment_bytes(options);
    config.network = options.network;
    config.virtual_time = options.virtual_time;
    config.seed = options.seed;
    config.jitter_ns = options.jitter_ns;
    return config;
}

}  // namespace nearfetch::pgas

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "../pgas/node_memories.hpp"
#include "array_rig.hpp"
#include "pgas/launch.hpp"

namespace nearfetch {

/// Four ranks on nodes of two.
inline void launch_on_nodes(LaunchOptions options, const pgas::NodeSharing::Sizes& sizes,
                            const std::function<void()>& main) {
    options.ranks = 4;
    options.network.clear();
    options.virtual_time = false;
    const NodeMemories memories(options.ranks, 2, sizes);
    launch_inproc(pgas::inproc_config(options), [&](Job& job) {
        pgas::Runtime(job, options, &detail::anchor, nullptr, &memories.of_rank(job.rank())).run(main);
    });
}

}  // namespace nearfetch

// SPDX-License-Identifier: Apache-2.0
#include "pgas/runtime.hpp"
#include "transport/inproc/inproc.hpp"

namespace nearfetch::detail {

void launch(const LaunchOptions& options, const std::function<void()>& main, void (*anchor)()) {
    InprocConfig config;
    config.ranks = options.ranks;
    config.segment_bytes = options.segment_bytes;
    launch_inproc(config, [&](Job& job) { pgas::Runtime(job, options, anchor).run(main); });
}

}  // namespace nearfetch::detail

// SPDX-License-Identifier: Apache-2.0
#include "base/settings.hpp"
#include "pgas/runtime.hpp"
#include "transport/inproc/inproc.hpp"

namespace nearfetch {

namespace detail {

PageCacheConfig page_cache_defaults() { return settings_of_environment().page_cache; }

void launch(const LaunchOptions& options, const std::function<void()>& main, void (*anchor)()) {
    InprocConfig config;
    config.ranks = options.ranks;
    config.segment_bytes = pgas::segment_bytes(options);
    config.network = options.network;
    config.virtual_time = options.virtual_time;
    config.seed = options.seed;
    config.jitter_ns = options.jitter_ns;
    launch_inproc(config, [&](Job& job) { pgas::Runtime(job, options, anchor).run(main); });
}

}  // namespace detail

double network_bound_ns(const std::string& network, std::uint64_t get_messages, std::uint64_t get_bytes,
                        std::uint64_t put_messages, std::uint64_t put_bytes, std::uint64_t round_trips) {
    return network_model(network).bound_ns(get_messages, get_bytes, put_messages, put_bytes, round_trips);
}

}  // namespace nearfetch

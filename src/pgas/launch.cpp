// SPDX-License-Identifier: Apache-2.0
#include "pgas/launch.hpp"

#include "base/settings.hpp"

namespace nearfetch {

namespace detail {

PageCacheConfig page_cache_defaults() { return settings_of_environment().page_cache; }

void launch(const LaunchOptions& options, const std::function<void()>& main, void (*anchor)()) {
    launch_inproc(pgas::inproc_config(options),
                  [&](Job& job) { pgas::Runtime(job, options, anchor).run(main); });
}

}  // namespace detail

double network_bound_ns(const std::string& network, std::uint64_t get_messages, std::uint64_t get_bytes,
                        std::uint64_t put_messages, std::uint64_t put_bytes, std::uint64_t round_trips) {
    return network_model(network).bound_ns(get_messages, get_bytes, put_messages, put_bytes, round_trips);
}

}  // namespace nearfetch

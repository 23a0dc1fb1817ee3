// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nearfetch/pgas.hpp>

namespace nearfetch {

/// Launches it on threads as they come, then in virtual time with delays, where messages are in flight.
inline void launch_on_all_networks(LaunchOptions options, const std::function<void()>& main) {
    launch(options, main);
    options.network = "aries";
    options.virtual_time = true;
    options.jitter_ns = 3000;
    for (options.seed = 1; options.seed < 6; ++options.seed)
        launch(options, main);
}

}  // namespace nearfetch

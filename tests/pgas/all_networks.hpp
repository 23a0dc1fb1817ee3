// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <nearfetch/pgas.hpp>
#include <string>

namespace nearfetch {

/// Programs with a cache and without one.
class CachedOrNot : public ::testing::TestWithParam<bool> {
  public:
    static std::string name(const ::testing::TestParamInfo<bool>& test) {
        return test.param ? "cached" : "uncached";
    }

  protected:
    LaunchOptions options(Rank count = 2) const {
        LaunchOptions options;
        options.ranks = count;
        options.cached = GetParam();
        return options;
    }
};

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

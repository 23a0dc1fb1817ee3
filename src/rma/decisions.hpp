// SPDX-License-Identifier: Apache-2.0
#pragma once

// What a window has decided while it ran, and why, for people and for reports.

#include <string_view>

#include "base/types.hpp"

namespace nearfetch {

/// Of the targets for which the same was decided, one's measurements: what an operation takes (would take)
/// without nearfetch, and with it.
struct Decision {
    std::string_view what;  ///< "gets: cached"
    Rank targets = 0;
    Rank example = 0;
    double plain_ns = 0;  ///< 0: not measured
    double ours_ns = 0;
};

}  // namespace nearfetch

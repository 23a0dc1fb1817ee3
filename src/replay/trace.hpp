// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/types.hpp"

namespace nearfetch {

/// A get of remote memory, in bytes.
struct TraceGet {
    std::uint64_t offset = 0;
    std::uint32_t size = 0;  ///< above 0
    Rank target = 0;
};

/// The gets of one rank in their order. It waits for each before the next.
struct Trace {
    std::vector<TraceGet> gets;
    std::uint32_t ranks = 1;  ///< of the window's group: targets are below

    std::uint64_t largest_bytes() const noexcept {
        std::uint64_t largest = 0;
        for (const TraceGet& get : gets)
            largest = std::max<std::uint64_t>(largest, get.size);
        return largest;
    }
};

}  // namespace nearfetch

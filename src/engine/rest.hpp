// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

namespace nearfetch {

/// Of windows where nothing is kept of any target: what tells whether, and for how long, nobody needs to see
/// their calls.
struct Rest {
    std::uint64_t targets = 0;
    double longest_get_ticks = 0;  ///< of targets that are looked at again; 0: there are none
    double ticks_to_next_look = std::numeric_limits<double>::infinity();
    bool for_good = false;  ///< nothing is ever looked at

    bool looks() const noexcept { return longest_get_ticks != 0; }
    bool gets_may_pass() const noexcept { return for_good || (looks() && ticks_to_next_look != 0); }
    void add(const Rest& other) noexcept {
        targets += other.targets;
        longest_get_ticks = std::max(longest_get_ticks, other.longest_get_ticks);
        ticks_to_next_look = std::min(ticks_to_next_look, other.ticks_to_next_look);
    }
};

}  // namespace nearfetch

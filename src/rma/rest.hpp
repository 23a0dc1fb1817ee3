// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "rma/target.hpp"

namespace nearfetch {

/// Of windows where nothing is kept of any target: what tells whether, and for how long, nobody needs to see
/// their calls.
struct Rest {
    std::uint64_t targets = 0;
    double longest_get_ticks = 0;  ///< of targets that are looked at again; 0: there are none
    double ticks_to_next_look = std::numeric_limits<double>::infinity();
    bool for_good = false;          ///< nothing is ever looked at
    bool lock_is_open = false;      ///< of a single target, or it was started
    bool locks_synchronize = true;  ///< all of them do

    bool looks() const noexcept { return longest_get_ticks != 0; }
    /// What a call takes at most. Gets may have taken long when they were measured, the first ones, and large
    /// ones: then those that were seen since tell, with the program's own work.
    double call_ticks(std::uint64_t seen_ticks, std::uint64_t seen_calls) const noexcept {
        return std::min(longest_get_ticks, static_cast<double>(seen_ticks) / static_cast<double>(seen_calls));
    }
    bool gets_may_pass() const noexcept { return for_good || (looks() && ticks_to_next_look != 0); }
    void add(const Rest& other) noexcept {
        targets += other.targets;
        longest_get_ticks = std::max(longest_get_ticks, other.longest_get_ticks);
        ticks_to_next_look = std::min(ticks_to_next_look, other.ticks_to_next_look);
        lock_is_open = lock_is_open || other.lock_is_open;
        locks_synchronize = locks_synchronize && other.locks_synchronize;
    }
};

/// What passed in a recess, of any target.
struct Unseen {
    double ticks = 0;           ///< that it took
    std::uint64_t gets = 0;     ///< how many
    std::uint64_t updates = 0;  ///< and atomics, how many
    bool epochs = false;        ///< locks of single targets, or fences, may have opened some
    bool bring_news = false;    ///< the ends of updates or atomics may be news of others

    Passed kinds() const noexcept {
        return (gets != 0 ? Passed::gets : Passed::nothing) |
               (updates != 0 ? Passed::updates : Passed::nothing) |
               (bring_news ? Passed::fetches : Passed::nothing);
    }
};

}  // namespace nearfetch

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

#include "engine/target.hpp"

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
    Passed kinds;               ///< that have passed, or may have
    double ticks;               ///< that it took
    std::uint64_t updates;      ///< how many
    std::uint64_t completions;  ///< how many
    std::uint64_t epochs = 0;   ///< opened by locks of single targets and by fences, how many
};

/// How many gets pass in a recess. They are not counted there, and the program's own work may be most of the
/// time that it takes. But where no more than two came to a completion, of those that were seen before it, as
/// many did in the recess. Where many do, the few calls that are seen do not tell how many: then the time has
/// to do.
class GetsUnseen {
  public:
    /// \param gets that were seen up to now  \param completions the same of these
    /// \return how many passed in the recess that is over; infinity: nobody knows
    double expected(std::uint64_t gets, std::uint64_t completions, const Unseen& unseen) noexcept {
        const std::uint64_t new_gets = gets - std::exchange(gets_, gets);
        const std::uint64_t new_completions = completions - std::exchange(completions_, completions);
        if (new_gets > few * new_completions) return std::numeric_limits<double>::infinity();
        const double seen =
            new_completions == 0 ? 0 : static_cast<double>(new_gets) / static_cast<double>(new_completions);
        return std::max(seen, least) * static_cast<double>(unseen.completions);
    }

  private:
    static constexpr std::uint64_t few = 2;
    static constexpr double least = 0.25;  ///< to a completion: few of these are seen, perhaps the wrong ones

    std::uint64_t gets_ = 0;
    std::uint64_t completions_ = 0;
};

}  // namespace nearfetch

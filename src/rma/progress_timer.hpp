// SPDX-License-Identifier: Apache-2.0
#pragma once

// Never stuck: software RMA is served only while a rank is inside the MPI library. A rank that lives on hits
// and elided flushes would never be, so each of these counts down here, and when the interval is over the
// rank enters the library once.
//
// How long an interval is depends on how often others ask for something. An entry that serves somebody takes
// several times as long as one that finds nothing (over TCP 3 us and more to 0.7 us, in shared memory 0.5 us
// and more to 0.1 us). While none of them does, intervals grow to a small share of the time since one did: so
// that is all that whoever asks next waits longer than he has waited before he asked.
//
// Reading the clock costs as much as a hit, so while the program is fast only every 16th or 64th step does.
// A program whose steps are far apart reads it each time: there it is free, and so many of them could be
// seconds.

#include <algorithm>
#include <cstdint>

#include "base/ticks.hpp"

namespace nearfetch {

class ProgressTimer {
  public:
    /// \param idle_us the most that an interval grows to
    ProgressTimer(std::uint64_t interval_us, std::uint64_t idle_us) noexcept
        : least_ticks_(ticks_of(static_cast<double>(interval_us))),
          most_ticks_(std::max(least_ticks_, ticks_of(static_cast<double>(idle_us)))),
          interval_ticks_(least_ticks_) {}

    /// True when the MPI library has to be entered now.
    bool step() noexcept {
        if (--steps_left_ != 0) [[likely]]
            return false;
        return look();
    }

    /// A step in which the clock need not be read; false if step() has to be asked, which then counts it.
    bool step_unless_due() noexcept {
        if (steps_left_ <= 1) [[unlikely]]
            return false;
        --steps_left_;
        return true;
    }

    /// The library has been entered for the sake of others, at a step, which took so long.
    /// \return whether it is to be entered once more, for found_nothing(): only at first, because on a
    /// machine with more ranks than cores an entry that finds nothing may give the processor away
    bool entered_for_others(std::uint64_t entry_ticks) noexcept {
        const bool serves = entry_ticks > 2 * idle_ticks_;
        if (serves) last_serving_ticks_ = last_entry_ticks_;
        const std::uint64_t quiet = last_entry_ticks_ - last_serving_ticks_;
        interval_ticks_ = std::clamp(quiet / quiet_share, least_ticks_, most_ticks_);
        if (!serves || entries_to_learn_ == 0) return false;
        --entries_to_learn_;
        return true;
    }
    /// That took so long, right after another entry; but who takes the processor may take it then, too.
    void found_nothing(std::uint64_t entry_ticks) noexcept {
        const std::uint64_t most = idle_ticks_ == 0 ? ticks_of(most_idle_us) : idle_ticks_;
        idle_ticks_ = std::min(most, entry_ticks);
    }

    /// The library has just been entered for another reason.
    void entered() noexcept { last_entry_ticks_ = ticks(); }

    static constexpr std::uint64_t quiet_share = 32;
    static constexpr std::uint32_t entries_to_learn = 8;
    static constexpr double most_idle_us = 1.25;

    static std::uint64_t ticks_of(double us) noexcept {
        return static_cast<std::uint64_t>(us * 1000.0 / ns_per_tick());
    }

  private:
    bool look() noexcept {
        const std::uint64_t now = ticks();
        const std::uint64_t per_step = (now - last_look_ticks_) / stride_;
        const auto quick = [&](std::uint32_t steps) { return per_step * steps * 4 < least_ticks_; };
        stride_ = quick(64) ? 64 : quick(16) ? 16 : 1;
        steps_left_ = stride_;
        last_look_ticks_ = now;
        if (now - last_entry_ticks_ < interval_ticks_) return false;
        last_entry_ticks_ = now;
        return true;
    }

    // Each step looks at the first one.
    std::uint32_t steps_left_ = 1;
    std::uint32_t stride_ = 1;
    std::uint32_t entries_to_learn_ = entries_to_learn;  ///< how long one takes that finds nothing
    std::uint64_t least_ticks_;
    std::uint64_t most_ticks_;
    std::uint64_t interval_ticks_;
    std::uint64_t last_entry_ticks_ = 0;
    std::uint64_t last_look_ticks_ = 0;
    std::uint64_t idle_ticks_ = 0;          ///< the shortest entry that found nothing; 0: none was made
    std::uint64_t last_serving_ticks_ = 0;  ///< when one served somebody
};

}  // namespace nearfetch

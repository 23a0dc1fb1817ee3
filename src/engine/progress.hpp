// SPDX-License-Identifier: Apache-2.0
#pragma once

// Never stuck: software RMA is served only while a rank is inside the MPI library. A rank that lives on hits
// and elided flushes would never be, so each of these counts down here, and when the interval is over the
// rank enters the library once.
//
// Reading the clock costs as much as a hit, so while the program is fast only every 16th or 64th step does.
// A program whose steps are far apart reads it each time: there it is free, and so many of them could be
// seconds.

#include <cstdint>

#include "engine/clock.hpp"

namespace nearfetch {

class ProgressTimer {
  public:
    explicit ProgressTimer(std::uint64_t interval_us) noexcept
        : interval_ticks_(
              static_cast<std::uint64_t>(static_cast<double>(interval_us) * 1000.0 / ns_per_tick())) {}

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

    /// The library has just been entered for another reason.
    void entered() noexcept { last_entry_ticks_ = ticks(); }

  private:
    bool look() noexcept {
        const std::uint64_t now = ticks();
        const std::uint64_t per_step = (now - last_look_ticks_) / stride_;
        const auto quick = [&](std::uint32_t steps) { return per_step * steps * 4 < interval_ticks_; };
        stride_ = quick(64) ? 64 : quick(16) ? 16 : 1;
        steps_left_ = stride_;
        last_look_ticks_ = now;
        if (now - last_entry_ticks_ < interval_ticks_) return false;
        last_entry_ticks_ = now;
        return true;
    }

    std::uint64_t interval_ticks_;
    std::uint64_t last_entry_ticks_ = 0;
    std::uint64_t last_look_ticks_ = 0;
    std::uint32_t stride_ = 1;
    std::uint32_t steps_left_ = 1;
};

}  // namespace nearfetch

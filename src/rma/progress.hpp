// SPDX-License-Identifier: Apache-2.0
#pragma once

// When a program that lives on hits enters the library for the sake of others (progress_timer.hpp). It is
// then also time to look whether the program waits by hits (polls.hpp).

#include <cstdint>

#include "rma/window_state.hpp"

namespace nearfetch {

class Progress {
  public:
    explicit Progress(WindowState& state) noexcept : s_(state) {}

    /// What was asked for was there, and is complete. \return true if it is time to enter the library
    bool lived_on_hits() noexcept {
        s_.freshness.completed();
        return stayed_out();
    }
    /// The same where that completed no get.
    bool stayed_out() noexcept;

    /// With the mutex: a request-based get was served, and is complete.
    bool request_served() noexcept;
    /// With the mutex: a request-based put waits.
    bool put_waits() noexcept;
    /// With the mutex: it was time, and the library was entered, as ProgressTimer has it.
    bool entered_for_others(std::uint64_t entry_ticks) noexcept;
    void found_nothing(std::uint64_t entry_ticks) noexcept;

  private:
    WindowState& s_;
};

}  // namespace nearfetch

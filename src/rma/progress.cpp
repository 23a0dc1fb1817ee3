// SPDX-License-Identifier: Apache-2.0
#include "rma/progress.hpp"

namespace nearfetch {

bool Progress::stayed_out() noexcept {
    if (!s_.progress_timer.step()) return false;
    if (s_.is_acquire_mode()) s_.freshness.look_for_standstill(s_.counters.bytes_from_network);
    return true;
}

bool Progress::request_served() noexcept {
    const Guard guard = s_.lock();
    return lived_on_hits();
}

bool Progress::put_waits() noexcept {
    const Guard guard = s_.lock();
    return stayed_out();
}

bool Progress::entered_for_others(std::uint64_t entry_ticks) noexcept {
    const Guard guard = s_.lock();
    return s_.progress_timer.entered_for_others(entry_ticks);
}

void Progress::found_nothing(std::uint64_t entry_ticks) noexcept {
    const Guard guard = s_.lock();
    s_.progress_timer.found_nothing(entry_ticks);
}

}  // namespace nearfetch

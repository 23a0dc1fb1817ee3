// SPDX-License-Identifier: Apache-2.0
#include "mpi/passthrough.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "mpi/interposer.hpp"
#include "mpi/window_table.hpp"

namespace nearfetch {

void Passthrough::allow(std::uint64_t calls, bool held) noexcept {
    most_calls_ = calls;
    held_ = held;
    calls_to_check_ = calls == 0 ? never : held ? 1 : first_wait;
}

void Passthrough::forbid() noexcept {
    if (budget_ != 0) end();
    most_calls_ = 0;
    calls_to_check_ = never;
}

void Passthrough::restart() noexcept {
    if (most_calls_ == 0) return;  // with several threads nothing is written here
    if (budget_ != 0) end();
    wait_ = most_unread_ = first_wait;
    calls_to_check_ = held_ ? 1 : wait_;
}

void Passthrough::begin() noexcept {
    const std::optional<std::uint64_t> budget = interposer.windows().passthrough_budget(most_unread_);
    if (!budget || *budget < least_budget) {
        most_unread_ = first_wait;
        wait_ = std::min(2 * wait_, longest_wait);
        calls_to_check_ = held_ ? 1 : wait_;
        return;
    }
    interposer.windows().before_passthrough();
    budget_ = taken_ = std::min(*budget, most_calls_);
    most_unread_ = std::min(2 * most_unread_, most_calls_);
    calls_to_check_ = never;
    wait_ = first_wait;
}

void Passthrough::end() noexcept {
    const std::uint64_t calls = taken_ - budget_;
    budget_ = 0;
    calls_to_check_ = held_ ? 1 : wait_;
    // A get may have been a poll, an atomic may have brought what another has written.
    interposer.process.acquires.acquire("the end of passthrough");
    Bypassed kinds = Bypassed::gets;
    if (std::exchange(has_taken_updates_, false)) kinds = kinds | Bypassed::updates;
    if (std::exchange(has_taken_fetches_, false)) kinds = kinds | Bypassed::fetches;
    interposer.windows().after_passthrough(calls, kinds);
    count_passed_through(calls);
}

}  // namespace nearfetch

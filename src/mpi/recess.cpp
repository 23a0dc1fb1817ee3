// SPDX-License-Identifier: Apache-2.0
#include "mpi/recess.hpp"

#include <algorithm>
#include <optional>

#include "engine/clock.hpp"
#include "mpi/library.hpp"

namespace nearfetch {

namespace {

constexpr std::uint32_t first_calls = 256;
constexpr std::uint32_t fewest_calls = 64;  ///< of fewer, a recess costs more than it saves
constexpr std::uint64_t first_wait = 64;    ///< calls that are seen before it
constexpr std::uint64_t shortest_wait = 4;
constexpr std::uint64_t longest_wait = 1u << 20;
constexpr double quick_ns = 1000;  ///< where a call takes longer, what it takes to see it is not felt

}  // namespace

constinit Recess recess;

void Recess::allow(std::uint32_t calls) noexcept {
    most_calls_ = calls;
    calls_ = std::min(first_calls, calls);
    calls_to_next_ = wait_ = calls == 0 ? never : std::min<std::uint64_t>(first_wait, calls);
}

void Recess::forbid() noexcept {
    if (wait_ == never) return;  // with several threads nothing is written here
    if (on_) end();
    calls_to_next_ = wait_ = never;
}

void Recess::begin() noexcept {
    const std::optional<Rest> rest = Library::instance().rest();
    // At its end each target is looked at.
    if (!rest || rest->targets > calls_) return wait_longer();
    const std::uint64_t gets = rest->gets_to_next_look;
    if (gets != 0 && gets < std::min(fewest_calls, most_calls_)) return wait_longer();
    gets_to_pass_ = static_cast<std::uint32_t>(std::min<std::uint64_t>(calls_, gets));
    gets_pass_ = gets != 0;
    gets_ = updates_ = atomics_ = completions_ = 0;
    on_ = true;
    calls_to_next_ = never;
    hide_window_at_hand();
    begin_ticks_ = ticks();
}

void Recess::end() noexcept {
    const double ns = static_cast<double>(ticks() - begin_ticks_) * ns_per_tick();
    on_ = gets_pass_ = false;
    show_window_at_hand();
    Passed kinds = gets_ != 0 ? Passed::gets : Passed::nothing;
    if (updates_ != 0) kinds = kinds | Passed::updates;
    if (atomics_ != 0) kinds = kinds | Passed::updates | Passed::fetches;
    const std::uint64_t updates = std::uint64_t{updates_} + atomics_;
    const std::uint64_t calls = gets_ + updates + completions_;
    if (kinds != Passed::nothing) Library::instance().went_unseen(kinds, gets_, updates);
    count_unseen(calls);
    if (ns > quick_ns * static_cast<double>(calls) || calls < std::min(fewest_calls, most_calls_)) {
        calls_ = std::min(first_calls, most_calls_);
        return wait_longer();
    }
    calls_ = std::min(4 * calls_, most_calls_);
    calls_to_next_ = wait_ = shortest_wait;
}

void Recess::wait_longer() noexcept {
    if (wait_ != never) calls_to_next_ = wait_ = std::min(2 * wait_, longest_wait);
}

}  // namespace nearfetch

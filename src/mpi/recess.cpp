// SPDX-License-Identifier: Apache-2.0
#include "mpi/recess.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "engine/clock.hpp"
#include "mpi/learned.hpp"
#include "mpi/library.hpp"

namespace nearfetch {

namespace {

constexpr std::uint32_t first_calls = 256;
constexpr std::uint64_t first_wait = 64;  ///< calls that are seen before it
constexpr std::uint64_t shortest_wait = 4;
constexpr std::uint64_t longest_wait = 1u << 20;
constexpr std::uint64_t most_to_unlock = 16;  ///< calls that are seen before an unlock that is waited for
constexpr std::uint64_t most_targets = 4096;  ///< at its end each is looked at
constexpr double quick_ns = 2000;     ///< where a call takes longer, what it takes to see it is not felt
constexpr double longest_ns = 10e6;   ///< most of which is the program's own work
constexpr double shortest_ns = 20e3;  ///< one that is cut off, to be worth it

}  // namespace

constinit Recess recess;

void Recess::allow(std::uint32_t calls) noexcept {
    most_calls_ = calls;
    calls_ = std::min(first_calls, calls);
    calls_to_next_ = wait_ = calls == 0 ? never : std::min<std::uint64_t>(first_wait, calls);
}

void Recess::forbid() noexcept {
    if (wait_ == never) return;  // with several threads nothing is written here
    stop();
    calls_to_next_ = wait_ = never;
}

void Recess::begin() noexcept {
    const std::optional<Rest> rest = Library::instance().rest();
    if (!rest || rest->targets > most_targets || rest->longest_get_ticks * ns_per_tick() > quick_ns)
        return wait_longer();
    // Where each access has a lock of its own, none is open after the next unlock.
    if (rest->lock_is_open && !std::exchange(waits_for_unlock_, true)) {
        calls_to_next_ = most_to_unlock;
        return;
    }
    waits_for_unlock_ = false;
    gets_pass_ = rest->gets_may_pass();
    locks_pass_ = rest->locks_synchronize && !rest->lock_is_open;
    updates_ = atomics_ = locks_ = completions_ = 0;
    on_ = true;
    calls_to_next_ = never;
    hide_window_at_hand();
    begin_ticks_ = ticks();
}

void Recess::end() noexcept {
    const auto taken = static_cast<double>(ticks() - begin_ticks_);
    Passed kinds = gets_pass_ ? Passed::gets : Passed::nothing;
    if (updates_ != 0) kinds = kinds | Passed::updates;
    if (atomics_ != 0) kinds = kinds | Passed::updates | Passed::fetches;
    const std::uint64_t updates = std::uint64_t{updates_} + atomics_, calls = updates + completions_;
    const bool gets_passed = std::exchange(gets_pass_, false);
    on_ = locks_pass_ = false;
    show_window_at_hand();
    if (locks_ != 0) learned("MPI_Win_lock");
    if (kinds != Passed::nothing || locks_ != 0)
        Library::instance().went_unseen({kinds, taken, updates, completions_, locks_});
    count_unseen(calls + locks_);
    const double ns = taken * ns_per_tick();
    const bool is_quick = gets_passed || ns < quick_ns * static_cast<double>(calls);
    if (!is_quick || (completions_ <= calls_ && ns < shortest_ns)) {
        calls_ = std::min(first_calls, most_calls_);
        return wait_longer();
    }
    const double usual = static_cast<double>(calls_) * std::min(longest_ns / ns, 4.0);
    calls_ = static_cast<std::uint32_t>(std::clamp(usual, 1.0, static_cast<double>(most_calls_)));
    calls_to_next_ = wait_ = shortest_wait;
}

void Recess::wait_longer() noexcept {
    if (wait_ != never) calls_to_next_ = wait_ = std::min(2 * wait_, longest_wait);
}

}  // namespace nearfetch

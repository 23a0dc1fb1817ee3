// SPDX-License-Identifier: Apache-2.0
#include "mpi/recess.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "engine/acquires.hpp"
#include "engine/clock.hpp"
#include "mpi/library.hpp"

namespace nearfetch {

namespace {

constexpr std::uint32_t first_calls = 256;
constexpr std::uint64_t first_wait = 64;  ///< calls that are seen before it
constexpr std::uint64_t shortest_wait = 4;
constexpr std::uint64_t longest_wait = 1u << 20;
constexpr std::uint32_t uncounted_recesses = 7;  ///< after one in which updates were counted
constexpr std::uint64_t most_to_unlock = 16;     ///< calls that are seen before an unlock that is waited for
constexpr std::uint64_t most_targets = 4096;     ///< at its end each is looked at
constexpr double quick_ns = 5000;     ///< where a call takes longer, what it takes to see it is not felt
constexpr double longest_ns = 10e6;   ///< most of which is the program's own work
constexpr double shortest_ns = 20e3;  ///< one that is cut off, to be worth it

}  // namespace

constinit Recess recess;

void Recess::allow(std::uint32_t calls) noexcept {
    if (calls == 0) return;
    most_calls_ = calls;
    calls_ = std::min(first_calls, calls);
    calls_to_next_ = wait_ = std::min<std::uint64_t>(first_wait, calls);
}

void Recess::start_over() noexcept {
    stop();
    if (wait_ == never) return;  // with several threads nothing is written here
    wait_ = std::min<std::uint64_t>({wait_, first_wait, most_calls_});
    calls_to_next_ = std::min(calls_to_next_, wait_);
}

void Recess::forbid() noexcept {
    if (wait_ == never) return;
    stop();
    calls_to_next_ = wait_ = never;
    waits_for_unlock_ = false;
}

void Recess::begin() noexcept {
    const bool waited = std::exchange(waits_for_unlock_, false);
    const std::optional<Rest> rest = Library::instance().rest();
    if (!rest || rest->targets > most_targets || (!waited && !are_quick(*rest))) return wait_longer();
    // Where each access has a lock of its own, none is open after the next unlock.
    if (rest->lock_is_open && !waited) {
        waits_for_unlock_ = true;
        calls_to_next_ = most_to_unlock;
        return;
    }
    gets_pass_ = rest->gets_may_pass();
    epochs_pass_ = rest->locks_synchronize && !rest->lock_is_open;
    updates_ = atomics_ = epochs_ = 0;
    has_waited_ = false;
    if (recesses_to_next_count_ == 0)
        assume(Passed::nothing, 0);
    else
        --recesses_to_next_count_;
    (updates_passed_ ? flushes_left_ : completions_left_) = calls_;
    on_ = true;
    calls_to_next_ = never;
    put_window_away();
    look_up_flushes();
    change_ways();
    begin_ticks_ = ticks();
}

bool Recess::are_quick(const Rest& rest) noexcept {
    const std::uint64_t now = ticks(), since = now - std::exchange(asked_ticks_, now);
    return rest.call_ticks(since, wait_) * ns_per_tick() <= quick_ns;
}

void Recess::end() noexcept {
    const auto taken = static_cast<double>(ticks() - begin_ticks_);
    const std::uint32_t left = std::exchange(completions_left_, 0) + std::exchange(flushes_left_, 0);
    const std::uint64_t completions = calls_ - left;
    const std::uint64_t counted = std::uint64_t{updates_} + atomics_;
    const auto assumed =
        static_cast<std::uint64_t>(updates_to_completion_ * static_cast<double>(completions));
    const std::uint64_t updates = counted + assumed, calls = updates + completions;
    if (assumed_ == Passed::nothing) updates_passed_ = updates_ != 0;
    Passed kinds = assumed_ | changes_counted() | (gets_pass_ ? Passed::gets : Passed::nothing);
    // Where other windows may expose the same memory, the end of an update is news, too.
    if (has(kinds, Passed::updates) && Library::overlapping()) kinds = kinds | Passed::fetches;
    if (assumed_ == Passed::nothing && counted != 0 && completions != 0) {
        assume(changes_counted(), static_cast<double>(counted) / static_cast<double>(completions));
        recesses_to_next_count_ = uncounted_recesses;
    }
    const bool gets_passed = gets_pass_;
    on_ = gets_pass_ = epochs_pass_ = false;
    change_ways();
    if (epochs_ != 0 || has_waited_) acquire_process();
    if (kinds != Passed::nothing || epochs_ != 0)
        Library::instance().went_unseen({kinds, taken, updates, completions, epochs_});
    count_unseen(calls + epochs_);
    const double ns = taken * ns_per_tick();
    const bool is_quick = gets_passed || ns < quick_ns * static_cast<double>(calls);
    if (!is_quick || (left != 0 && ns < shortest_ns)) {
        calls_ = std::min(first_calls, most_calls_);
        return wait_longer();
    }
    const double usual = static_cast<double>(calls_) * std::min(longest_ns / ns, 4.0);
    calls_ = static_cast<std::uint32_t>(std::clamp(usual, 1.0, static_cast<double>(most_calls_)));
    calls_to_next_ = wait_ = shortest_wait;
}

void Recess::assume(Passed changes, double updates_to_completion) noexcept {
    assumed_ = changes;
    updates_to_completion_ = updates_to_completion;
}

Passed Recess::changes_counted() const noexcept {
    if (atomics_ != 0) return Passed::updates | Passed::fetches;
    return updates_ != 0 ? Passed::updates : Passed::nothing;
}

Passage Recess::passage(Passed kind) const noexcept {
    if (!on_) return Passage::seen;
    return has(assumed_, kind) ? Passage::straight : Passage::counted;
}

void Recess::change_ways() noexcept {
    change_ways_of_gets(gets_pass_);
    change_ways_of_puts(passage(Passed::updates));
    change_ways_of_updates(passage(Passed::updates), passage(Passed::fetches));
    change_ways_of_epochs(epochs_pass_);
    change_ways_of_waits(on_);
}

void Recess::wait_longer() noexcept {
    if (wait_ != never) calls_to_next_ = wait_ = std::min(2 * wait_, longest_wait);
}

}  // namespace nearfetch

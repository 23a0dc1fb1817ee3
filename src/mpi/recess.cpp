// SPDX-License-Identifier: Apache-2.0
#include "mpi/recess.hpp"

#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

#include "engine/acquires.hpp"
#include "engine/clock.hpp"
#include "mpi/intercept.hpp"
#include "mpi/library.hpp"
#include "mpi/request_table.hpp"

namespace nearfetch {

namespace {

constexpr std::uint32_t first_calls = 256;
constexpr std::uint64_t first_wait = 64;  ///< calls that are seen before it
constexpr std::uint64_t shortest_wait = 4;
constexpr std::uint64_t longest_wait = 1u << 20;
constexpr std::uint64_t most_to_unlock = 16;  ///< calls that are seen before an unlock that is waited for
constexpr std::uint64_t most_targets = 4096;  ///< at its end each is looked at
constexpr double quick_ns = 5000;     ///< where a call takes longer, what it takes to see it is not felt
constexpr double longest_ns = 10e6;   ///< most of which is the program's own work
constexpr double shortest_ns = 20e3;  ///< one that is cut off, to be worth it

}  // namespace

constinit Recess recess;

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winvalid-offsetof"
static_assert(offsetof(Recess, library) + offsetof(LibraryCalls, Put) == 64,
              "what comes before is one line of the cache");
#pragma GCC diagnostic pop

void LibraryCalls::look_up() noexcept {
#define NEARFETCH_LOOK_UP(NAME) NAME.look_up("PMPI_" #NAME);
    NEARFETCH_PASSING_CALLS(NEARFETCH_LOOK_UP)
    NEARFETCH_PASSING_LARGE_CALLS(NEARFETCH_LOOK_UP)
#undef NEARFETCH_LOOK_UP
}

void Recess::allow(std::uint32_t calls) noexcept {
    if (calls == 0) return;
    library.look_up();
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
    gets.begin(rest->gets_may_pass() ? calls_ : 0);
    updates.begin(calls_);
    atomics.begin(calls_);
    epochs.begin(rest->locks_synchronize && !rest->lock_is_open);
    waits.begin(RequestTable::none());
    on_ = true;
    calls_to_next_ = never;
    put_window_away();
    begin_ticks_ = ticks();
}

bool Recess::are_quick(const Rest& rest) noexcept {
    const std::uint64_t now = ticks(), since = now - std::exchange(asked_ticks_, now);
    return rest.call_ticks(since, wait_) * ns_per_tick() <= quick_ns;
}

void Recess::end() noexcept {
    const auto taken = static_cast<double>(ticks() - begin_ticks_);
    const bool used_up = gets.is_used_up() || updates.is_used_up() || atomics.is_used_up();
    const std::uint32_t written = updates.end(), fetched = atomics.end();
    // Where other windows may expose the same memory, the end of an update is news, too.
    const Unseen unseen{.ticks = taken,
                        .gets = gets.end(),
                        .updates = std::uint64_t{written} + fetched,
                        .epochs = epochs.end(),
                        .bring_news = fetched != 0 || (written != 0 && Library::overlapping())};
    on_ = false;
    if (waits.end() || unseen.epochs) acquire_process();
    const std::uint64_t started = unseen.gets + unseen.updates;
    if (started != 0 || unseen.epochs) Library::instance().went_unseen(unseen);
    count_unseen(started);
    const double ns = taken * ns_per_tick();
    // Each is completed by a call of its own, or by one of more.
    const bool is_quick = unseen.gets != 0 || ns < quick_ns * 2 * static_cast<double>(started);
    if (!is_quick || (!used_up && ns < shortest_ns)) {
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

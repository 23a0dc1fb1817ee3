// SPDX-License-Identifier: Apache-2.0
#include "mpi/recess.hpp"

#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

#include "base/ticks.hpp"
#include "mpi/library.hpp"
#include "mpi/requests/request_table.hpp"
#include "mpi/wrappers/intercept.hpp"
#include "rma/acquires.hpp"

namespace nearfetch {

namespace {

constexpr std::uint32_t first_calls = 256;
constexpr std::uint64_t first_wait = 64;  ///< calls that are seen before it
constexpr std::uint64_t shortest_wait = 4;
constexpr std::uint64_t longest_wait = 1u << 20;
constexpr std::uint64_t most_to_unlock = 16;      ///< calls that are seen before an unlock that is waited for
constexpr std::uint64_t most_targets = 4096;      ///< at its end each is looked at
constexpr std::uint32_t completions_to_tell = 4;  ///< of flushes, or of fences, whether there is a series
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

void Recess::allow(std::uint32_t calls, bool held) noexcept {
    if (calls == 0) return;
    library.look_up();
    most_calls_ = calls;
    calls_ = std::min(first_calls, calls);
    held_ = held;
    calls_to_next_ = wait_ = held_ ? 1 : std::min<std::uint64_t>(first_wait, calls);
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
    const bool epochs_may_pass = rest->locks_synchronize && !rest->lock_is_open;
    allowed_.gets = rest->gets_may_pass() ? calls_ : 0;
    gets.begin(allowed_.gets);
    updates.begin(calls_);
    atomics.begin(calls_);
    locks.begin(epochs_may_pass);
    waits.begin(RequestTable::none());
    allow_completions(completions_to_tell - 1, epochs_may_pass ? completions_to_tell - 1 : 0);
    ways = {.get = allowed_.gets != 0 ? get_counted : get_seen, .put = put_counted};
    on_ = seeks_series_ = true;
    fenced_ = false;
    calls_to_next_ = never;
    put_window_away();
    begin_ticks_ = ticks();
}

bool Recess::are_quick(const Rest& rest) noexcept {
    const std::uint64_t now = ticks(), since = now - std::exchange(asked_ticks_, now);
    return rest.call_ticks(since, wait_) * ns_per_tick() <= quick_ns;
}

void Recess::find_series(std::uint32_t least) noexcept {
    const auto before_each = [=](std::uint32_t started) {
        const std::uint32_t each = started / completions_to_tell;
        return each >= least ? each : 0;
    };
    seeks_series_ = false;
    fenced_ = fenced_ || fences.left() != allowed_.fences;
    Series found{.gets = before_each(allowed_.gets - gets.left()),
                 .updates = before_each(calls_ - updates.left())};
    if (locks.was_used()) found = {};
    const std::uint32_t most = std::max(found.gets, found.updates), fences_counted = allowed_.fences;
    if (most == 0) {
        flushes_pass_ = true;
        return allow_completions(0, fences_counted != 0 ? calls_ : 0);
    }
    const std::uint32_t completions = std::max(calls_ / most, 1u);
    allow_completions(completions, fences_counted != 0 ? completions : 0);
    series_ = found;
    locks.begin(false);  // unlocks complete something, too, and are not counted
    if (found.gets != 0) ways.get = library.Get.now();
    if (found.updates != 0) ways.put = library.Put.now();
}

void Recess::allow_completions(std::uint32_t flushes_counted, std::uint32_t fences_counted) noexcept {
    flushes.begin(allowed_.flushes = flushes_counted);
    fences.begin(allowed_.fences = fences_counted);
}

bool Recess::has_used_up() const noexcept {
    const bool completions_are =
        (allowed_.flushes != 0 && flushes.left() == 0) || (allowed_.fences != 0 && fences.left() == 0);
    return (allowed_.gets != 0 && gets.left() == 0) || updates.left() == 0 || atomics.left() == 0 ||
           (completions_are && !seeks_series_);
}

/// What has passed, and then nothing does any more. In a series it is taken to go on as it began.
Unseen Recess::count() noexcept {
    const std::uint32_t fenced = allowed_.fences - fences.end();
    const std::uint64_t completed = std::uint64_t{allowed_.flushes} - flushes.end() + fenced;
    const Series each = std::exchange(series_, {});
    if (each.gets != 0 || each.updates != 0) count_in_series(completed);
    const std::uint64_t read = allowed_.gets - gets.end() + completed * each.gets;
    const std::uint64_t written = calls_ - updates.end() + completed * each.updates;
    const std::uint64_t fetched = calls_ - atomics.end();
    const bool locked = locks.end();
    // Where other windows may expose the same memory, the end of an update is news, too.
    return {.gets = read,
            .updates = written + fetched,
            .epochs = locked || fenced_ || fenced != 0,
            .bring_news = fetched != 0 || (written != 0 && Library::overlapping())};
}

void Recess::end() noexcept {
    const auto taken = static_cast<double>(ticks() - begin_ticks_);
    const bool used_up = has_used_up();
    const std::uint32_t fenced = allowed_.fences - fences.left();
    Unseen unseen = count();
    unseen.ticks = taken;
    on_ = seeks_series_ = flushes_pass_ = false;
    ways = {};
    const std::uint64_t started = unseen.gets + unseen.updates;
    // A get may have been a poll.
    if (waits.end() || unseen.epochs || unseen.gets != 0) acquire_process();
    if (started != 0 || unseen.epochs) Library::instance().went_unseen(unseen);
    count_unseen(started);
    const double ns = taken * ns_per_tick();
    // Each is completed by a call of its own, or by one of more.
    const bool is_quick = unseen.gets != 0 || ns < quick_ns * static_cast<double>(2 * started + fenced);
    if (!is_quick || (!used_up && ns < shortest_ns)) {
        calls_ = std::min(first_calls, most_calls_);
        return wait_longer();
    }
    const double usual = static_cast<double>(calls_) * std::min(longest_ns / ns, 4.0);
    calls_ = static_cast<std::uint32_t>(std::clamp(usual, 1.0, static_cast<double>(most_calls_)));
    calls_to_next_ = wait_ = held_ ? 1 : shortest_wait;
}

void Recess::wait_longer() noexcept {
    if (wait_ != never) calls_to_next_ = wait_ = held_ ? 1 : std::min(2 * wait_, longest_wait);
}

}  // namespace nearfetch

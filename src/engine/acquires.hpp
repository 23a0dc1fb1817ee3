// SPDX-License-Identifier: Apache-2.0
#pragma once

// The acquires of the process: one sequence number for all windows.
//
// A process that learns that another has written learns it for all of its windows: the message that says so
// may name any memory. So a call through which that can happen does not look for windows; it adds one to this
// number, and a window in mode acquire compares it with the number that it saw last, when it is asked for
// something (000, section III: an acquire is a sequence number). A window that sees another number moves its
// own sync clock.
//
// Threads: relaxed order is enough. A get that has to see an acquire of another thread happens after it, by
// whatever the program synchronises its threads with, and a load that happens after an increment sees it or a
// later one. The increment is one instruction that cannot lose another thread's. That takes as long as a
// dozen others, which must wait for it; so as long as there is no window, and where nothing that is cached is
// used, acquires are only noted.

#include <atomic>
#include <cstdint>

namespace nearfetch {

namespace detail {
extern constinit std::atomic<std::uint64_t> process_acquires __attribute__((visibility("hidden")));
/// Of note_acquires().
struct NotedAcquires {
    std::atomic<bool> noting{true};
    std::atomic<bool> any{false};
};
extern constinit NotedAcquires noted_acquires __attribute__((visibility("hidden")));
}  // namespace detail

/// Later gets of this process may not use what was fetched earlier, in any window in mode acquire.
inline void acquire_process() noexcept {
    if (detail::noted_acquires.noting.load(std::memory_order_relaxed))
        detail::noted_acquires.any.store(true, std::memory_order_relaxed);
    else
        detail::process_acquires.fetch_add(1, std::memory_order_relaxed);
}

/// From now on acquires do not count, as before the first window. \pre no other thread makes calls
inline void note_acquires() noexcept { detail::noted_acquires.noting.store(true, std::memory_order_relaxed); }
/// From now on they do, and those in between as one. To be called before somebody asks process_acquires().
inline void count_acquires() noexcept {
    if (!detail::noted_acquires.noting.load(std::memory_order_relaxed)) return;
    detail::noted_acquires.noting.store(false, std::memory_order_relaxed);
    if (detail::noted_acquires.any.exchange(false, std::memory_order_relaxed)) acquire_process();
}

inline std::uint64_t process_acquires() noexcept {
    return detail::process_acquires.load(std::memory_order_relaxed);
}

}  // namespace nearfetch

// SPDX-License-Identifier: Apache-2.0
#pragma once

// The acquires of the process: one sequence number for all windows.
//
// A process that acquires, acquires for all of its windows: the message that says that another has written
// may name any memory. So a call that may synchronise does not look for windows; it adds one to this
// number, and a window in mode acquire compares it with the number that it saw last, when it is asked for
// something (000, section III: an acquire is a sequence number). A window that sees another number moves its
// own sync clock.
//
// Threads: relaxed order is enough. A get that has to see an acquire of another thread happens after it, by
// whatever the program synchronises its threads with, and a load that happens after an increment sees it or a
// later one. The increment is one instruction that cannot lose another thread's; where no two threads are in
// MPI at a time it is a plain one, because an atomic one takes as long as a hit does for its lookup.

#include <atomic>
#include <cstdint>

namespace nearfetch {

namespace detail {
extern constinit std::atomic<std::uint64_t> process_acquires __attribute__((visibility("hidden")));
extern constinit std::atomic<bool> acquires_one_by_one __attribute__((visibility("hidden")));
}  // namespace detail

/// Later gets of this process may not use what was fetched earlier, in any window in mode acquire.
inline void acquire_process() noexcept {
    std::atomic<std::uint64_t>& number = detail::process_acquires;
    if (detail::acquires_one_by_one.load(std::memory_order_relaxed)) [[likely]]
        number.store(number.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    else
        number.fetch_add(1, std::memory_order_relaxed);
}
/// Whether no two threads are in MPI at a time; false until somebody says so.
inline void acquire_one_by_one(bool one_by_one) noexcept {
    detail::acquires_one_by_one.store(one_by_one, std::memory_order_relaxed);
}

/// Whether no two threads are in MPI at a time.
inline bool acquires_one_by_one() noexcept {
    return detail::acquires_one_by_one.load(std::memory_order_relaxed);
}

inline std::uint64_t process_acquires() noexcept {
    return detail::process_acquires.load(std::memory_order_relaxed);
}

}  // namespace nearfetch

// SPDX-License-Identifier: Apache-2.0
#pragma once

// The acquires of the process: one sequence number for all windows.
//
// A process that acquires, acquires for all of its windows: the message that says that another has written
// may name any memory. So a call that may synchronise does not look for windows. It adds one to this number,
// and a window in mode acquire compares it with the number that it saw last, when it is asked for something
// (000, section III: an acquire is a sequence number). A window that sees another number moves its own sync
// clock.
//
// Threads: relaxed order is enough. A get that has to see an acquire of another thread happens after it, by
// whatever the program synchronises its threads with, and a load that happens after an increment sees it or a
// later one. The increment is one instruction that cannot lose another thread's. Where no two threads are in
// MPI at a time it is a plain one, because an atomic one takes as long as a hit does for its lookup.

#include <atomic>
#include <cstdint>

namespace nearfetch {

class Acquires {
  public:
    /// Later gets of this process may not use what was fetched earlier, in any window in mode acquire.
    void acquire() noexcept {
        if (one_by_one_.load(std::memory_order_relaxed)) [[likely]]
            number_.store(count() + 1, std::memory_order_relaxed);
        else
            number_.fetch_add(1, std::memory_order_relaxed);
    }
    std::uint64_t count() const noexcept { return number_.load(std::memory_order_relaxed); }

    /// Whether no two threads are in MPI at a time; false until somebody says so.
    bool are_one_by_one() const noexcept { return one_by_one_.load(std::memory_order_relaxed); }
    void come_one_by_one(bool one_by_one) noexcept {
        one_by_one_.store(one_by_one, std::memory_order_relaxed);
    }

  private:
    std::atomic<std::uint64_t> number_{0};
    std::atomic<bool> one_by_one_{false};
};

}  // namespace nearfetch

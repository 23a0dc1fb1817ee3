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
//
// Of the last acquires it is kept who caused them, for reports: a ring of texts that live as long as the
// process.

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>

#include "base/clock.hpp"

namespace nearfetch {

class Acquires {
  public:
    /// Later gets of this process may not use what was fetched earlier, in any window in mode acquire.
    /// \param cause the call, as a text that stays; locks tell theirs by acquire_by_lock()
    void acquire(const char* cause = "?") noexcept {
        last_other_.store(step(cause), std::memory_order_relaxed);
    }
    /// The same by MPI_Win_lock or MPI_Win_lock_all, from which the promise locks=access takes that effect.
    void acquire_by_lock(const char* cause) noexcept { step(cause); }
    std::uint64_t count() const noexcept { return number_.load(std::memory_order_relaxed); }

    /// From now on it is noted when an acquire was, on the clock of the node: now is one.
    void note_times() noexcept {
        notes_times_.store(true, std::memory_order_relaxed);
        time_.store(steady_ns(), std::memory_order_relaxed);
    }
    /// When the last one was. \pre note_times()
    std::uint64_t time_ns() const noexcept { return time_.load(std::memory_order_relaxed); }

    /// Who caused the first acquire after this number, or the first one that is still known.
    /// \pre number < count()
    const char* cause_after(std::uint64_t number) const noexcept {
        const std::uint64_t newest = count();
        const std::uint64_t oldest = newest > causes_.size() ? newest - causes_.size() + 1 : 1;
        const char* const cause =
            causes_[std::max(number + 1, oldest) % causes_.size()].load(std::memory_order_relaxed);
        return cause == nullptr ? "?" : cause;
    }
    /// Whether all acquires after this number were locks.
    bool are_locks_since(std::uint64_t number) const noexcept {
        return last_other_.load(std::memory_order_relaxed) <= number;
    }

    /// Whether no two threads are in MPI at a time; false until somebody says so.
    bool are_one_by_one() const noexcept { return one_by_one_.load(std::memory_order_relaxed); }
    void come_one_by_one(bool one_by_one) noexcept {
        one_by_one_.store(one_by_one, std::memory_order_relaxed);
    }

  private:
    std::uint64_t step(const char* cause) noexcept {
        std::uint64_t number = count() + 1;
        if (one_by_one_.load(std::memory_order_relaxed)) [[likely]]
            number_.store(number, std::memory_order_relaxed);
        else
            number = number_.fetch_add(1, std::memory_order_relaxed) + 1;
        causes_[number % causes_.size()].store(cause, std::memory_order_relaxed);
        if (notes_times_.load(std::memory_order_relaxed)) [[unlikely]]
            time_.store(steady_ns(), std::memory_order_relaxed);
        return number;
    }

    std::atomic<std::uint64_t> number_{0};
    std::atomic<std::uint64_t> last_other_{0};  ///< number of the last acquire that was no lock
    std::array<std::atomic<const char*>, 256> causes_{};
    std::atomic<bool> one_by_one_{false};
    std::atomic<bool> notes_times_{false};
    std::atomic<std::uint64_t> time_{0};
};

}  // namespace nearfetch

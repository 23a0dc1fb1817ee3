// SPDX-License-Identifier: Apache-2.0
#pragma once

// The sync clock of a rank whose threads share what was fetched. An acquire of any thread advances it, and
// gives the thread its stamp; what is fetched leads the clock's stamp at the time at which its GETs were
// issued. A thread may use what is at least as young as its own last acquire.
//
// LAPPS (section 5.1) compares the reader's own count of acquires with the count of the thread that fetched.
// Counts of different threads do not compare: a thread that acquires often would make what it fetches look
// fresh to one that acquires rarely, and has just done so. On one clock for all they do.

#include <atomic>

#include "cache/sync_clock/sync_clock.hpp"

namespace nearfetch {

class RankClock {
  public:
    /// What a GET that is issued now has to be stamped with.
    Stamp now() const noexcept { return now_.load(std::memory_order_acquire); }
    /// The clock itself. Whoever reads it sees his own acquires, at least.
    const std::atomic<Stamp>& acquires() const noexcept { return now_; }
    /// \return the stamp that the calling thread's data needs from now on; never 0
    Stamp acquire() noexcept { return now_.fetch_add(1, std::memory_order_acq_rel) + 1; }

  private:
    std::atomic<Stamp> now_{0};
};

}  // namespace nearfetch

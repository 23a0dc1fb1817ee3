// SPDX-License-Identifier: Apache-2.0
#pragma once

// The sync clock of a rank whose threads share fetched data. An acquire of any thread advances it and returns
// the thread's stamp. Fetched data carries the stamp at which its GETs were issued. A thread may use data
// that is at least as recent as its own last acquire.
//
// LAPPS (section 5.1) compares the reader's count of acquires with that of the thread that fetched. Counts of
// different threads do not compare: data fetched by a thread that acquires often would look fresh to one that
// acquires rarely and has just done so. One clock for all threads avoids that.

#include <atomic>

#include "cache/sync_clock/sync_clock.hpp"

namespace nearfetch {

class RankClock {
  public:
    /// The stamp for a GET that is issued now.
    Stamp now() const noexcept { return now_.load(std::memory_order_acquire); }
    /// The clock itself. A reader sees at least its own acquires.
    const std::atomic<Stamp>& acquires() const noexcept { return now_; }
    /// \return the stamp that the calling thread's data needs from now on; never 0
    Stamp acquire() noexcept { return now_.fetch_add(1, std::memory_order_acq_rel) + 1; }

  private:
    std::atomic<Stamp> now_{0};
};

}  // namespace nearfetch

// SPDX-License-Identifier: Apache-2.0
#pragma once

// The sync clock of a rank whose threads share fetched data. Fetched data carries the stamp at which its GETs
// were issued. An acquire returns a stamp. A thread may use data that is at least as recent as its own last
// acquire.
//
// LAPPS (section 5.1) compares the reader's count of acquires with that of the thread that fetched. Counts of
// different threads do not compare: data fetched by a thread that acquires often would look fresh to one that
// acquires rarely and has just done so. One clock for all threads avoids that.
//
// An acquire writes to the clock only if GETs were issued since the last advance: it is odd then, and becomes
// even. Else nothing has a stamp that would have to become stale, and threads that acquire share a line that
// nobody writes.
//
// Why that is enough: an acquire reads the clock, and returns c if that is even, else c + 1. Data that is
// recent enough was issued at a larger odd number, to which issue() has set the clock after that read. Both
// have a sequentially consistent fence, the acquire before its read and issue() after. So the fence of the
// acquire is the earlier one, and what this thread has learned of before its acquire, those GETs see.

#include <atomic>

#include "base/racy_copy.hpp"
#include "cache/sync_clock/sync_clock.hpp"

namespace nearfetch {

class RankClock {
  public:
    /// The stamp for GETs that the calling thread issues afterwards. Odd.
    Stamp issue() noexcept {
        Stamp now = now_.load(std::memory_order_acquire);
        while (now % 2 == 0 && !now_.compare_exchange_weak(now, now + 1, std::memory_order_acq_rel)) {
        }
        full_fence();
        return now | 1;
    }
    /// The clock itself. A reader sees at least its own acquires.
    const std::atomic<Stamp>& now() const noexcept { return now_; }
    /// \return the stamp that the calling thread's data needs from now on; never 0
    Stamp acquire() noexcept {
        full_fence();
        Stamp now = now_.load(std::memory_order_acquire);
        if (now % 2 == 0) return now;
        const Stamp advanced = now + 1;
        // Where another thread has advanced it, that is as good.
        now_.compare_exchange_strong(now, advanced, std::memory_order_acq_rel);
        return advanced;
    }

  private:
    // Stamp 0 is that of data that was never fetched.
    std::atomic<Stamp> now_{2};
};

}  // namespace nearfetch

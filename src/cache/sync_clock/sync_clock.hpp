// SPDX-License-Identifier: Apache-2.0
#pragma once

// The sync clock: acquires as sequence numbers.
//
// Cached data carries the stamp at which its get was *issued*, because it may have been read at any time
// after that. An acquire advances the clock, for all targets or for one, in O(1): data with an older stamp is
// stale. This is the sequence-number scheme of 000 (section III), per target because MPI lets a process
// synchronise with a single target.

#include <cstdint>
#include <new>

#include "base/assert.hpp"
#include "base/per_rank.hpp"
#include "base/types.hpp"

namespace nearfetch {

/// A time of the sync clock.
using Stamp = std::uint64_t;

class SyncClock {
  public:
    /// \throws std::bad_alloc
    explicit SyncClock(Rank ranks) : acquired_(ranks, 0) {}

    /// The stamp for a get that is issued now.
    Stamp now() const noexcept { return now_; }

    /// Later reads of any target may not use data issued before.
    void acquire() noexcept { all_acquired_ = ++now_; }
    /// The same for one target.
    void acquire(Rank target) noexcept try {
        NF_EXPECT(target >= 0 && target < ranks());
        Stamp& acquired = acquired_.make(target);
        acquired = ++now_;
    } catch (const std::bad_alloc&) {
        acquire();
    }

    bool fresh(Stamp stamp, Rank target) const noexcept {
        if (stamp == now_) [[likely]]
            return true;
        return stamp >= all_acquired_ && stamp >= acquired_[target];
    }

    Rank ranks() const noexcept { return acquired_.ranks(); }

  private:
    Stamp now_ = 0;
    Stamp all_acquired_ = 0;
    PerRank<Stamp> acquired_;
};

}  // namespace nearfetch

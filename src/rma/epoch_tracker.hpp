// SPDX-License-Identifier: Apache-2.0
#pragma once

// Which access epochs are open, as the MPI standard has them (MPI-4.0, section 12.5), so that what the
// library would refuse meets the library: nothing hits outside of an epoch, and no flush is elided where
// flushes are errors.
//
// A fence opens an epoch only if an access follows, and the library refuses a lock from then on. So it has to
// see that access: until accessed() was called nothing may hit.

#include <cstdint>
#include <utility>
#include <vector>

#include "base/per_rank.hpp"
#include "base/types.hpp"

namespace nearfetch {

/// What this process may do at a target.
enum class Epoch : std::uint8_t {
    none,
    active,   ///< access, but not flush: fence, start
    leased,   ///< access, by slow paths only: a lock under a lease (leased_epoch.hpp)
    passive,  ///< both: lock, lock_all
};

class EpochTracker {
  public:
    explicit EpochTracker(Rank ranks) : of_(ranks, Epoch::none) {}

    bool may_access(Rank target) const noexcept {
        if (all_ != Epoch::none) [[likely]]
            return true;
        return at(target) != Epoch::none;
    }
    /// The same for fast paths, which do not note what they do.
    bool may_access_quickly(Rank target) const noexcept {
        if (all_ != Epoch::none) [[likely]]
            return true;
        return at(target) != Epoch::none && at(target) != Epoch::leased;
    }
    bool may_flush(Rank target) const noexcept {
        if (all_ == Epoch::passive) [[likely]]
            return true;
        return at(target) == Epoch::passive;
    }
    /// No epoch is open at the target, nor is it open whether one is.
    bool closed(Rank target) const noexcept {
        return all_ == Epoch::none && at(target) == Epoch::none && group_.empty() && !fenced_;
    }
    bool may_flush_all() const noexcept { return all_ == Epoch::passive; }

    /// MPI_Win_lock and unlock.
    void set(Rank target, Epoch epoch) noexcept {
        fenced_ = false;
        of_.make(target) = epoch;
    }
    /// MPI_Win_lock_all, and whatever closes an epoch of all targets.
    void set_all(Epoch epoch) noexcept {
        fenced_ = false;
        all_ = epoch;
    }
    /// MPI_Win_start for these targets, until complete().
    void start(std::vector<Rank> group) noexcept {
        set_all(Epoch::none);
        group_ = std::move(group);
        for (Rank target : group_)
            set(target, Epoch::active);
    }
    void complete() noexcept {
        for (Rank target : group_)
            set(target, Epoch::none);
        group_.clear();
    }
    void fence() noexcept {
        set_all(Epoch::none);
        fenced_ = true;
    }
    /// The library has seen an access.
    void accessed() noexcept {
        if (fenced_) [[unlikely]]
            set_all(Epoch::active);
    }

  private:
    Epoch at(Rank target) const noexcept { return of_[target]; }

    Epoch all_ = Epoch::none;
    bool fenced_ = false;
    PerRank<Epoch> of_;
    std::vector<Rank> group_;
};

}  // namespace nearfetch

// SPDX-License-Identifier: Apache-2.0
#pragma once

// Epochs: what opens and closes them, what a lock means, and locks that the library need not see. A shared
// lock of a cached target may be kept back; if everything in its epoch hits, it and its unlock are elided.
//
// - locks=access: the program promises that a lock only opens an epoch. The front end keeps the lock, until
//   anything else enters the library.
// - locks=auto: that is so while there is a lease of the target (leases.hpp, leased_epoch.hpp).
// - Modes in which no lock is an acquire keep their locks back as under the promise.

#include "rma/completion_path.hpp"
#include "rma/leased_path.hpp"
#include "rma/window_state.hpp"

namespace nearfetch {

/// What a shared lock is.
struct SharedLock {
    enum class Keeper : std::uint8_t {
        nobody,     ///< the library gets it
        front_end,  ///< it is kept back, and its epoch is open
        lease,      ///< the same, once begin_leased() was called, after the acquire
    };
    Keeper kept_by = Keeper::nobody;
    bool acquires = true;
};

class LockPath {
  public:
    LockPath(WindowState& state, BypassControl& bypass, Progress& progress) noexcept
        : s_(state), completions_(state, bypass, progress), progress_(progress) {}

    /// Opens and closes epochs. \param change is called with the EpochTracker
    template <class Change>
    void change_epochs(const Change& change) noexcept {
        const Guard guard = s_.lock();
        change(s_.epochs);
    }

    /// Counts a shared lock of `target` and says what it is. \param may_keep the front end can keep it back
    SharedLock judge_shared_lock(Rank target, bool may_keep) noexcept;
    /// The end of the epoch of a lock that the front end has kept back until then. \return true if it is time
    /// to serve others
    bool elide_lock(Rank target) noexcept;

    /// Of a leased epoch, as LeasedPath has them.
    bool has_leased_epoch() const noexcept { return s_.leased.is_open(); }
    void begin_leased(Rank target, int assertion) noexcept { LeasedPath(s_).begin(target, assertion); }
    int open_leased() { return LeasedPath(s_).open(); }
    int take_leased_lock() { return LeasedPath(s_).take_lock(); }
    /// \return whether it is elided; then `serves` is whether it is time to serve others
    bool elide_leased(Rank target, bool& serves) noexcept;
    int before_unlock(Rank target) { return LeasedPath(s_).before_unlock(target); }
    int after_unlock(Rank target, bool repairs) { return LeasedPath(s_).after_unlock(target, repairs); }

    /// Shared locks may be kept under leases from now on, and no more. \throws std::bad_alloc
    void open_leases(LeaseWords& words, std::uint64_t lease_ns);
    void close_leases() noexcept;
    /// Counts an exclusive lock of `target`, before the library is called: leases of it end.
    /// \return the transport's status
    int begin_exclusive(Rank target) noexcept;
    /// Without the mutex: ends the writing at targets of which no lock is held, if the budget allows it.
    void end_writing() noexcept;
    bool is_writer_of_some() const noexcept { return s_.leases.writes(); }

    /// Whether a lock or unlock takes the fast path: nothing is kept back, and locks are acquires.
    bool is_lock_quick(Rank target) const noexcept {
        switch (s_.lock_rule) {
            case LockRule::acquires:
                return s_.at(target).route != Route::slow;
            case LockRule::leased:
                return s_.at(target).route == Route::bypass && target != s_.self;
            case LockRule::kept:
                return s_.at(target).route == Route::bypass;
            case LockRule::promised:
                break;
        }
        return false;
    }
    bool is_unlock_quick(Rank target) const noexcept {
        return s_.at(target).route == Route::bypass && !s_.leases.writes() && !s_.leased.is_open();
    }
    /// After the library's call on that path.
    void record_lock(Rank target) noexcept {
        ++s_.counters.locks;
        s_.epochs.set(target, Epoch::passive);
    }
    void record_unlock(Rank target, int status) noexcept {
        completions_.complete_bypassed(target, FlushKind::full, status);
        s_.freshness.completed();
        if (status == 0) s_.epochs.set(target, Epoch::none);
    }

  private:
    bool may_keep_back(Rank target) const noexcept;

    WindowState& s_;
    CompletionPath completions_;
    Progress& progress_;
};

}  // namespace nearfetch

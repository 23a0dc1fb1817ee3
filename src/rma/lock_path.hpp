// SPDX-License-Identifier: Apache-2.0
#pragma once

// Epochs: what opens and closes them, and locks that the library need not see. Under the promise locks=access
// the front end may keep a lock back; if everything in its epoch hits, it and its unlock are elided.

#include "rma/completion_path.hpp"
#include "rma/window_state.hpp"

namespace nearfetch {

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

    /// Counts a lock of `target`. \param may_wait the front end can keep it back, and the program's promise
    /// allows it
    /// \return true if it should, because what follows may hit: then the epoch is open
    bool lock_may_wait(Rank target, bool may_wait) noexcept;
    /// The end of the epoch of a lock that was kept back until then. \return true if it is time to serve
    /// others
    bool elide_lock(Rank target) noexcept;

    /// Whether a lock or unlock takes the fast path, where locks are not kept back.
    bool is_lock_quick(Rank target) const noexcept { return s_.at(target).route != Route::slow; }
    bool is_unlock_quick(Rank target) const noexcept { return s_.at(target).route == Route::bypass; }
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
    WindowState& s_;
    CompletionPath completions_;
    Progress& progress_;
};

}  // namespace nearfetch

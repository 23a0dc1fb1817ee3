// SPDX-License-Identifier: Apache-2.0
#pragma once

// An atomic addition whose result nobody sees may be ordered after what others wrote, or not: its thread
// cannot tell. What it reads next it has to be able to read in both cases, or the program has a race. So its
// acquire can wait until the thread sees the result of an atomic operation, and then may know. The other way
// round: once a relaxed operation has shown others' progress, an addition's place may be known before it is
// made (by coherence of one variable), and then it acquires at once.

namespace nearfetch::pgas {

/// Which operations of a thread acquire now.
class LazyAcquire {
  public:
    /// The thread sees a result. \param acquires the operation's order does
    bool is_due_at_result(bool acquires) noexcept {
        seen_ = true;
        return acquires || put_off_;
    }
    /// An operation whose order acquires shows no result.
    bool is_due_without_result() noexcept {
        put_off_ = true;
        return seen_;
    }
    /// The thread acquires, for whatever reason.
    void acquired() noexcept { seen_ = put_off_ = false; }

  private:
    bool seen_ = false;     ///< a result, since the last acquire
    bool put_off_ = false;  ///< an acquire
};

}  // namespace nearfetch::pgas

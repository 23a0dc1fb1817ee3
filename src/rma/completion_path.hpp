// SPDX-License-Identifier: Apache-2.0
#pragma once

// What completes: flushes that need not enter the library, transfers whose bytes enter the cache, and the
// account that is settled now and then.
//
// What completes a transfer is the front end's knowledge (flush, unlock, fence, a request that was waited
// for); it says so by complete() or complete_request(). With the mode off gets and updates are not counted,
// only fetching atomics are.

#include <algorithm>
#include <cstdint>

#include "base/finally.hpp"
#include "rma/bypass_control.hpp"
#include "rma/progress.hpp"
#include "rma/window_state.hpp"

namespace nearfetch {

class CompletionPath {
  public:
    CompletionPath(WindowState& state, BypassControl& bypass, Progress& progress) noexcept
        : s_(state), bypass_(bypass), progress_(progress) {}

    Moment now() const noexcept {
        const Guard guard = s_.lock();
        return s_.operations.now();
    }
    /// Whether completions have to be seen even if the mode is off: of fetching atomics that were not
    /// bypassed, or of what was in flight when it was switched off.
    bool must_be_seen() const noexcept;
    /// Whether a completion may be of a get that is a poll, or that has origins in use.
    bool gets_under_way() const noexcept;

    /// The fast path of a flush. After `bypass`, bypass_flush(); after `miss`, flush().
    [[gnu::always_inline]] Served try_flush(Rank target, FlushKind kind) noexcept;
    /// A flush of a bypassed target. \return the library's status
    template <class Call>
    int bypass_flush(Rank target, FlushKind kind, const Call& library_call) {
        return and_then(library_call, [=, this](int status) { complete_bypassed(target, kind, status); });
    }
    /// Counts a flush of `target` (of all targets) and says whether it has to enter the library.
    Flush flush(Rank target, FlushKind kind) noexcept;
    Flush flush_all(FlushKind kind) noexcept;

    /// The library has completed at `target` (everywhere) what had been started until `since`.
    /// \param status other than 0: it failed, nothing of it will be cached, and a later call may complete it
    /// \param network_ticks what the call took
    void complete(Rank target, Moment since, FlushKind kind, int status,
                  std::uint64_t network_ticks) noexcept;
    void complete_all(Moment since, FlushKind kind, int status, std::uint64_t network_ticks) noexcept;
    /// After Flush::needed_bypassed.
    void complete_bypassed_flush(Rank target, Moment since, FlushKind kind) noexcept;

    /// The fast path of complete_all(): whether all that may be outstanding was bypassed.
    bool all_are_bypassed() const noexcept {
        if (s_.threaded || s_.holds_combined(all_targets)) return false;
        return std::ranges::all_of(s_.operations.targets(),
                                   [this](Rank target) { return bypass_.is_bypassed(target); });
    }
    /// \pre all_are_bypassed() before the library was called
    void complete_all_bypassed(FlushKind kind, int status) noexcept;
    /// Without the mutex: the library has completed what was bypassed.
    void complete_bypassed(Rank target, FlushKind kind, int status) noexcept {
        s_.operations.complete_bypassed(target, kind, status);
        s_.freshness.complete(target, s_.operations.now(), status);
        if (status == 0 && s_.origins.any()) [[unlikely]]
            late_arrived(target);
    }

    /// A request-based get has completed, and was waited for so long; `keep` false: its request was freed, so
    /// that only a flush completes it.
    void complete_request(Rank target, RequestId request, bool keep,
                          std::uint64_t network_ticks = 0) noexcept;
    /// The request of a get that was bypassed, or of another transfer, has completed.
    void complete_bypassed_request(RequestId request) noexcept;
    /// A request-based get that has completed, nobody knows when: what came to the program's buffer is not
    /// kept.
    void abandon_request(Rank target, RequestId request) noexcept;

  private:
    Flush elide() noexcept;
    Flush enter(Flush needed) noexcept {
        ++s_.counters.flushes;
        return needed;
    }
    void library_completed(bool gets) noexcept;
    void complete_locked(Rank target, Moment since, FlushKind kind, int status,
                         std::uint64_t network_ticks) noexcept;
    void complete_checks(Rank target, Moment since) noexcept;
    void late_arrived(Rank target) noexcept;

    WindowState& s_;
    BypassControl& bypass_;
    Progress& progress_;
};

inline Served CompletionPath::try_flush(Rank target, FlushKind kind) noexcept {
    const TargetState& state = s_.targets.at(target);
    const Route route = state.target.route;
    const TargetOperations& operations = state.operations;
    if (route < Route::lookup) [[unlikely]] {
        if (route == Route::slow) return Served::miss;
        s_.freshness.completed();
        if (operations.bypassed != Bypassed::nothing) {
            ++s_.counters.flushes;
            return Served::bypass;
        }
    }
    if (!s_.epochs.may_flush(target) || !operations.idle(kind) || !s_.progress_timer.step_unless_due())
        [[unlikely]]
        return Served::miss;
    ++s_.counters.flushes_elided;
    s_.freshness.completed();
    return Served::hit;
}

}  // namespace nearfetch

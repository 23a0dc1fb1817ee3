// SPDX-License-Identifier: Apache-2.0
#pragma once

// Puts, accumulates and atomics.
//
// The life of a put. A small one is combined where that pays (write_combiner.hpp): it counts as outstanding,
// so flushes of it enter the library, and gets that overlap it are not kept. Before the library is told to
// complete updates, or starts what has to come after a put, the front end calls send_combined(). Any other
// put is started at once; cached bytes that it overlaps take its values.
//
// What an accumulate or atomic leaves behind is not known: cached bytes that it overlaps are forgotten.

#include <cstdint>
#include <mutex>
#include <span>

#include "rma/bypass_control.hpp"
#include "rma/window_state.hpp"

namespace nearfetch {

class UpdatePath {
  public:
    UpdatePath(WindowState& state, BypassControl& bypass) noexcept : s_(state), bypass_(bypass) {}

    /// The fast path of a put of a bypassed target.
    /// \return true if it has been counted, and goes to the library as it is
    bool bypass_put(Rank target) noexcept;
    /// The same of an accumulate or atomic. \param fetches its result may synchronise
    bool bypass_update(Rank target, bool fetches = false) noexcept {
        return bypass_.bypass(target, fetches ? Bypassed::updates | Bypassed::fetches : Bypassed::updates);
    }
    /// The fast path of a put in one run: true if it has been combined, to be sent later.
    bool try_combine(Rank target, std::uint64_t offset, std::uint64_t size, const void* origin) noexcept;
    /// Any put: combined, or started.
    /// \param may_wait it may be combined
    /// \param started if not null: whether the starter was called
    /// \return the starter's status, or that of earlier puts that made room by leaving
    int put(Rank target, std::span<const ByteRun> runs, PutStarter& starter, bool may_wait,
            bool* started = nullptr);

    /// Whether puts are combined for that target (for all_targets: for any).
    bool has_combined(Rank target) const noexcept {
        const Guard guard = s_.lock();
        return s_.holds_combined(target);
    }
    /// Sends these puts. \return the first status that is not 0: puts that are not done
    int send_combined(Rank target);
    /// With the mutex held: a get sees what this process has put. All of it is here, or what is leaves before
    /// the get is started. \return whether it has been served
    bool serve_combined(const Get& get, Guard& guard);

    /// An accumulate was started, or a put of unknown layout. No runs: it may overlap all of the target.
    /// \param fetches it brings back what was there: an acquire when it is complete
    void update_started(Rank target, std::span<const ByteRun> runs, bool fetches = false) noexcept;
    /// An atomic that only reads was started.
    void read_started(Rank target, bool fetches = false) noexcept;

    /// Whether the setting and the mode allow to combine puts.
    bool may_combine() const noexcept { return s_.keeps_data() && s_.settings.write_combining_bytes != 0; }

  private:
    using SendGuard = std::unique_lock<std::recursive_mutex>;

    static bool is_alone_put_timed(const Target& t) noexcept {
        return !t.put_cost.is_known() || t.put_breaker.remaining() % policy::interval_accesses == 0;
    }
    bool combines(const Target& t) const noexcept;
    bool is_combinable(Rank target, std::span<const ByteRun> runs) const noexcept;
    bool make_combiner() noexcept;
    bool combine(Rank target, std::span<const ByteRun> runs) noexcept;
    int start_alone(Rank target, std::span<const ByteRun> runs, PutStarter& starter, bool is_combinable,
                    Guard& guard);
    void put_started(Rank target, std::span<const ByteRun> runs, bool combined) noexcept;
    int make_room(Guard& guard);
    int send_each_combined();
    int send(Rank target, std::span<const ByteRun> runs, Guard& guard);

    WindowState& s_;
    BypassControl& bypass_;
    std::recursive_mutex send_mutex_;  ///< taken before the other; an error handler may put something, too
};

inline bool UpdatePath::bypass_put(Rank target) noexcept {
    TargetState& known = s_.targets.known(target);
    if (known.target.route != Route::bypass) return false;
    Target& t = s_.targets.make(target, known).target;
    // Of those that could be combined, some are timed, and the last one of a backoff ends it: in put().
    const bool may_end = may_combine() && !t.breaker.is_open();
    if (may_end && (is_alone_put_timed(t) || !t.put_breaker.bypass())) return false;
    return bypass_.bypass(target, Bypassed::updates);
}

}  // namespace nearfetch

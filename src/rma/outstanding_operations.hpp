// SPDX-License-Identifier: Apache-2.0
#pragma once

// What a window has started and not yet completed.
//
// Each operation takes the next number. A completion covers all numbers up to the moment before the library
// was called, so a flush with nothing outstanding need not enter the library. Operations on a bypassed target
// are not counted one by one: only their kinds are marked, in a few instructions.

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/types.hpp"
#include "rma/acquires.hpp"
#include "rma/epoch_tracker.hpp"
#include "rma/front_end.hpp"
#include "rma/target_table.hpp"

namespace nearfetch {

class OutstandingOperations {
  public:
    /// \param epochs told of each operation that the library sees \param acquires of the process
    OutstandingOperations(TargetTable& targets, EpochTracker& epochs, Acquires& acquires)
        : targets_(targets), epochs_(epochs), acquires_(acquires) {
        targets.keep_room_in(listed_);
    }

    Moment now() const noexcept { return issued_; }
    const TargetOperations& at(Rank target) const noexcept { return targets_.at(target).operations; }
    /// Nothing is outstanding that a flush of all would complete.
    bool are_idle(FlushKind kind) const noexcept {
        return bypassed_at_others() == Bypassed::nothing &&
               std::ranges::all_of(listed_, [&](Rank target) { return at(target).idle(kind); });
    }
    /// Targets that may have something outstanding; all others have nothing, or what the others have.
    std::span<const Rank> targets() const noexcept { return listed_; }
    void list(Rank target) noexcept { list(target, of(target)); }

    void start_get(Rank target) noexcept {
        TargetOperations& o = of(target);
        start(target, o, o.gets);
    }
    /// \param runs none: it changes nothing \param combined its origin may be used again already
    void start_update(Rank target, std::span<const ByteRun> runs, bool combined = false) noexcept;
    /// The update that was started just now is a fetching atomic: its completion has to be seen.
    void start_fetch(Rank target) noexcept {
        TargetOperations& o = of(target);
        if (!o.fetches.outstanding()) ++fetching_;
        o.fetches.started = issued_;
    }
    /// Whether fetching atomics are outstanding that were not bypassed, or at a target that was not accessed.
    bool any_fetches() const noexcept {
        return fetching_ != 0 || has(bypassed_at_others(), Bypassed::fetches);
    }

    /// Operations of these kinds were bypassed.
    void mark_bypassed(Rank target, Bypassed kinds) noexcept {
        TargetOperations& o = of(target);
        list(target, o);
        o.bypassed = o.bypassed | kinds;
    }
    /// They were bypassed at any of the targets.
    void mark_all_bypassed(Bypassed kinds) noexcept {
        for (const Rank target : targets_.accessed())
            mark_bypassed(target, kinds);
        mark_others_bypassed(kinds);
    }
    /// The same for those that were not accessed.
    void mark_others_bypassed(Bypassed kinds) noexcept {
        TargetOperations& others = targets_.others().operations;
        others.bypassed = others.bypassed | kinds;
    }
    /// The target has what the others had until now.
    void accessed_first(Rank target) noexcept {
        if (at(target).bypassed != Bypassed::nothing) list(target);
    }
    /// From now on operations are counted one by one. \return the kinds that may be outstanding
    Bypassed take_bypassed(Rank target) noexcept {
        return std::exchange(of(target).bypassed, Bypassed::nothing);
    }
    /// From now on what is outstanding is known by its kinds alone.
    void count_by_kind(Rank target) noexcept;

    /// What was started until then is complete.
    void complete(Rank target, Moment since, FlushKind kind) noexcept {
        TargetOperations& o = of(target);
        o.gets.complete(since);
        o.local_updates.complete(since);
        if (kind == FlushKind::full) o.updates.complete(since);
    }
    /// Fetching atomics are complete: the program may know what they brought. Acquires.
    void complete_fetches(Rank target, Moment since) noexcept {
        TargetOperations& o = of(target);
        if (!o.fetches.outstanding()) return;
        acquires_.acquire("a fetching atomic");
        o.fetches.complete(since);
        if (!o.fetches.outstanding()) --fetching_;
    }
    /// A call that completes what was bypassed has returned. An atomic may synchronise even if it failed:
    /// acquires.
    void complete_bypassed(Rank target, FlushKind kind, int status) noexcept {
        complete_bypassed(of(target), kind, status);
    }
    /// The same for all that were not accessed.
    void complete_bypassed_others(FlushKind kind, int status) noexcept {
        complete_bypassed(targets_.others().operations, kind, status);
    }
    /// Idle targets leave the list, but for those that `stays(target)` is true of.
    template <class Stays>
    void forget_idle(const Stays& stays) noexcept {
        std::erase_if(listed_, [&](Rank target) {
            TargetOperations& o = of(target);
            o.listed = stays(target) || !o.idle(FlushKind::local) || !o.idle(FlushKind::full);
            return !o.listed;
        });
    }

  private:
    Bypassed bypassed_at_others() const noexcept {
        return targets_.has_others() ? targets_.others().operations.bypassed : Bypassed::nothing;
    }
    TargetOperations& of(Rank target) noexcept { return targets_.make(target).operations; }
    void complete_bypassed(TargetOperations& o, FlushKind kind, int status) noexcept {
        if (has(o.bypassed, Bypassed::fetches)) [[unlikely]] {
            acquires_.acquire("a fetching atomic");
            o.bypassed = o.bypassed & ~Bypassed::fetches;
        }
        if (status == 0)
            o.bypassed = kind == FlushKind::full ? Bypassed::nothing : o.bypassed & Bypassed::updates;
    }
    void list(Rank target, TargetOperations& o) noexcept {
        if (o.listed) [[likely]]
            return;
        o.listed = true;
        listed_.push_back(target);  // there is room for each target that was accessed
    }
    void start(Rank target, TargetOperations& o, Operations& kind) noexcept {
        kind.started = ++issued_;
        epochs_.accessed();
        list(target, o);
    }

    TargetTable& targets_;
    std::vector<Rank> listed_;
    std::uint64_t issued_ = 0;
    Rank fetching_ = 0;  ///< targets with fetching atomics outstanding that were not bypassed
    EpochTracker& epochs_;
    Acquires& acquires_;
};

}  // namespace nearfetch

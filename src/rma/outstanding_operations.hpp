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

namespace nearfetch {

/// Sequence numbers of the last operation started and of the last one known to be complete.
struct Operations {
    std::uint64_t started = 0;
    std::uint64_t done = 0;
    bool outstanding() const noexcept { return started > done; }
    void complete(Moment since) noexcept { done = std::max(done, since); }
};

/// Kinds of operations that were bypassed, and may be outstanding.
enum class Bypassed : std::uint8_t { nothing = 0, gets = 1, updates = 2, fetches = 4 };
constexpr Bypassed operator|(Bypassed a, Bypassed b) noexcept {
    return static_cast<Bypassed>(static_cast<unsigned>(a) | static_cast<unsigned>(b));
}
constexpr Bypassed operator&(Bypassed a, Bypassed b) noexcept {
    return static_cast<Bypassed>(static_cast<unsigned>(a) & static_cast<unsigned>(b));
}
constexpr Bypassed operator~(Bypassed a) noexcept {
    return static_cast<Bypassed>(~static_cast<unsigned>(a) & 7u);
}
constexpr bool has(Bypassed some, Bypassed kind) noexcept { return (some & kind) != Bypassed::nothing; }

/// Those at one target.
struct TargetOperations {
    bool listed = false;                    ///< among those that may have something outstanding
    Bypassed bypassed = Bypassed::nothing;  ///< since the call that completed all of it
    Operations gets;
    Operations updates;        ///< until they are complete at the target
    Operations local_updates;  ///< until they are complete here
    Operations fetches;        ///< fetching atomics
    ByteRange updating;        ///< spans the updates that are not complete at the target

    /// Nothing is outstanding that a flush would complete.
    bool idle(FlushKind kind) const noexcept {
        return bypassed == Bypassed::nothing && !gets.outstanding() &&
               !(kind == FlushKind::local ? local_updates : updates).outstanding();
    }
    bool update_under_way() const noexcept {
        return updates.outstanding() || has(bypassed, Bypassed::updates);
    }
    /// Whether an update that is not complete may overlap these bytes.
    bool may_overlap_update(ByteRange range) const noexcept {
        return update_under_way() && updating.overlaps(range);
    }
};

class OutstandingOperations {
  public:
    /// \param epochs told of each operation that the library sees \param acquires of the process
    OutstandingOperations(Rank ranks, EpochTracker& epochs, Acquires& acquires)
        : of_(static_cast<std::size_t>(ranks)), epochs_(epochs), acquires_(acquires) {
        listed_.reserve(of_.size());
    }

    Moment now() const noexcept { return issued_; }
    const TargetOperations& at(Rank target) const noexcept { return of_[static_cast<std::size_t>(target)]; }
    /// Targets that may have something outstanding; all others have nothing.
    std::span<const Rank> targets() const noexcept { return listed_; }
    void list(Rank target) noexcept {
        bool& listed = of(target).listed;
        if (listed) [[likely]]
            return;
        listed = true;
        listed_.push_back(target);  // the constructor reserved a place for each target
    }

    void start_get(Rank target) noexcept { start(target, of(target).gets); }
    /// \param runs none: it changes nothing \param combined its origin may be used again already
    void start_update(Rank target, std::span<const ByteRun> runs, bool combined = false) noexcept;
    /// The update that was started just now is a fetching atomic: its completion has to be seen.
    void start_fetch(Rank target) noexcept {
        TargetOperations& o = of(target);
        if (!o.fetches.outstanding()) ++fetching_;
        o.fetches.started = issued_;
    }
    /// Whether fetching atomics are outstanding that were not bypassed.
    bool any_fetches() const noexcept { return fetching_ != 0; }

    /// Operations of these kinds were bypassed.
    void mark_bypassed(Rank target, Bypassed kinds) noexcept {
        list(target);
        of(target).bypassed = of(target).bypassed | kinds;
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
        TargetOperations& o = of(target);
        if (has(o.bypassed, Bypassed::fetches)) [[unlikely]] {
            acquires_.acquire("a fetching atomic");
            o.bypassed = o.bypassed & ~Bypassed::fetches;
        }
        if (status == 0)
            o.bypassed = kind == FlushKind::full ? Bypassed::nothing : o.bypassed & Bypassed::updates;
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
    TargetOperations& of(Rank target) noexcept { return of_[static_cast<std::size_t>(target)]; }
    void start(Rank target, Operations& operations) noexcept {
        operations.started = ++issued_;
        epochs_.accessed();
        list(target);
    }

    std::vector<TargetOperations> of_;
    std::vector<Rank> listed_;
    std::uint64_t issued_ = 0;
    Rank fetching_ = 0;  ///< targets with fetching atomics outstanding that were not bypassed
    EpochTracker& epochs_;
    Acquires& acquires_;
};

}  // namespace nearfetch

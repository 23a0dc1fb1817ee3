// SPDX-License-Identifier: Apache-2.0
#pragma once

// The parts of a window, each with a state of its own, that the paths through it share.
//
// Threads. If `threaded`, whoever calls a part holds the mutex, but not while the network is called: such a
// call may block until another thread of this process has made a call of its own.

#include <memory>
#include <mutex>
#include <span>
#include <utility>

#include "base/finally.hpp"
#include "base/settings.hpp"
#include "base/types.hpp"
#include "cache/counters/range_cache_counters.hpp"
#include "policy/doorkeeper.hpp"
#include "rma/epoch_tracker.hpp"
#include "rma/fetch_table.hpp"
#include "rma/freshness.hpp"
#include "rma/front_end.hpp"
#include "rma/get_profile.hpp"
#include "rma/hit_validator.hpp"
#include "rma/lazy_range_cache.hpp"
#include "rma/leased_epoch.hpp"
#include "rma/leases.hpp"
#include "rma/outstanding_operations.hpp"
#include "rma/overlapping_origins.hpp"
#include "rma/process_state.hpp"
#include "rma/progress_timer.hpp"
#include "rma/target_table.hpp"
#include "rma/write_combiner.hpp"
#include "transport/window_transfers.hpp"

namespace nearfetch {

using Guard = std::unique_lock<std::mutex>;

/// Makes a call of the network without the mutex, if it is held.
template <class Call>
int without_mutex(Guard& guard, const Call& call) {
    if (!guard.owns_lock()) return call();
    guard.unlock();
    const auto lock_again = [&guard] { guard.lock(); };
    const Finally finally(lock_again);
    return call();
}

/// All bytes of a target, for operations of which it is not known which they mean.
inline constexpr ByteRun whole_target{0, ~std::uint64_t{0}, nullptr};

/// What locks are in a window's mode, by its setting.
enum class LockRule : std::uint8_t {
    acquires,  ///< each is an acquire
    leased,    ///< shared ones are none under a lease
    kept,      ///< acquires for other windows; here nothing is forgotten, so that they may be kept back
    promised,  ///< they are no acquires, and may be kept back
};

struct WindowState {
    WindowState(const Settings& settings, Rank ranks, Rank self, bool threaded, ProcessState& process,
                WindowTransfers& transfers, WindowListener& listener);

    Guard lock() const noexcept { return threaded ? Guard(mutex) : Guard(); }
    /// The target is accessed.
    Target& at(Rank target) noexcept { return targets.make(target).target; }
    /// What is known of it, or of all that were not accessed.
    const Target& known(Rank target) const noexcept { return targets.at(target).target; }
    /// Of bytes of a target that is accessed for the first time.
    Delivery first_delivery(Rank target) const noexcept {
        return targets.memory_of(target).is_on_this_node ? Delivery::unknown : Delivery::later;
    }

    /// What locks are, after settings have changed, or leases were opened.
    void update_lock_rule() noexcept;

    bool is_off() const noexcept { return settings.mode == Mode::off; }
    bool is_acquire_mode() const noexcept { return settings.mode == Mode::acquire; }
    /// Whether the mode lets data outlive its epoch.
    bool keeps_data() const noexcept { return !is_off() && settings.mode != Mode::transparent; }

    /// Something waits for a completion beside the program.
    bool in_transit(Rank target) const noexcept {
        return fetches.in_transit(target) || validator.has_checks(target);
    }
    /// Whether puts are combined for that target (for all_targets: for any).
    bool holds_combined(Rank target) const noexcept {
        return combiner != nullptr &&
               (target == all_targets ? combiner->combined().any() : combiner->combined().any(target));
    }
    /// Whether a get of these bytes that is started now may be kept: no update of them is under way.
    bool may_keep(Rank target, ByteRange range) const noexcept {
        return keeps_data() && !operations.at(target).may_overlap_update(range);
    }
    /// Whether what other processes of the node have fetched may serve the get that is made. What is polled
    /// has to come from the target, and what this process is writing there nobody else has.
    bool may_be_near(Rank target) const noexcept {
        return cache.node().is_used(target) && keeps_data() && !freshness.is_poll() &&
               !operations.at(target).update_under_way();
    }
    /// Copies bytes that a get wants, if another process of the node has fetched them. A get that nothing
    /// else of the window is on its way with waits for those that are being fetched. \pre may_be_near()
    bool take_near(const Get& get, ByteRange range, NodeLevel::Fetched how, std::byte* to) noexcept {
        NodeLevel& node = cache.node();
        if (node.find(get.target, range, how, to)) return true;
        if (get.request != 0) return false;
        const NodeTime until =
            node.may_wait_until(get.target, range, how, at(get.target).network_ns(get.size_bytes));
        return until != 0 && operations.are_idle(FlushKind::full) &&
               node.wait_for(get.target, range, how, to, until, transfers);
    }
    /// Until it is complete, a get of the same bytes may bring what was there before it.
    void update_started(Rank target, std::span<const ByteRun> runs, bool combined = false) noexcept {
        if (validator.has_checks(target)) [[unlikely]]
            for (const ByteRun& run : runs)
                validator.overwritten(target, run.range());
        if (!runs.empty()) announce_update(target);
        operations.start_update(target, runs, combined);
    }
    /// Under a shared lock others may cache what it changes. What others of this node have fetched lacks it.
    void announce_update(Rank target) noexcept {
        cache.node().acquire_target(target);
        if (epochs.may_flush(target)) leases.announce_update(target);
    }
    /// A get has been started. How long it takes is known if it is alone on its way.
    /// \param size_bytes 0 if nobody is to know
    void get_started(Rank target, std::uint64_t size_bytes, std::uint64_t call_ticks) noexcept;
    void count(Rank target, AccessType type, std::uint64_t size_bytes, std::uint64_t network_bytes) noexcept {
        counters.count(type);
        ++at(target).other_gets;
        counters.bytes_from_network += network_bytes;
        counters.bytes_from_cache += size_bytes - network_bytes;
    }

    /// For a report: a get goes to the network, and what becomes of its bytes. \param fetched what it brings
    void profile_get(Rank target, ByteRange asked, ByteRange fetched, Fate fate) noexcept {
        if (profile != nullptr) [[unlikely]]
            record_in_profile(target, asked, fetched, fate);
    }

    /// Adds what was counted up to now to the profile's timeline, if that is due. \pre there is a profile
    void note_time(bool is_end = false) noexcept;
    /// All counters up to now, but those of targets and times.
    RangeCacheCounters totals() const noexcept;

    ProcessState& process;
    const Rank self;
    const bool threaded;
    TargetTable targets;
    LazyRangeCache cache;
    EpochTracker epochs;
    Leases leases;
    LeasedEpoch leased;
    Freshness freshness;
    OutstandingOperations operations;
    FetchTable fetches;
    OverlappingOrigins origins;
    std::unique_ptr<WriteCombiner> combiner;  ///< null until a put is combined
    HitValidator validator;
    ProgressTimer progress_timer;
    Doorkeeper doorkeeper;  ///< ranges, and (by their complement) blocks, that were asked for once
    LockRule lock_rule = LockRule::acquires;
    RangeCacheCounters counters{};        ///< `flushes` are those that were not elided
    std::unique_ptr<GetProfile> profile;  ///< null unless a report was asked for
    Settings settings;
    WindowTransfers& transfers;
    WindowListener& listener;
    mutable std::mutex mutex;

  private:
    void record_in_profile(Rank target, ByteRange asked, ByteRange fetched, Fate fate) noexcept;
};

}  // namespace nearfetch

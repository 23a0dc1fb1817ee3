// SPDX-License-Identifier: Apache-2.0
#pragma once

// A window seen from one rank, with its cache: moves the bytes that the cache asks for.
//
// The life of a get. find() serves a get from one entry: a lookup and a copy. Everything else is get(): a
// lookup plan splits the range, the gaps are started on the network, and only then, while they travel, the
// resident parts are copied, room is made and the gaps become PENDING entries. What is PENDING stays so until
// the transfer has really completed for that target; then complete() copies the program's buffer into the
// cache. A second get of bytes in flight becomes a waiter: it is copied from the first one's buffer at that
// same moment, the only one at which both buffers are known to be valid (001, section III-B).
//
// What completes a transfer is the front end's knowledge (flush, unlock, fence, a request that was waited
// for); it says so by complete() or complete_request(). What forgets data is the window's mode: in
// transparent mode each of these calls is an acquire. In mode acquire the process acquires (acquires.hpp),
// and the window catches up with it at the next get.
//
// The life of a put. A small one is combined (write_combiner.hpp) and counts as an update that is
// outstanding, so that flushes of it enter the library and gets may not keep what it overlaps. Before the
// library is told to complete updates, or starts what has to come after a put, the front end calls
// send_combined().
//
// Operations on untried and bypassed targets take a short path that only marks them as outstanding
// (bypass.cpp).
//
// Threads. If `threaded`, every member takes the window's mutex, and no network call is made under it: such a
// call may block until another thread of this process has made a call of its own.

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "base/copy.hpp"
#include "base/finally.hpp"
#include "base/settings.hpp"
#include "base/types.hpp"
#include "cache/counters/range_cache_counters.hpp"
#include "cache/range_cache/range_cache.hpp"
#include "policy/doorkeeper.hpp"
#include "policy/hit_benefit.hpp"
#include "rma/acquires.hpp"
#include "rma/decisions.hpp"
#include "rma/delivery.hpp"
#include "rma/epoch_tracker.hpp"
#include "rma/front_end.hpp"
#include "rma/hit_validator.hpp"
#include "rma/polls.hpp"
#include "rma/progress_timer.hpp"
#include "rma/target.hpp"
#include "rma/write_combiner.hpp"
#include "transport/window_transfers.hpp"

namespace nearfetch {

class WindowCache {
  public:
    /// \param ranks size of the window's group
    /// \param self this process in it; its own gets are never cached, it sees no stores of its own program
    /// \param transfers of the same window; outlives this
    WindowCache(const Settings& settings, Rank ranks, Rank self, bool threaded, WindowTransfers& transfers);
    ~WindowCache();
    WindowCache(const WindowCache&) = delete;
    WindowCache& operator=(const WindowCache&) = delete;

    Rank ranks() const noexcept { return ranks_; }
    const Settings& settings() const noexcept { return settings_; }

    /// If the target's breaker is open: counts a get, which goes to the library as it is. False for the get
    /// that ends the backoff, or is the first one of its target.
    bool try_bypass(Rank target, std::uint64_t size) noexcept {
        const Guard guard = lock();
        return bypass_get(target, size);
    }
    /// The library has started a get with a request, in runs whose origins lie in there: they may come
    /// later than the request says.
    void note_late(Rank target, const ByteRun& origins) noexcept;
    /// The library has started a get that was bypassed, also because the mode is off: it may be a poll.
    void record_bypassed_get(const RangeGet& get) noexcept;
    /// The fast path of a contiguous get: where its bytes are, or null: then try_get(). A hit has been
    /// counted.
    [[gnu::always_inline]] const std::byte* find(const RangeGet& get) noexcept;
    /// Any contiguous get. After a hit its bytes are there.
    Served try_get(const RangeGet& get) noexcept;

    /// After a hit: whether it is to be checked (hit_validator.hpp).
    bool check_is_due() noexcept;
    /// Fetches a hit again; what does not work out is left.
    void check(Rank target, std::uint64_t offset, std::span<const std::byte> served,
               std::span<void* const> call_site);
    /// Who is told of stale hits.
    void set_stale_reporter(std::function<void(const StaleHit&)> reporter) {
        report_stale_ = std::move(reporter);
    }

    /// Any get: from the cache what is there, from the network what is not.
    /// \return the starter's status, or 0 if nothing had to be started
    int get(const Get& get, GetStarter& starter, Begun& begun);
    /// Who is told that a request is complete that was Begun::waiting.
    void set_arrival_reporter(std::function<void(RequestId)> reporter) {
        report_arrival_ = std::move(reporter);
    }

    /// More runs than these are many: to keep them takes as long as some gets do.
    static constexpr std::uint64_t few_runs = 16;
    /// Whether a get in many runs is worth a lookup of each: it was asked for before, and what it
    /// brought then would still be fresh.
    /// \param what names its bytes
    bool asked_again(Rank target, std::uint64_t what) noexcept;
    /// Whether a hit in so many runs takes less than the network.
    bool runs_pay(Rank target, std::uint64_t runs, std::uint64_t size_bytes) const noexcept;
    /// A get whose runs are not looked up went to the network.
    /// \param origins spans where its bytes go
    /// \param call_ticks what the library's call took
    void record_uncached_get(const RangeGet& get, const ByteRun& origins, std::uint64_t call_ticks) noexcept;

    /// The first so many gets of each target are bypassed, because the program's windows are short-lived.
    void postpone_caching(std::uint64_t gets) noexcept;
    /// Gets of each target that it was used for, if caching has gained nothing by them; a large number if it
    /// has, or may have.
    std::uint64_t gets_without_gain() const noexcept;

    /// Says what memory each rank exposes. Without this nothing is read ahead.
    void describe_memory(std::span<const TargetMemory> of_each) noexcept;

    /// Asks for a range ahead of its use; the transfer goes straight into the cache.
    int prefetch(Rank target, ByteRange range);

    /// The fast path of a put in one run: true if it has been combined, to be sent later.
    bool try_combine(Rank target, std::uint64_t offset, std::uint64_t size, const void* origin) noexcept;
    /// The fast path of an accumulate or atomic of a bypassed target.
    /// \param fetches its result may synchronise
    /// \return true if it has been counted, and goes to the library as it is
    bool bypass_update(Rank target, bool fetches = false) noexcept;
    /// The same for a put.
    bool bypass_put(Rank target) noexcept;
    /// Any put: combined, or started.
    /// \param may_wait it may be combined
    /// \param started if not null: whether the starter was called
    /// \return the starter's status, or that of earlier puts that made room by leaving
    int put(Rank target, std::span<const ByteRun> runs, PutStarter& starter, bool may_wait,
            bool* started = nullptr);
    static constexpr Rank all_targets = -1;
    /// Whether puts are combined for that target (for all_targets: for any).
    bool has_combined(Rank target) const noexcept {
        const Guard guard = lock();
        return holds_combined(target);
    }
    /// Sends these puts. \return the first status that is not 0: puts that are not done
    int send_combined(Rank target);
    /// An accumulate was started, or a put of unknown layout: what it overlaps is forgotten. No runs: all
    /// of the target.
    /// \param fetches it brings back what was there: an acquire when it is complete
    void forget(Rank target, std::span<const ByteRun> runs, bool fetches = false) noexcept;
    /// An atomic that only reads was started.
    void count_read(Rank target, bool fetches = false) noexcept;
    /// Whether completions have to be seen even if the mode is off: of fetching atomics that were not
    /// bypassed, or of what was in flight when it was switched off.
    bool must_see_completions() const noexcept;
    /// Whether a completion may be of a get that is a poll, or that has origins in use.
    bool gets_under_way() const noexcept;

    Moment now() const noexcept {
        const Guard guard = lock();
        return issued_;
    }

    /// Counts a flush of `target` (of all targets) and says whether it has to enter the library.
    Flush flush(Rank target, FlushKind kind) noexcept;
    /// The fast path of a flush. After `bypass`, bypass_flush(); after `miss`, flush().
    Served try_flush(Rank target, FlushKind kind) noexcept;
    /// A flush of a bypassed target. \return the library's status
    template <class Call>
    int bypass_flush(Rank target, FlushKind kind, const Call& library_call) {
        return and_then(library_call, [=, this](int status) { complete_bypassed(target, kind, status); });
    }
    /// After Flush::needed_bypassed.
    void complete_bypassed_flush(Rank target, Moment since, FlushKind kind) noexcept;
    Flush flush_all(FlushKind kind) noexcept;

    /// The library has completed at `target` (everywhere) what had been started until `since`.
    /// \param status other than 0: it failed, nothing of it will be cached, and a later call may complete it
    /// \param network_ticks what the call took
    void complete(Rank target, Moment since, FlushKind kind, int status,
                  std::uint64_t network_ticks) noexcept;
    void complete_all(Moment since, FlushKind kind, int status, std::uint64_t network_ticks) noexcept;

    /// The fast path of complete_all(): whether all that may be outstanding was bypassed.
    bool all_are_bypassed() const noexcept {
        if (threaded_ || holds_combined(all_targets)) return false;
        return std::ranges::all_of(active_, [this](Rank target) { return is_bypassed(target); });
    }
    /// \pre all_are_bypassed() before the library was called
    void complete_all_bypassed(FlushKind kind, int status) noexcept {
        for (const Rank target : active_)
            complete_bypassed(target, kind, status);
        polls_.completed();
        if (!progress_.step_unless_due()) [[unlikely]]
            lived_on_hits();
    }

    /// A request-based get has completed, and was waited for so long; `keep` false: its request was freed, so
    /// that only a flush completes it.
    void complete_request(Rank target, RequestId request, bool keep,
                          std::uint64_t network_ticks = 0) noexcept;
    /// The request of a get that was bypassed, or of another transfer, has completed.
    void bypassed_request_completed(RequestId request) noexcept;
    /// A request-based get that has completed, nobody knows when: what came to the program's buffer is not
    /// kept.
    void abandon_request(Rank target, RequestId request) noexcept;

    /// Later gets may not use what was cached earlier.
    void acquire() noexcept;

    /// Opens and closes epochs.
    template <class Change>
    void change_epochs(const Change& change) noexcept {
        const Guard guard = lock();
        change(epochs_);
    }

    /// Counts a lock of `target`. \param may_wait the front end can keep it back, and the program's promise
    /// allows it
    /// \return true if it should, because what follows may hit: then the epoch is open
    bool lock_may_wait(Rank target, bool may_wait) noexcept;
    /// The end of the epoch of a lock that was kept back until then. \return true if it is time to serve
    /// others
    bool elide_lock(Rank target) noexcept;

    bool is_bypassed(Rank target) const noexcept { return at(target).route == Route::bypass; }
    /// The fast paths of both, where locks are not kept back.
    bool is_lock_quick(Rank target) const noexcept { return at(target).route != Route::slow; }
    bool is_unlock_quick(Rank target) const noexcept { return is_bypassed(target); }
    void record_lock(Rank target) noexcept {
        ++counters_.locks;
        epochs_.set(target, Epoch::passive);
    }
    void record_unlock(Rank target, int status) noexcept {
        complete_bypassed(target, FlushKind::full, status);
        polls_.completed();
        if (status == 0) epochs_.set(target, Epoch::none);
    }

    /// How many calls may go straight to the library before a target's backoff is over; nothing unless all
    /// targets are bypassed, or the mode is off.
    std::optional<std::uint64_t> passthrough_budget() const noexcept;
    /// So many calls went straight to the library, of whatever kind and target.
    void after_passthrough(std::uint64_t calls) noexcept;

    /// The program reaches all of the window by loads and stores: that is bypassed as its own part is.
    void keep_off() noexcept;

    /// Takes over settings that change while the window lives; what is cached is forgotten.
    void change_settings(const Settings& settings);
    void set_score(std::function<double(Rank, std::uint64_t, std::uint64_t)> score);
    /// All counters up to now.
    RangeCacheCounters counters() const;
    /// What was decided for the targets that were used.
    std::vector<Decision> decisions() const;
    /// A request-based get was served, and is complete. \return true if it is time to serve others
    bool request_served() noexcept;
    /// The same of a request-based put that waits.
    bool put_waits() noexcept;
    /// It was time, and the library was entered: as ProgressTimer has it.
    bool entered_for_others(std::uint64_t entry_ticks) noexcept;
    void found_nothing(std::uint64_t entry_ticks) noexcept;

  private:
    static constexpr std::uint64_t not_started = ~std::uint64_t{0};
    static constexpr std::array<ByteRun, 1> everything{{{0, ~std::uint64_t{0}, nullptr}}};
    static constexpr std::uint64_t most_united = 2;  ///< times a get's size, for entries that it joins
    struct LookupPlan;                               ///< what is there of a get, and what is not

    using Guard = std::unique_lock<std::mutex>;
    using SendGuard = std::unique_lock<std::recursive_mutex>;
    Guard lock() const noexcept { return threaded_ ? Guard(mutex_) : Guard(); }
    Target& at(Rank target) noexcept { return targets_[static_cast<std::size_t>(target)]; }
    const Target& at(Rank target) const noexcept { return targets_[static_cast<std::size_t>(target)]; }

    Rank rank_of(const Target& t) const noexcept { return static_cast<Rank>(&t - targets_.data()); }
    void set_route(Target& t) noexcept;
    bool untrack(Target& t) noexcept;
    void resume(Rank target) noexcept;
    Served try_get_further(const RangeGet& get) noexcept;
    bool bypass_get(Rank target, std::uint64_t size) noexcept;
    /// Before a lookup in mode acquire: forgets what the process may have acquired since, or what it polls.
    void prepare(Rank target, std::span<const ByteRun> runs, std::uint64_t size) noexcept {
        // What is polled had been read before what was acquired since.
        if (polls_.again(target, runs.front().offset, size)) [[unlikely]]
            refresh(target, runs, size);
        if (seen_acquires_ != process_acquires()) [[unlikely]]
            catch_up();
    }
    void catch_up() noexcept;
    void refresh(Rank target, std::span<const ByteRun> runs, std::uint64_t size) noexcept;
    void note_poll(const RangeGet& get) noexcept;
    void last_get_started(const RangeGet& get, std::uint64_t in_one) noexcept;
    void last_get_started(const Get& get) noexcept;
    void last_get_completed(Rank target, Moment since, int status) noexcept {
        if (last_get_.under_way(target, since)) last_get_over(status);
    }
    void last_get_over(int status) noexcept;
    /// The library has completed what was bypassed.
    void complete_bypassed(Rank target, FlushKind kind, int status) noexcept {
        Target& t = at(target);
        t.complete_bypassed(kind, status);
        last_get_completed(target, issued_, status);
        if (status != 0 || t.late.none()) [[likely]]
            return;
        t.late = {};
        release_origins(t);
    }
    void last_get_lost() noexcept;
    bool probes_delivery(const Get& get) const noexcept;
    void note_delivery(Target& t) noexcept;
    void arrived_at_once(Target& t, Entry& entry) noexcept;
    bool lived_on_hits() noexcept;
    bool stayed_out() noexcept;
    void library_completed(bool gets) noexcept;
    /// A flush with nothing to complete.
    Flush elide() noexcept;
    bool usable(Rank target) noexcept;
    bool make_cache() noexcept;
    bool may_wait(const Get& get, const Entry& entry, const LookupPlan& s) const noexcept;
    void plan_lookup(const Get& get, LookupPlan& s) const;
    int fetch(const Get& get, GetStarter& starter, LookupPlan& s, Guard& guard, std::uint64_t begin_ticks);
    void join(Rank target, ByteRange united) noexcept;
    std::uint64_t block_of(const Target& t, std::uint64_t offset) const noexcept;
    bool may_read_ahead(const Target& t) const noexcept;
    Admission make_room_around(const Get& get, LookupPlan& s) noexcept;
    Admission make_room_for_request(const Get& get, LookupPlan& s) noexcept;
    template <class Start>
    int start_entry(Entry& entry, Guard& guard, const Start& start);
    bool note_flight(Entry& entry, RequestId request, std::span<const Waiter> waiting) noexcept;
    void forget_flight(Entry& entry) noexcept;
    int fetch_region(const Get& get, GetStarter& starter, const LookupPlan& s, const Admission& ahead,
                     Guard& guard, std::uint64_t begin_ticks);
    int fetch_uncached(const Get& get, GetStarter& starter, Guard& guard);
    int fetch_overlapping(const Get& get, GetStarter& starter, Guard& guard, std::uint64_t begin_ticks);
    AccessType admit(const Get& get, Target& t, const LookupPlan& s, Stamp stamp) noexcept;
    bool is_deferred(Rank target, const Target& t, const ByteRun& gap) noexcept;
    void count(AccessType type, std::uint64_t size_bytes, std::uint64_t network_bytes) noexcept;
    void started(Rank target, Target& t, Operations& operations) noexcept {
        operations.started = ++issued_;
        epochs_.accessed();
        list(target, t);
    }
    void list(Rank target, Target& t) noexcept {
        if (t.listed) [[likely]]
            return;
        t.listed = true;
        active_.push_back(target);  // the constructor reserved a place for each target
    }
    /// Notes an operation of a bypassed target. \return false if it is none
    bool note_bypassed(Rank target, Bypassed what) noexcept;
    /// A get has been started. How long it takes is known if it is alone on its way.
    /// \param size_bytes 0 if nobody is to know
    void sent(Rank target, Target& t, std::uint64_t size_bytes, std::uint64_t call_ticks) noexcept {
        t.lone_bytes = t.gets.outstanding() || t.bypassed != Bypassed::nothing ? 0 : size_bytes;
        t.lone_ticks = call_ticks;
        started(target, t, t.gets);
    }
    void update_started(Rank target, std::span<const ByteRun> runs, bool combined = false) noexcept;
    bool combinable(Rank target, const Target& t, std::span<const ByteRun> runs) const noexcept;
    bool combines(const Target& t) const noexcept;
    bool may_combine() const noexcept { return keeps_data_ && settings_.write_combining_bytes != 0; }
    static bool is_alone_put_timed(const Target& t) noexcept;
    bool make_write_combiner() noexcept;
    bool combine(Rank target, Target& t, std::span<const ByteRun> runs) noexcept;
    void note_put(Rank target, std::span<const ByteRun> runs, bool combined) noexcept;
    std::uint64_t puts() const noexcept { return counters_.puts + bypassed_updates_; }
    bool holds_combined(Rank target) const noexcept {
        return combiner_ != nullptr &&
               (target == all_targets ? combiner_->combined().any() : combiner_->combined().any(target));
    }
    int send_each_combined();
    bool read_combined(const Get& get, Guard& guard);
    int make_room(Guard& guard);
    int send(Rank target, std::span<const ByteRun> runs, Guard& guard);
    /// A fetching atomic was started: its completion has to be seen.
    void fetch_started(Target& t) noexcept;
    /// Fetching atomics are complete: the program may know what they brought.
    void fetches_completed(Target& t, Moment since) noexcept;
    bool may_keep(const Target& t, ByteRange range) const noexcept {
        return keeps_data_ && !(t.update_under_way() && t.updating.overlaps(range));
    }
    void complete_checks(Target& t, Moment since) noexcept;
    void complete_locked(Target& t, Moment since, FlushKind kind, int status,
                         std::uint64_t network_ticks) noexcept;
    void invalidate_in_flight(const Entry& entry) noexcept;
    bool is_origin_in_use(const std::byte* origin, std::uint64_t size) const noexcept;
    bool overlaps_origin(std::span<const ByteRun> runs) noexcept;
    bool overlaps_other_windows(const ByteRun& run) noexcept;
    bool invalidate_origin(const ByteRun& run) noexcept;
    void note_origins(Target& t, std::span<const ByteRun> runs) noexcept;
    void note_late(Target& t, std::span<const ByteRun> runs) noexcept;
    void release_origins(Target& t) noexcept;
    void release_origins() noexcept;
    void no_origins_in_use() noexcept;
    std::uint64_t serve(std::span<const Waiter> waiters) noexcept;
    void commit(Entry& entry) noexcept;
    void arrived(Target& t, Entry& entry) noexcept;
    std::uint64_t serve_waiters(Target& t, Moment since) noexcept;
    void retire_cache() noexcept;
    void open_all() noexcept;
    void hold_breakers() noexcept;
    void change_bypass(Bypass bypass) noexcept;
    void end_interval(Target& t) noexcept;

    Rank ranks_;
    Rank self_;
    bool threaded_;
    bool keeps_data_;       ///< the mode lets data outlive its epoch
    bool is_acquire_mode_;  ///< mode acquire
    bool kept_off_ = false;
    bool broken_ = false;      ///< no memory: the window goes on without a cache
    bool outdated_ = false;    ///< the cache was made under other settings: it goes when nothing is in flight
    bool winding_up_ = false;  ///< the mode is off, but something is in transit from before
    std::vector<Target> targets_;
    std::uint64_t elided_ = 0;  ///< flushes, by try_flush(), as those that follow
    std::uint64_t bypassed_flushes_ = 0;
    std::uint64_t bypassed_updates_ = 0;
    std::unique_ptr<RangeCache> cache_;
    std::uint64_t seen_acquires_;
    PollDetector polls_;
    LastGet last_get_;
    DeliveryProbe probe_;  ///< of the last get
    EpochTracker epochs_;
    ProgressTimer progress_;

    OriginsInUse origins_;
    std::unique_ptr<WriteCombiner> combiner_;
    std::vector<Rank> active_;  ///< targets that may have something outstanding
    std::uint64_t issued_ = 0;
    Rank fetching_ = 0;              ///< targets with fetching atomics outstanding that were not bypassed
    std::uint64_t puts_before_ = 0;  ///< the last invalidate
    RangeCacheCounters counters_{};
    StandstillDetector standstill_;
    mutable std::mutex mutex_;
    std::recursive_mutex send_mutex_;  ///< taken before mutex_; an error handler may put something, too
    WindowTransfers& transfers_;
    Settings settings_;
    std::function<double(Rank, std::uint64_t, std::uint64_t)> score_;
    HitBenefit benefit_;
    HitValidator validator_;
    std::function<void(const StaleHit&)> report_stale_;
    std::function<void(RequestId)> report_arrival_;
    Doorkeeper doorkeeper_;  ///< ranges, and (by their complement) blocks, that were asked for once
};

}  // namespace nearfetch

#include "rma/fast_path.hpp"  // what of it is inlined where calls arrive

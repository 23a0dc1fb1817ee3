// SPDX-License-Identifier: Apache-2.0

// What passes: which way a target's operations take, what is known of those that nobody looks at, and when a
// target that is left alone is looked at again.

#include <algorithm>
#include <utility>

#include "rma/window_cache.hpp"

namespace nearfetch {

namespace {

/// Of a hit in many runs each run is looked for by itself, and is mostly not in the entry used last.
constexpr double hits_per_run = 2;

}  // namespace

/// The hot path serves one thread, and targets that have a cache or want none.
void WindowCache::set_route(Target& t) noexcept {
    if (threaded_ || t.fetches.outstanding() || settings_.check_hits != 0)
        t.route = Route::slow;
    else if (t.bet.asleep() || t.bet.unread())
        t.route = untrack(t) ? Route::pass : Route::slow;
    else if (cache_ == nullptr || outdated_)
        t.route = Route::slow;
    else if (t.bet.watching())
        t.route = Route::watch;
    else
        t.route = learns_ ? Route::check : Route::look;
    if (!t.is_left_alone()) t.puts_to_pass = 0;
}

/// From now on what is under way of a target that wants no cache counts as passed; unless somebody waits for
/// it beside the program.
bool WindowCache::untrack(Target& t) noexcept {
    const Rank target = rank_of(t);
    if (t.in_transit() || (combiner_ != nullptr && combiner_->has(target))) return false;
    Passed passed = t.gets.outstanding() ? Passed::gets : Passed::nothing;
    if (t.updates.outstanding()) passed = passed | Passed::updates;
    if (passed == Passed::nothing) return true;
    t.complete(issued_, FlushKind::full);
    t.passed = t.passed | passed;
    list(target, t);
    return true;
}

bool WindowCache::note_passed(Rank target, Passed what) noexcept {
    Target& t = at(target);
    if (t.route != Route::pass) return false;
    note(target, t, what);
    return true;
}

void WindowCache::note(Rank target, Target& t, Passed what) noexcept {
    list(target, t);
    t.passed = t.passed | what;
    if (has(what, Passed::updates)) ++passed_updates_;
}

void WindowCache::wake(Rank target) noexcept {
    Target& t = at(target);
    if (t.bet.asleep() && cache_ != nullptr && t.updates_when_asleep != passed_updates_)
        cache_->acquire(target);
    t.bet.wake();
    t.settled_caught_up = caught_up_;
    // What has passed of late may be on its way.
    const Passed passed = std::exchange(t.passed, Passed::nothing);
    if (has(passed, Passed::gets)) started(target, t, t.gets);
    if (has(passed, Passed::updates)) update_started(target, everything);
    if (has(passed, Passed::fetches)) fetch_started(t);
    set_route(t);
}

/// While watching.
bool WindowCache::reuse_pays(const Target& t) noexcept {
    const std::uint64_t hits = t.hits - t.settled_hits;
    return !t.bet.is_held() && hits >= enough_hits && t.bet.hits_pay(hits, t.hit_bytes - t.settled_hit_bytes);
}

/// While watching: whether these bytes, or their block, were asked for before.
bool WindowCache::asked_before(const Target& t, Rank target, std::uint64_t offset) noexcept {
    const bool known = doorkeeper_.seen_before(target, offset);
    const bool known_block = may_read_ahead(t) && doorkeeper_.seen_before(target, ~block_of(t, offset));
    if (known || known_block) return true;
    ++counters_.deferred;
    return false;
}

/// The short way of what lets_pass() does then. What is asked for for the first time is not even looked up:
/// to find nothing takes longer than all else.
bool WindowCache::passes_watched(const RangeGet& get) noexcept {
    const auto& [target, offset, size, origin, request] = get;
    Target& t = at(target);
    if (is_origin_in_use(origin, size)) return false;
    if (t.route != Route::watch || holds_combined(target) || reuse_pays(t)) return false;
    if ((Doorkeeper::sampled(target, offset) && asked_before(t, target, offset)) || !t.bet.passes())
        return false;
    epochs_.accessed();
    list(target, t);
    t.lone_bytes = 0;
    t.get_passes(size);
    return true;
}

bool WindowCache::lets_pass(Rank target, std::uint64_t offset) noexcept {
    const Guard guard = lock();
    Target& t = at(target);
    if (cache_ == nullptr) return false;
    if (t.bet.caching())
        return settings_.bypass != Bypass::off && t.bet.lets_go_by() && !holds_combined(target);
    if (holds_combined(target)) return false;
    if ((t.bet.watching() && reuse_pays(t)) || !t.bet.passes()) {
        wake(target);
        return false;
    }
    if (t.bet.asleep() || unwatched(t, target, offset)) return true;
    return !asked_before(t, target, offset) || !t.bet.may_admit(t.passed_gets, t.hits);
}

void WindowCache::went_by(const RangeGet& get) noexcept {
    const Guard guard = lock();
    Target& t = at(get.target);
    const ByteRun run{0, get.size, get.origin};
    overlaps_origin(get.origin == nullptr ? std::span<const ByteRun>(everything) : std::span(&run, 1));
    ++t.passed_gets;
    t.passed_bytes += get.size;
    if (t.bet.caching()) t.bet.went_by();
    sent(get.target, t, 0, 0);
    note_poll(get);
}

bool WindowCache::asked_again(Rank target, std::uint64_t what) noexcept {
    if (settings_.bypass == Bypass::off) return true;
    const Guard guard = lock();
    const Stamp stamp = learns_ ? process_acquires() : cache_ != nullptr ? cache_->now() : 0;
    if (doorkeeper_.seen_before(target, what + stamp * 0xbf58476d1ce4e5b9ull)) return true;
    ++counters_.deferred;
    return false;
}

bool WindowCache::runs_pay(Rank target, std::uint64_t runs, std::uint64_t size_bytes) const noexcept {
    if (settings_.bypass == Bypass::off) return true;
    const Guard guard = lock();
    const double network = at(target).bet.network_ticks(size_bytes);
    return network == 0 || static_cast<double>(runs) * hits_per_run * hit_cost().hit_ticks < network;
}

void WindowCache::count_bypassed(const RangeGet& get, const ByteRun& origins,
                                 std::uint64_t call_ticks) noexcept {
    const Guard guard = lock();
    Target& t = at(get.target);
    overlaps_origin({&origins, 1});
    count(AccessType::bypassed, get.size, get.size);
    if (t.bet.caching()) t.bet.went_by();
    sent(get.target, t, get.size, call_ticks);
    if (get.request != 0) note_late(t, {&origins, 1});
    note_poll(get);
}

/// With the mode off, or if they are left alone, all targets are asleep for good, but for those that
/// something is on its way from.
void WindowCache::stand_back() noexcept {
    winding_up_ = false;
    for (Target& t : targets_) {
        if (t.in_transit())
            winding_up_ = true;
        else
            t.bet.give_up();
        set_route(t);
    }
}

/// Puts targets into the state in which the setting holds them.
void WindowCache::hold_targets() noexcept {
    for (Target& t : targets_) {
        if (!left_alone_ && rank_of(t) != self_) {
            if (settings_.bypass == Bypass::sampling) t.bet.hold_sampling();
            if (settings_.bypass >= Bypass::always) t.bet.give_up();
            t.updates_when_asleep = passed_updates_;
        }
        set_route(t);
    }
}

/// What is cached stays, and all that was outstanding.
void WindowCache::change_bypass(Bypass bypass) noexcept {
    settings_.bypass = bypass;
    if (settings_.mode == Mode::off) return;
    for (Rank target = 0; target < ranks(); ++target) {
        Target& t = at(target);
        if (target == self_ || left_alone_ || t.bet.unread()) continue;
        wake(target);
        t.bet = Bet();
        t.bet.wake();
    }
    hold_targets();
}

void WindowCache::leave_alone() noexcept {
    const Guard guard = lock();
    left_alone_ = true;
    stand_back();
}

void WindowCache::postpone_caching(std::uint64_t gets) noexcept {
    const Guard guard = lock();
    for (Target& t : targets_)
        if (t.bet.unread()) t.bet.postpone(gets);
}

std::uint64_t WindowCache::gets_without_gain() const noexcept {
    constexpr std::uint64_t gained = ~std::uint64_t{0};
    const Guard guard = lock();
    const RangeCacheCounters& c = counters_;
    if (c.hits + c.partial_hits + c.pending_hits + c.puts_combined != 0) return gained;
    std::uint64_t gets = c.gets, used = 0;
    for (const Target& t : targets_) {
        if (t.hits != 0) return gained;
        gets += t.passed_gets;
        used += t.passed_gets != 0 || t.gets.started != 0 ? 1 : 0;
    }
    return used == 0 ? 0 : (gets + used - 1) / used;
}

std::optional<Rest> WindowCache::rest() const noexcept {
    if (settings_.mode == Mode::off) return std::nullopt;
    Rest rest;
    rest.targets = targets_.size();
    rest.lock_is_open = epochs_.any_single();
    for (const Target& t : targets_) {
        if (t.route != Route::pass) return std::nullopt;
        if (!t.bet.pauses()) continue;
        rest.longest_get_ticks = std::max(rest.longest_get_ticks, t.bet.network_per_get_ticks());
        rest.ticks_to_next_look = std::min(rest.ticks_to_next_look, t.bet.pause_ticks());
    }
    if (settings_.bypass == Bypass::passthrough) rest.longest_get_ticks = 1;
    return rest;
}

void WindowCache::went_unseen(const Unseen& unseen) noexcept {
    constexpr std::uint64_t never = ~std::uint64_t{0};
    if (unseen.epochs) epochs_.changed_unseen();
    // Its end may have passed; and what has passed may have been polls: then all of it is an acquire.
    last_get_lost();
    for (Target& t : targets_) {
        list(rank_of(t), t);
        t.passed = t.passed | unseen.kinds();
        if (t.bet.pauses()) t.bet.shorten_pause(unseen.ticks, unseen.gets);
        t.puts_to_pass -= static_cast<std::uint32_t>(std::min<std::uint64_t>(t.puts_to_pass, unseen.updates));
        if (unseen.updates != 0) t.updates_when_asleep = never;
    }
}

}  // namespace nearfetch

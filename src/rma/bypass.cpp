// SPDX-License-Identifier: Apache-2.0

// Bypassed operations: how a target's operations are treated, what is known of those that are bypassed,
// and when a target's accesses go through the cache again.

#include <algorithm>
#include <utility>

#include "rma/window_cache.hpp"

namespace nearfetch {

namespace {

/// Of a hit in many runs each run is looked up by itself, and is mostly not in the most recently used entry.
constexpr double hits_per_run = 2;

}  // namespace

/// The fast path serves one thread, and targets that have a cache or want none.
void WindowCache::set_route(Target& t) noexcept {
    if (threaded_ || t.fetches.outstanding() || settings_.check_hits != 0)
        t.route = Route::slow;
    else if (t.breaker.is_open() || t.breaker.is_untried())
        t.route = untrack(t) ? Route::bypass : Route::slow;
    else if (cache_ == nullptr || outdated_)
        t.route = Route::slow;
    else
        t.route = is_acquire_mode_ ? Route::validate : Route::lookup;
}

/// From now on what is outstanding of a bypassed target is known by its kinds alone; unless somebody waits
/// for it beside the program.
bool WindowCache::untrack(Target& t) noexcept {
    const Rank target = rank_of(t);
    if (t.in_transit() || (combiner_ != nullptr && combiner_->has(target))) return false;
    Bypassed kinds = t.gets.outstanding() ? Bypassed::gets : Bypassed::nothing;
    if (t.updates.outstanding()) kinds = kinds | Bypassed::updates;
    if (kinds == Bypassed::nothing) return true;
    t.complete(issued_, FlushKind::full);
    t.bypassed = t.bypassed | kinds;
    list(target, t);
    return true;
}

bool WindowCache::note_bypassed(Rank target, Bypassed what) noexcept {
    Target& t = at(target);
    if (t.route != Route::bypass) return false;
    list(target, t);
    t.bypassed = t.bypassed | what;
    if (has(what, Bypassed::updates)) ++bypassed_updates_;
    return true;
}

void WindowCache::resume(Rank target) noexcept {
    Target& t = at(target);
    if (t.breaker.is_open() && cache_ != nullptr && t.updates_when_opened != bypassed_updates_)
        cache_->acquire(target);
    t.breaker.resume();
    // What was bypassed of late may be outstanding.
    const Bypassed kinds = std::exchange(t.bypassed, Bypassed::nothing);
    if (has(kinds, Bypassed::gets)) started(target, t, t.gets);
    if (has(kinds, Bypassed::updates)) update_started(target, everything);
    if (has(kinds, Bypassed::fetches)) fetch_started(t);
    set_route(t);
}

bool WindowCache::asked_again(Rank target, std::uint64_t what) noexcept {
    if (settings_.bypass == Bypass::off) return true;
    const Guard guard = lock();
    const Stamp stamp = is_acquire_mode_ ? process_acquires() : cache_ != nullptr ? cache_->now() : 0;
    if (doorkeeper_.seen_before(target, what + stamp * 0xbf58476d1ce4e5b9ull)) return true;
    ++counters_.deferred;
    return false;
}

bool WindowCache::runs_pay(Rank target, std::uint64_t runs, std::uint64_t size_bytes) const noexcept {
    if (settings_.bypass == Bypass::off) return true;
    const Guard guard = lock();
    const double network = at(target).cost.network_ticks(size_bytes);
    return network == 0 || static_cast<double>(runs) * hits_per_run * hit_cost().hit_ticks < network;
}

void WindowCache::record_uncached_get(const RangeGet& get, const ByteRun& origins,
                                      std::uint64_t call_ticks) noexcept {
    const Guard guard = lock();
    Target& t = at(get.target);
    overlaps_origin({&origins, 1});
    count(AccessType::bypassed, get.size, get.size);
    t.cost.record_bypassed();
    sent(get.target, t, get.size, call_ticks);
    if (get.request != 0) note_late(t, {&origins, 1});
    note_poll(get);
}

/// With the mode off, or where the window is kept off, all breakers are open for good, but for targets that
/// something is in flight from.
void WindowCache::open_all() noexcept {
    winding_up_ = false;
    for (Target& t : targets_) {
        if (t.in_transit())
            winding_up_ = true;
        else
            t.breaker.hold(CircuitBreaker::State::open);
        set_route(t);
    }
}

/// Puts breakers into the state in which the setting holds them.
void WindowCache::hold_breakers() noexcept {
    for (Target& t : targets_) {
        if (!kept_off_ && rank_of(t) != self_) {
            if (settings_.bypass == Bypass::sampling) t.breaker.hold(CircuitBreaker::State::half_open);
            if (settings_.bypass >= Bypass::always) t.breaker.hold(CircuitBreaker::State::open);
            t.updates_when_opened = bypassed_updates_;
        }
        set_route(t);
    }
}

/// What is cached stays, and all that is outstanding.
void WindowCache::change_bypass(Bypass bypass) noexcept {
    settings_.bypass = bypass;
    if (settings_.mode == Mode::off) return;
    for (Rank target = 0; target < ranks(); ++target) {
        Target& t = at(target);
        if (target == self_ || kept_off_ || t.breaker.is_untried()) continue;
        resume(target);
        t.breaker = {};
        t.breaker.resume();
    }
    hold_breakers();
}

void WindowCache::keep_off() noexcept {
    const Guard guard = lock();
    kept_off_ = true;
    open_all();
}

void WindowCache::postpone_caching(std::uint64_t gets) noexcept {
    const Guard guard = lock();
    for (Target& t : targets_)
        if (t.breaker.is_untried()) t.breaker.postpone(gets);
}

std::uint64_t WindowCache::gets_without_gain() const noexcept {
    constexpr std::uint64_t gained = ~std::uint64_t{0};
    const Guard guard = lock();
    const RangeCacheCounters& c = counters_;
    if (c.hits + c.partial_hits + c.pending_hits + c.puts_combined != 0) return gained;
    std::uint64_t gets = c.gets, used = 0;
    for (const Target& t : targets_) {
        if (t.hits != 0) return gained;
        gets += t.bypassed_gets;
        used += t.bypassed_gets != 0 || t.gets.started != 0 ? 1 : 0;
    }
    return used == 0 ? 0 : (gets + used - 1) / used;
}

std::optional<std::uint64_t> WindowCache::passthrough_budget() const noexcept {
    std::uint64_t least = ~std::uint64_t{0};
    if (settings_.mode == Mode::off) return winding_up_ ? std::nullopt : std::optional(least);
    bool any_open = settings_.bypass == Bypass::passthrough;
    for (const Target& t : targets_) {
        if (t.route != Route::bypass) return std::nullopt;
        if (!t.breaker.is_open() || t.breaker.is_held()) continue;
        any_open = true;
        least = std::min(least, t.breaker.remaining());
    }
    return any_open ? std::optional(least) : std::nullopt;
}

void WindowCache::after_passthrough(std::uint64_t calls) noexcept {
    // A completion may have been among them, and what it completed may have been a poll.
    last_get_lost();
    for (Target& t : targets_) {
        list(rank_of(t), t);
        if (settings_.mode == Mode::off) {
            // Else nobody would see when an atomic is complete.
            update_started(rank_of(t), {});
            fetch_started(t);
            continue;
        }
        t.bypassed = Bypassed::gets | Bypassed::updates | Bypassed::fetches;
        t.breaker.bypass(calls);
        t.put_breaker.bypass(calls);
        t.updates_when_opened = ~std::uint64_t{0};
    }
}

}  // namespace nearfetch

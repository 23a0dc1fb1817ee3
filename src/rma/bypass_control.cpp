// SPDX-License-Identifier: Apache-2.0
#include "rma/bypass_control.hpp"

#include <algorithm>

namespace nearfetch {

BypassControl::BypassControl(WindowState& state) : s_(state) {
    s_.at(s_.self).breaker.hold(CircuitBreaker::State::open);
    hold_breakers();
    if (s_.is_off()) open_all();
}

/// The fast path serves one thread, and targets that have a cache or want none.
Route BypassControl::route_of(const TargetState& state) const noexcept {
    if (s_.threaded || state.operations.fetches.outstanding() || s_.settings.check_hits != 0)
        return Route::slow;
    if (state.target.is_uncached()) return Route::bypass;
    if (!s_.cache || s_.cache.is_outdated()) return Route::slow;
    if (s_.is_acquire_mode()) return Route::validate;
    return s_.keeps_data() && s_.settings.read_ahead_bytes != 0 ? Route::catch_up : Route::lookup;
}

void BypassControl::update_route(Rank target) noexcept {
    TargetState& state = s_.targets.make(target);
    const Route route = route_of(state);
    state.target.route = route != Route::bypass || count_by_kind(target) ? route : Route::slow;
}

void BypassControl::update_routes() noexcept {
    for (const Rank target : s_.targets.accessed())
        update_route(target);
    TargetState& others = s_.targets.others();
    others.target.route = route_of(others);
}

/// Unless somebody waits for what is outstanding beside the program.
bool BypassControl::count_by_kind(Rank target) noexcept {
    if (s_.in_transit(target) || (s_.combiner != nullptr && s_.combiner->has(target))) return false;
    s_.operations.count_by_kind(target);
    return true;
}

bool BypassControl::may_use_cache(Rank target) noexcept {
    Target& t = s_.at(target);
    if (s_.is_off() || s_.cache.is_broken() || !s_.epochs.may_access(target)) return false;
    if (t.is_uncached()) {
        if (t.breaker.bypass()) return false;
        resume(target);
    }
    if (s_.cache.is_outdated()) retire_cache();
    if (!s_.cache) make_cache();
    update_route(target);
    return static_cast<bool>(s_.cache);
}

void BypassControl::make_cache() noexcept {
    const auto benefit = [this](Rank of, std::uint64_t size_bytes) {
        return benefit_.of(s_.at(of).cost, size_bytes);
    };
    if (s_.cache.make(s_.settings, s_.targets.ranks(), s_.process.memory, benefit, s_.listener))
        s_.doorkeeper.reset();
}

void BypassControl::resume(Rank target) noexcept {
    Target& t = s_.at(target);
    if (t.breaker.is_open() && t.updates_when_opened != s_.counters.puts) s_.cache.acquire(target);
    s_.freshness.resume(target);
    t.breaker.resume();
    // What was bypassed of late may be outstanding.
    const Bypassed kinds = s_.operations.take_bypassed(target);
    if (has(kinds, Bypassed::gets)) s_.operations.start_get(target);
    if (has(kinds, Bypassed::updates)) s_.update_started(target, {&whole_target, 1});
    if (has(kinds, Bypassed::fetches)) s_.operations.start_fetch(target);
    update_route(target);
}

void BypassControl::end_interval(Rank target) noexcept {
    Target& t = s_.at(target);
    const std::uint64_t hits = t.hits - t.interval_hits;
    if (s_.in_transit(target) || !t.cost.is_interval_over(hits)) return;
    const Balance balance = t.cost.end_interval(hits, t.hit_bytes - t.interval_hit_bytes);
    t.ended.add(balance);
    benefit_.record_interval(t.cost.network_per_get());
    const CircuitBreaker::State before = t.breaker.state();
    if (s_.settings.bypass == Bypass::on) t.breaker.record(balance);
    note_decision(before, t);
    t.interval_hits = t.hits;
    t.interval_hit_bytes = t.hit_bytes;
    update_route(target);
}

/// What the sample of one target has shown, those that are bypassed are tried for.
void BypassControl::note_decision(CircuitBreaker::State before, Target& t) noexcept {
    // From now on what this process puts there is bypassed.
    if (t.breaker.is_open()) t.updates_when_opened = s_.counters.puts;
    if (before != CircuitBreaker::State::half_open || t.breaker.state() != CircuitBreaker::State::closed)
        return;
    for (const Rank other : s_.targets.accessed())
        if (CircuitBreaker& breaker = s_.at(other).breaker; breaker.is_open() && !breaker.is_held()) {
            resume(other);
            breaker.follow(t.breaker);
        }
}

/// With the mode off, or where the window is kept off, all breakers are open for good, but for targets that
/// something is in flight from.
void BypassControl::open_all() noexcept {
    winding_up_ = false;
    for (const Rank target : s_.targets.accessed()) {
        if (s_.in_transit(target))
            winding_up_ = true;
        else
            s_.at(target).breaker.hold(CircuitBreaker::State::open);
    }
    s_.targets.others().target.breaker.hold(CircuitBreaker::State::open);
    update_routes();
}

/// Puts breakers into the state in which the setting holds them.
void BypassControl::hold_breakers() noexcept {
    const Bypass bypass = s_.settings.bypass;
    visit_cacheable([&](Target& t) {
        if (bypass == Bypass::sampling) t.breaker.hold(CircuitBreaker::State::half_open);
        if (bypass >= Bypass::always) t.breaker.hold(CircuitBreaker::State::open);
        t.updates_when_opened = s_.counters.puts;
    });
    update_routes();
}

/// All that may ever be cached, and what those have that were not accessed.
template <class Visit>
void BypassControl::visit_cacheable(const Visit& visit) noexcept {
    if (kept_off_) return;
    const TargetState& own = s_.targets.at(s_.self);
    s_.targets.visit_all([&](TargetState& state) {
        if (&state != &own) visit(state.target);
    });
}

/// What is cached stays, and all that is outstanding.
void BypassControl::change_bypass(Bypass bypass) noexcept {
    s_.settings.bypass = bypass;
    if (s_.is_off()) return;
    for (const Rank target : s_.targets.accessed()) {
        Target& t = s_.at(target);
        if (target == s_.self || kept_off_ || t.breaker.is_untried()) continue;
        resume(target);
        t.breaker = {};
        t.breaker.resume();
    }
    if (!kept_off_) s_.targets.others().target.breaker = {};
    hold_breakers();
}

void BypassControl::change_settings(const Settings& settings) noexcept {
    Settings only_bypass = s_.settings;
    only_bypass.bypass = settings.bypass;
    if (only_bypass == settings) return change_bypass(settings.bypass);
    // While the mode was off, operations were not counted; updates among them, unless nobody writes.
    const bool updated = s_.is_off() && settings.mode != Mode::always_cache;
    s_.settings = settings;
    s_.update_lock_rule();
    winding_up_ = false;
    s_.cache.outdate();
    s_.operations.mark_all_bypassed(updated ? Bypassed::gets | Bypassed::updates : Bypassed::gets);
    visit_cacheable([](Target& t) { t.breaker = t.put_breaker = {}; });
    hold_breakers();
    if (s_.is_off()) open_all();
}

/// Gives back a cache that was made under other settings, unless transfers still refer to it.
void BypassControl::retire_cache() noexcept {
    if (s_.fetches.any_in_transit()) return;
    s_.counters.add(s_.cache.retire());
    update_routes();
}

void BypassControl::keep_off() noexcept {
    const Guard guard = s_.lock();
    kept_off_ = true;
    open_all();
}

void BypassControl::postpone_caching(std::uint64_t gets) noexcept {
    const Guard guard = s_.lock();
    s_.targets.visit_all([=](TargetState& state) {
        if (state.target.breaker.is_untried()) state.target.breaker.postpone(gets);
    });
}

std::uint64_t BypassControl::gets_without_gain() const noexcept {
    constexpr std::uint64_t gained = ~std::uint64_t{0};
    const Guard guard = s_.lock();
    const RangeCacheCounters& c = s_.counters;
    if (c.hits + c.partial_hits + c.pending_hits + c.puts_combined != 0) return gained;
    std::uint64_t gets = c.gets, used = 0;
    for (const Rank target : s_.targets.accessed()) {
        const Target& t = s_.known(target);
        if (t.hits != 0) return gained;
        gets += t.bypassed_gets;
        used += t.bypassed_gets != 0 || s_.operations.at(target).gets.started != 0 ? 1 : 0;
    }
    return used == 0 ? 0 : (gets + used - 1) / used;
}

std::optional<std::uint64_t> BypassControl::passthrough_budget(std::uint64_t unread) const noexcept {
    std::uint64_t least = ~std::uint64_t{0};
    if (s_.is_off()) return winding_up_ ? std::nullopt : std::optional(least);
    if (s_.settings.bypass != Bypass::on && s_.settings.bypass != Bypass::passthrough) return std::nullopt;
    const bool all_are_bypassed = s_.targets.all_of([&](const TargetState& state) {
        const Target& t = state.target;
        if (t.route != Route::bypass) return false;
        if (t.breaker.is_open()) {
            least = std::min(least, t.breaker.remaining());
            return true;
        }
        if (t.put_breaker.is_open()) least = std::min(least, t.put_breaker.remaining());
        least = std::min(least, unread);
        return !t.combines_puts();
    });
    return all_are_bypassed ? std::optional(least) : std::nullopt;
}

/// Which targets the calls were of is not known.
void BypassControl::after_passthrough(std::uint64_t calls, Bypassed kinds) noexcept {
    if (s_.is_off()) {
        // Else nobody would see when an atomic is complete.
        for (const Rank target : s_.targets.accessed()) {
            s_.update_started(target, {});
            if (has(kinds, Bypassed::fetches)) fetch_started(target);
        }
        s_.operations.mark_others_bypassed(kinds);
        return;
    }
    s_.operations.mark_all_bypassed(kinds);
    if (has(kinds, Bypassed::updates)) {
        for (const Rank target : s_.targets.accessed())
            s_.leases.announce_update(target);
        s_.cache.node().acquire_targets();
    }
    s_.targets.visit_all([=](TargetState& state) {
        state.target.breaker.bypass(calls);
        state.target.put_breaker.bypass(calls);
        state.target.updates_when_opened = ~std::uint64_t{0};
    });
}

}  // namespace nearfetch

// SPDX-License-Identifier: Apache-2.0
#include "rma/completion_path.hpp"

#include <algorithm>
#include <utility>

#include "base/ticks.hpp"

namespace nearfetch {

bool CompletionPath::must_be_seen() const noexcept {
    const Guard guard = s_.lock();
    return s_.operations.any_fetches() || bypass_.is_winding_up();
}

bool CompletionPath::gets_under_way() const noexcept {
    const Guard guard = s_.lock();
    return s_.freshness.get_under_way() || s_.origins.any();
}

Flush CompletionPath::flush(Rank target, FlushKind kind) noexcept {
    const Guard guard = s_.lock();
    if (s_.is_off() || !s_.epochs.may_flush(target)) return enter(Flush::needed);
    const TargetOperations& operations = s_.operations.at(target);
    if (operations.idle(kind)) return elide();
    const bool caches_gets = !s_.at(target).breaker.is_open() && operations.gets.outstanding();
    return enter(caches_gets || s_.in_transit(target) ? Flush::needed : Flush::needed_bypassed);
}

Flush CompletionPath::flush_all(FlushKind kind) noexcept {
    const Guard guard = s_.lock();
    if (s_.is_off() || !s_.epochs.may_flush_all()) return enter(Flush::needed);
    return s_.operations.are_idle(kind) ? elide() : enter(Flush::needed);
}

/// A flush with nothing to complete.
Flush CompletionPath::elide() noexcept {
    ++s_.counters.flushes_elided;
    return progress_.lived_on_hits() ? Flush::elided_progress : Flush::elided;
}

void CompletionPath::complete(Rank target, Moment since, FlushKind kind, int status,
                              std::uint64_t network_ticks) noexcept {
    const Guard guard = s_.lock();
    if (!s_.keeps_data()) s_.cache.acquire(target);
    const bool gets = s_.operations.at(target).gets.outstanding();
    complete_locked(target, since, kind, status, network_ticks);
    s_.origins.release(target);
    library_completed(gets);
}

void CompletionPath::complete_all(Moment since, FlushKind kind, int status,
                                  std::uint64_t network_ticks) noexcept {
    const Guard guard = s_.lock();
    if (!s_.keeps_data()) s_.cache.acquire();
    const std::span<const Rank> targets = s_.operations.targets();
    const bool gets = std::ranges::any_of(
        targets, [this](Rank target) { return s_.operations.at(target).gets.outstanding(); });
    const std::uint64_t share = targets.empty() ? 0 : network_ticks / targets.size();
    for (const Rank target : targets)
        complete_locked(target, since, kind, status, share);
    s_.operations.complete_bypassed_others(kind, status);
    s_.operations.forget_idle([this](Rank target) { return bypass_.is_bypassed(target); });
    s_.origins.release_all();
    library_completed(gets);
}

/// The library has been entered to complete something. Where it was no get, the program may wait by hits all
/// the same.
void CompletionPath::library_completed(bool gets) noexcept {
    bypass_.wind_up();
    if (!gets) {
        progress_.lived_on_hits();
        return;
    }
    s_.freshness.completed();
    s_.progress_timer.entered();
}

void CompletionPath::complete_locked(Rank target, Moment since, FlushKind kind, int status,
                                     std::uint64_t network_ticks) noexcept {
    const std::uint64_t begin_ticks = ticks();
    Target& t = s_.at(target);
    s_.operations.complete_fetches(target, since);
    s_.operations.complete_bypassed(target, kind, status);
    const bool had_gets = s_.operations.at(target).gets.outstanding();
    const std::uint64_t lone_bytes = std::exchange(t.lone_bytes, 0);
    if (status != 0) {
        s_.fetches.fail(target, since);
        s_.freshness.complete(target, since, status);
        bypass_.update_route(target);
        return;
    }
    s_.operations.complete(target, since, kind);
    s_.origins.late_arrived(target);
    if (s_.freshness.has_come_late(target, since)) s_.fetches.learn_later(target);
    if (s_.combiner != nullptr) s_.combiner->completed(target, since);
    if (s_.validator.has_checks(target)) complete_checks(target, since);
    if (lone_bytes != 0) t.cost.record_lone_get(lone_bytes, t.lone_ticks + network_ticks);
    const std::size_t ranges = s_.fetches.ranges_in_transit(target);
    const FetchTable::Arrived arrived = s_.fetches.complete(target, since);
    s_.freshness.complete(target, since, 0);
    if (had_gets) {
        const std::uint64_t own_ticks = ticks() - begin_ticks;
        t.cost.record_completion(network_ticks, own_ticks, ranges - s_.fetches.ranges_in_transit(target),
                                 arrived.handed_out_bytes + arrived.copied_bytes);
        t.cost.record_copy(arrived.copied_bytes, own_ticks);
        bypass_.end_interval(target);
    }
    bypass_.update_route(target);
}

void CompletionPath::complete_bypassed_flush(Rank target, Moment since, FlushKind kind) noexcept {
    const Guard guard = s_.lock();
    if (!s_.keeps_data()) s_.cache.acquire(target);
    library_completed(s_.operations.at(target).gets.outstanding());
    s_.operations.complete_fetches(target, since);
    s_.operations.complete_bypassed(target, kind, 0);
    s_.freshness.complete(target, since, 0);
    Target& t = s_.at(target);
    t.lone_bytes = 0;  // how long it took is not known
    // Since flush() was asked, another thread may have started what waits for this completion.
    if (s_.in_transit(target))
        complete_locked(target, since, kind, 0, 0);
    else
        s_.operations.complete(target, since, kind);
    late_arrived(target);
    if (s_.combiner != nullptr) s_.combiner->completed(target, since);
    bypass_.update_route(target);
}

void CompletionPath::complete_all_bypassed(FlushKind kind, int status) noexcept {
    for (const Rank target : s_.operations.targets())
        complete_bypassed(target, kind, status);
    s_.operations.complete_bypassed_others(kind, status);
    s_.freshness.completed();
    if (!s_.progress_timer.step_unless_due()) [[unlikely]]
        progress_.lived_on_hits();
}

/// What could come until a flush is there.
void CompletionPath::late_arrived(Rank target) noexcept {
    s_.origins.late_arrived(target);
    s_.origins.release(target);
}

void CompletionPath::complete_checks(Rank target, Moment since) noexcept {
    s_.validator.complete(target, since, [&](const StaleHit* stale) {
        ++s_.counters.checked_hits;
        if (stale == nullptr) return;
        ++s_.counters.stale_hits;
        s_.listener.stale_hit(*stale);
    });
}

void CompletionPath::complete_request(Rank target, RequestId request, bool keep,
                                      std::uint64_t network_ticks) noexcept {
    const Guard guard = s_.lock();
    if (!keep) return s_.fetches.leave_to_flush(target, request);
    const std::uint64_t begin_ticks = ticks();
    if (s_.freshness.has_come_late(request)) s_.fetches.learn_later(target);
    s_.fetches.complete_request(target, request);
    s_.freshness.complete_request(request);
    s_.origins.release(target);
    s_.freshness.completed();
    s_.at(target).cost.record_request_completion(network_ticks, ticks() - begin_ticks);
    bypass_.end_interval(target);
    // What completed may be what the program waited for before it reads again.
    if (!s_.keeps_data()) s_.cache.acquire(target);
}

void CompletionPath::complete_bypassed_request(RequestId request) noexcept {
    const Guard guard = s_.lock();
    if (s_.freshness.complete_request(request)) s_.freshness.completed();
}

void CompletionPath::abandon_request(Rank target, RequestId request) noexcept {
    const Guard guard = s_.lock();
    s_.fetches.abandon_request(target, request);
    s_.freshness.complete_request(request, false);
}

}  // namespace nearfetch

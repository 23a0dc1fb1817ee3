// SPDX-License-Identifier: Apache-2.0

// What completes: flushes that need not enter the library, transfers whose data enters the cache, and the
// account that is settled now and then.

#include <algorithm>
#include <utility>

#include "base/assert.hpp"
#include "base/ticks.hpp"
#include "rma/window_cache.hpp"

namespace nearfetch {

// With the mode off, gets and updates are not counted; only fetching atomics are.

Flush WindowCache::flush(Rank target, FlushKind kind) noexcept {
    const Guard guard = lock();
    ++counters_.flushes;
    const Target& t = at(target);
    if (settings_.mode == Mode::off || !epochs_.may_flush(target)) return Flush::needed;
    if (!t.idle(kind))
        return (!t.breaker.is_open() && t.gets.outstanding()) || t.in_transit() ? Flush::needed
                                                                                : Flush::needed_bypassed;
    return elide();
}

Flush WindowCache::flush_all(FlushKind kind) noexcept {
    const Guard guard = lock();
    ++counters_.flushes;
    if (settings_.mode == Mode::off || !epochs_.may_flush_all()) return Flush::needed;
    for (Rank target : active_)
        if (!at(target).idle(kind)) return Flush::needed;
    return elide();
}

Flush WindowCache::elide() noexcept {
    ++counters_.flushes_elided;
    return lived_on_hits() ? Flush::elided_progress : Flush::elided;
}

bool WindowCache::lock_may_wait(Rank target, bool may_wait) noexcept {
    const Guard guard = lock();
    ++counters_.locks;
    const Target& t = at(target);
    if (!may_wait || threaded_ || !keeps_data_ || t.breaker.is_open() || !epochs_.closed(target) ||
        !t.idle(FlushKind::full) || t.in_transit())
        return false;
    epochs_.set(target, Epoch::passive);
    return true;
}

bool WindowCache::elide_lock(Rank target) noexcept {
    const Guard guard = lock();
    NF_EXPECT(at(target).idle(FlushKind::full) && !at(target).in_transit());
    ++counters_.locks_elided;
    epochs_.set(target, Epoch::none);
    return lived_on_hits();
}

bool WindowCache::request_served() noexcept {
    const Guard guard = lock();
    return lived_on_hits();
}

bool WindowCache::put_waits() noexcept {
    const Guard guard = lock();
    return stayed_out();
}

bool WindowCache::must_see_completions() const noexcept {
    const Guard guard = lock();
    return fetching_ != 0 || winding_up_;
}

bool WindowCache::gets_under_way() const noexcept {
    const Guard guard = lock();
    return last_get_.under_way() || !origins_.targets.empty();
}

void WindowCache::fetch_started(Target& t) noexcept {
    if (!t.fetches.outstanding()) ++fetching_;
    t.fetches.started = issued_;
    set_route(t);
}

void WindowCache::fetches_completed(Target& t, Moment since) noexcept {
    acquire_process();
    t.fetches.complete(since);
    if (!t.fetches.outstanding()) --fetching_;
    set_route(t);
}

void WindowCache::complete(Rank target, Moment since, FlushKind kind, int status,
                           std::uint64_t network_ticks) noexcept {
    const Guard guard = lock();
    if (cache_ != nullptr && !keeps_data_) cache_->acquire(target);
    const bool gets = at(target).gets.outstanding();
    complete_locked(at(target), since, kind, status, network_ticks);
    release_origins(at(target));
    library_completed(gets);
}

/// The library has been entered to complete something. Where it was no get, the program may wait by hits all
/// the same.
void WindowCache::library_completed(bool gets) noexcept {
    if (winding_up_) open_all();
    if (!gets) {
        lived_on_hits();
        return;
    }
    polls_.completed();
    progress_.entered();
}

void WindowCache::complete_bypassed_flush(Rank target, Moment since, FlushKind kind) noexcept {
    const Guard guard = lock();
    Target& t = at(target);
    if (!keeps_data_ && cache_ != nullptr) cache_->acquire(target);
    library_completed(t.gets.outstanding());
    if (t.fetches.outstanding()) fetches_completed(t, since);
    t.complete_bypassed(kind, 0);
    last_get_completed(target, since, 0);
    t.lone_bytes = 0;  // how long it took is not known
    // Since flush() was asked, another thread may have started what waits for this completion.
    if (t.in_transit())
        complete_locked(t, since, kind, 0, 0);
    else
        t.complete(since, kind);
    t.late = {};
    release_origins(t);
    if (combiner_ != nullptr) combiner_->completed(target, since);
    if (t.breaker.is_open() || t.breaker.is_untried()) set_route(t);
}

void WindowCache::complete_all(Moment since, FlushKind kind, int status,
                               std::uint64_t network_ticks) noexcept {
    const Guard guard = lock();
    if (cache_ != nullptr && !keeps_data_) cache_->acquire();
    const bool gets =
        std::ranges::any_of(active_, [this](Rank target) { return at(target).gets.outstanding(); });
    const std::uint64_t share = active_.empty() ? 0 : network_ticks / active_.size();
    for (Rank target : active_)
        complete_locked(at(target), since, kind, status, share);
    std::erase_if(active_, [this](Rank target) {
        Target& t = at(target);
        t.listed = t.route == Route::bypass || !t.idle(FlushKind::local) || !t.idle(FlushKind::full);
        return !t.listed;
    });
    release_origins();
    library_completed(gets);
}

void WindowCache::complete_locked(Target& t, Moment since, FlushKind kind, int status,
                                  std::uint64_t network_ticks) noexcept {
    const std::uint64_t begin_ticks = ticks();
    if (t.fetches.outstanding()) fetches_completed(t, since);
    t.complete_bypassed(kind, status);
    const bool had_gets = t.gets.outstanding();
    const std::uint64_t lone_bytes = std::exchange(t.lone_bytes, 0);
    if (status != 0) {
        t.erase_flights_if([&](Entry* entry) {
            if (entry->issued() <= since) invalidate_in_flight(*entry);
            return false;
        });
        last_get_completed(rank_of(t), since, status);
        return;
    }
    t.complete(since, kind);
    t.late = {};
    if (last_get_.under_way(rank_of(t), since)) note_delivery(t);
    if (combiner_ != nullptr) combiner_->completed(rank_of(t), since);
    if (t.checks != 0) complete_checks(t, since);
    if (lone_bytes != 0) t.cost.record_lone_get(lone_bytes, t.lone_ticks + network_ticks);
    const std::size_t ranges = t.ranges_in_transit();
    const std::uint64_t handed_out_bytes = serve_waiters(t, since);
    std::uint64_t copied_bytes = 0;
    t.erase_flights_if([&](Entry* entry) {
        if (entry->issued() > since) return false;
        if (entry->source() != entry->data()) copied_bytes += entry->size();
        commit(*entry);
        return true;
    });
    last_get_completed(rank_of(t), since, 0);
    if (had_gets) {
        const std::uint64_t own_ticks = ticks() - begin_ticks;
        t.cost.record_completion(network_ticks, own_ticks, ranges - t.ranges_in_transit(),
                                 handed_out_bytes + copied_bytes);
        t.cost.record_copy(copied_bytes, own_ticks);
        end_interval(t);
    }
    set_route(t);
}

void WindowCache::check(Rank target, std::uint64_t offset, std::span<const std::byte> served,
                        std::span<void* const> call_site) {
    Guard guard = lock();
    Target& t = at(target);
    // The second get may overtake an update of this process, or see it although the first was before it.
    if (t.update_under_way() && t.updating.overlaps({offset, offset + served.size()})) return;
    HitValidator::Check* check = nullptr;
    try {
        check = &validator_.begin(target, offset, served, call_site);
    } catch (const std::bad_alloc&) {
        return;
    }
    const ByteRun run{offset, check->found.size(), check->found.data()};
    if (threaded_) guard.unlock();
    const int started = and_then([&] { return transfers_.start_get(target, std::span(&run, 1)); },
                                 [&](int status) {
                                     if (threaded_) guard.lock();
                                     if (status != 0) validator_.abandon(*check);
                                 });
    if (started != 0) return;
    sent(target, t, 0, 0);
    check->issued = issued_;
    ++t.checks;
}

void WindowCache::complete_checks(Target& t, Moment since) noexcept {
    validator_.complete(rank_of(t), since, [&](const StaleHit* stale) {
        --t.checks;
        ++counters_.checked_hits;
        if (stale == nullptr) return;
        ++counters_.stale_hits;
        if (report_stale_) report_stale_(*stale);
    });
}

/// Gives bytes that have arrived to who waits for them. \return how many
std::uint64_t WindowCache::serve(std::span<const Waiter> waiters) noexcept {
    std::uint64_t bytes = 0;
    for (std::size_t i = 0; i < waiters.size(); ++i) {
        const Waiter& waiter = waiters[i];
        std::memmove(waiter.origin, waiter.source, waiter.size);
        bytes += waiter.size;
        // The runs of one get wait one after the other.
        const bool is_last = i + 1 == waiters.size() || waiters[i + 1].request != waiter.request;
        if (waiter.request != 0 && is_last) report_arrival_(waiter.request);
    }
    return bytes;
}

/// Whoever waits for what was started until then gets it, before anybody may reuse the buffer in which it
/// arrived. \return how many bytes
std::uint64_t WindowCache::serve_waiters(Target& t, Moment since) noexcept {
    std::uint64_t bytes = 0;
    std::erase_if(t.waiters, [&](const Waiter& waiter) {
        if (waiter.entry->issued() > since) return false;
        bytes += serve(std::span(&waiter, 1));
        return true;
    });
    std::erase_if(t.waiters_of, [&](const auto& waiting) {
        if (waiting.first->issued() > since) return false;
        bytes += serve(waiting.second);
        return true;
    });
    return bytes;
}

/// Its data will not be cached. The flight stays, because who waits for it has no other way to its bytes than
/// the buffer in which they arrive.
void WindowCache::invalidate_in_flight(const Entry& entry) noexcept {
    if (!entry.is_invalidated()) cache_->drop(entry.target(), entry.offset(), entry.size());
}

void WindowCache::complete_request(Rank target, RequestId request, bool keep,
                                   std::uint64_t network_ticks) noexcept {
    const Guard guard = lock();
    Target& t = at(target);
    const std::uint64_t begin_ticks = ticks();
    if (keep && last_get_.under_way_by(request)) note_delivery(t);
    // Of a get with several gaps each is a flight of its own.
    while (auto flight = t.in_flight_of.extract(request)) {
        if (keep) {
            arrived(t, *flight.mapped());
        } else {
            flight.key() = 0;
            t.in_flight_of.insert(std::move(flight));
        }
    }
    if (!keep) return;
    if (last_get_.under_way_by(request)) last_get_over(0);
    release_origins(t);
    polls_.completed();
    t.cost.record_request_completion(network_ticks, ticks() - begin_ticks);
    end_interval(t);
    // What completed may be what the program waited for before it reads again.
    if (cache_ != nullptr && !keeps_data_) cache_->acquire(target);
}

void WindowCache::bypassed_request_completed(RequestId request) noexcept {
    const Guard guard = lock();
    if (!last_get_.under_way_by(request)) return;
    last_get_over(0);
    polls_.completed();
}

/// What a request has brought.
void WindowCache::arrived(Target& t, Entry& entry) noexcept {
    if (const auto waiting = t.waiters_of.extract(&entry)) serve(waiting.mapped());
    commit(entry);
}

/// Where the library delivers at once, the program may have changed its buffer since: then what it has there
/// now is not kept. Where nothing has been seen to come at once, what has changed has come since.
void WindowCache::commit(Entry& entry) noexcept {
    Delivery& delivery = at(entry.target()).delivery;
    const bool checked = entry.is_copied() && !entry.is_invalidated();
    const bool changed = checked && std::memcmp(entry.data(), entry.source(), entry.size()) != 0;
    if (changed && delivery == Delivery::at_once) return cache_->abandon(&entry);
    if (changed) delivery = Delivery::later;
    cache_->commit(&entry, checked && !changed ? entry.data() : entry.source());
}

/// The last get is complete: the same of it, where nothing is kept.
void WindowCache::note_delivery(Target& t) noexcept {
    if (t.delivery == Delivery::unknown && probe_.has_changed()) t.delivery = Delivery::later;
    probe_.end();
}

void WindowCache::abandon_request(Rank target, RequestId request) noexcept {
    const Guard guard = lock();
    Target& t = at(target);
    const auto [begin, end] = t.in_flight_of.equal_range(request);
    for (auto flight = begin; flight != end;) {
        Entry& entry = *flight->second;
        if (entry.leads()) {
            flight = t.in_flight_of.erase(flight);
            arrived(t, entry);
        } else {
            invalidate_in_flight(entry);
            ++flight;
        }
    }
    if (last_get_.under_way_by(request)) last_get_lost();
}

/// If a sampling interval is over, and nothing is in flight that belongs to it.
void WindowCache::end_interval(Target& t) noexcept {
    if (t.in_transit() || !t.cost.is_interval_over()) return;
    const Balance balance = t.cost.end_interval(t.hits - t.interval_hits, t.hit_bytes - t.interval_hit_bytes);
    if (settings_.bypass == Bypass::on) {
        t.breaker.record(balance);
        benefit_.record_interval(t.cost.network_per_get());
    }
    // From now on what this process puts there is bypassed.
    if (t.breaker.is_open()) t.updates_when_opened = bypassed_updates_;
    t.interval_hits = t.hits;
    t.interval_hit_bytes = t.hit_bytes;
    set_route(t);
}

}  // namespace nearfetch

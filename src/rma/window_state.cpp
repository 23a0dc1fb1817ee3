// SPDX-License-Identifier: Apache-2.0
#include "rma/window_state.hpp"

namespace nearfetch {

namespace {

constexpr std::uint64_t standstill_intervals = 4096;

}  // namespace

WindowState::WindowState(const Settings& window_settings, Rank rank_count, Rank own_rank, bool is_threaded,
                         ProcessState& process_state, WindowTransfers& window_transfers,
                         WindowListener& window_listener)
    : process(process_state),
      self(own_rank),
      threaded(is_threaded),
      targets(rank_count),
      cache(targets),
      epochs(rank_count),
      leases(targets),
      freshness(cache, process.acquires,
                standstill_intervals *
                    ProgressTimer::ticks_of(static_cast<double>(window_settings.progress_interval_us))),
      operations(targets, epochs, process.acquires),
      fetches(targets, cache, window_listener),
      origins(targets, is_threaded, fetches, process.origins),
      progress_timer(window_settings.progress_interval_us, window_settings.idle_progress_interval_us),
      settings(window_settings),
      transfers(window_transfers),
      listener(window_listener) {
    targets.when_made([this](Rank target, TargetState& state) {
        state.fetches.delivery = first_delivery(target);
        operations.accessed_first(target);
    });
    update_lock_rule();
}

void WindowState::update_lock_rule() noexcept {
    if (settings.locks == "access")
        lock_rule = LockRule::promised;
    else if (settings.locks != "auto" || !keeps_data())
        lock_rule = LockRule::acquires;
    else if (!is_acquire_mode())
        lock_rule = LockRule::kept;
    else
        lock_rule = leases.are_open() ? LockRule::leased : LockRule::acquires;
}

void WindowState::get_started(Rank target, std::uint64_t size_bytes, std::uint64_t call_ticks) noexcept {
    Target& t = at(target);
    const TargetOperations& o = operations.at(target);
    t.lone_bytes = o.gets.outstanding() || o.bypassed != Bypassed::nothing ? 0 : size_bytes;
    t.lone_ticks = call_ticks;
    operations.start_get(target);
}

void WindowState::record_in_profile(Rank target, ByteRange asked, ByteRange fetched, Fate fate) noexcept {
    // It sees no stores of its own program.
    if (target == self) return;
    if (is_off() || is_acquire_mode())
        profile->record(target, asked, fetched, fate);
    else
        profile->record(target, asked, fetched, fate, settings.mode, cache ? cache->now() : 0);
    note_time();
}

void WindowState::note_time(bool is_end) noexcept {
    const double now_s = process.elapsed_s();
    Timeline& timeline = profile->timeline();
    if (!is_end && !timeline.is_due(now_s)) return;
    const RangeCacheCounters sum = totals();
    timeline.note(now_s, {static_cast<double>(sum.hits), static_cast<double>(sum.gets),
                          static_cast<double>(sum.bytes_from_cache),
                          static_cast<double>(sum.bytes_from_network + sum.bytes_read_ahead)});
}

RangeCacheCounters WindowState::totals() const noexcept {
    RangeCacheCounters sum = counters;
    sum.flushes += sum.flushes_elided;
    sum.polls += freshness.poll_count();
    if (cache) sum.add(cache->counters());
    for (const Rank target : targets.accessed()) {
        const Target& t = known(target);
        sum.gets += t.hits;
        sum.hits += t.hits;
        sum.bytes_from_cache += t.hit_bytes;
        sum.gets += t.bypassed_gets;
        sum.bypassed += t.bypassed_gets;
        sum.bytes_from_network += t.bypassed_bytes;
    }
    sum.bytes_requested = sum.bytes_from_cache + sum.bytes_from_network;
    return sum;
}

}  // namespace nearfetch

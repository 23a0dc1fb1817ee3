// SPDX-License-Identifier: Apache-2.0
#include "rma/window_cache.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "base/assert.hpp"
#include "base/error.hpp"
#include "base/thread_scratch.hpp"
#include "base/ticks.hpp"
#include "rma/lookup_plan.hpp"

namespace nearfetch {

namespace {

constexpr std::size_t gap_limit = 16;  ///< with more gaps than this the whole get is fetched again

constexpr std::uint64_t standstill_intervals = 4096;

bool keeps_data(Mode mode) noexcept { return mode != Mode::off && mode != Mode::transparent; }

}  // namespace

WindowCache::WindowCache(const Settings& settings, Rank ranks, Rank self, bool threaded,
                         WindowTransfers& transfers)
    : ranks_(ranks),
      self_(self),
      threaded_(threaded),
      keeps_data_(keeps_data(settings.mode)),
      is_acquire_mode_(settings.mode == Mode::acquire),
      targets_(static_cast<std::size_t>(ranks)),
      seen_acquires_(process_acquires()),
      epochs_(ranks),
      progress_(settings.progress_interval_us, settings.idle_progress_interval_us),
      standstill_(standstill_intervals *
                  ProgressTimer::ticks_of(static_cast<double>(settings.progress_interval_us))),
      transfers_(transfers),
      settings_(settings) {
    NF_EXPECT(ranks > 0);
    active_.reserve(targets_.size());
    origins_.targets.reserve(targets_.size());
    at(self_).breaker.hold(CircuitBreaker::State::open);
    hold_breakers();
    if (settings_.mode == Mode::off) open_all();
}

WindowCache::~WindowCache() {
    if (!threaded_) origins_of_process.remove(this);
}

bool WindowCache::make_cache() noexcept {
    try {
        RangeCacheConfig config = range_cache_config(settings_, score_);
        config.hit_benefit = [this](Rank target, std::uint64_t size_bytes) {
            return benefit_.of(at(target).cost, size_bytes);
        };
        cache_ = std::make_unique<RangeCache>(config, static_cast<std::uint32_t>(ranks()));
        doorkeeper_.reset();
        return true;
    } catch (const std::exception&) {
        cache_.reset();
        broken_ = true;
        return false;
    }
}

void WindowCache::catch_up() noexcept {
    seen_acquires_ = process_acquires();
    if (cache_ != nullptr) cache_->acquire();
}

void WindowCache::refresh(Rank target, std::span<const ByteRun> runs, std::uint64_t size) noexcept {
    ++counters_.polls;
    if (cache_ == nullptr) return;
    const ByteRun& first = runs.front();
    if (const std::byte* const data = cache_->peek(target, first.offset, first.size))
        last_get_.keep({.target = target, .offset = first.offset, .size = size}, data, first.size);
    for (const ByteRun& run : runs)
        cache_->drop(target, run.offset, run.size);
}

/// The program's get is on its way.
void WindowCache::last_get_started(const Get& get) noexcept {
    const ByteRun& first = get.runs.front();
    // Where nobody says when a request has ended, its buffer must not be looked at.
    std::byte* const origin = get.request == 0 || get.may_lead ? first.origin : nullptr;
    last_get_started({get.target, first.offset, get.size_bytes, origin, get.request}, first.size);
}

/// What the last get has brought is there, or never will be.
void WindowCache::last_get_over(int status) noexcept {
    probe_.end();
    if (status == 0 ? last_get_.arrived() : last_get_.lost()) acquire_process();
}

/// Nobody sees when it is.
void WindowCache::last_get_lost() noexcept {
    probe_.end();
    if (last_get_.lost()) acquire_process();
}

/// What was asked for was there, and is complete. \return true if the library has to be entered for the sake
/// of others; then it is also time to look whether the program waits by hits (polls.hpp)
bool WindowCache::lived_on_hits() noexcept {
    polls_.completed();
    return stayed_out();
}

/// The same where that completed no get.
bool WindowCache::stayed_out() noexcept {
    if (!progress_.step()) return false;
    if (is_acquire_mode_ && cache_ != nullptr &&
        standstill_.step(ticks(), counters_.bytes_from_network, process_acquires())) {
        ++counters_.polls;
        cache_->acquire();
    }
    return true;
}

bool WindowCache::entered_for_others(std::uint64_t entry_ticks) noexcept {
    const Guard guard = lock();
    return progress_.entered_for_others(entry_ticks);
}

void WindowCache::found_nothing(std::uint64_t entry_ticks) noexcept {
    const Guard guard = lock();
    progress_.found_nothing(entry_ticks);
}

Served WindowCache::try_get(const RangeGet& get) noexcept {
    const Guard guard = lock();
    const auto& [target, offset, size, origin, request] = get;
    Target& t = at(target);
    if (t.route == Route::bypass) {
        if (bypass_get(target, size)) return Served::bypass;
        resume(target);
        return Served::miss;
    }
    const ByteRun run{offset, size, origin};
    if (is_acquire_mode_) prepare(target, {&run, 1}, size);
    if (cache_ == nullptr || !epochs_.may_access(target) || t.breaker.is_open()) return Served::miss;
    // What is in flight to where a hit is copied is not kept.
    if (is_origin_in_use(origin, size)) overlaps_origin({&run, 1});
    const std::byte* data = cache_->find_mru(target, offset, size);
    if (data == nullptr) data = cache_->find_recent(target, offset, size);
    if (data == nullptr) return try_get_further(get);
    t.count_hit(size);
    copy_bytes(origin, data, size);
    return Served::hit;
}

/// Looks for an entry that begins before, and for neighbours that have the bytes together.
Served WindowCache::try_get_further(const RangeGet& get) noexcept {
    const auto& [target, offset, size, origin, request] = get;
    if (const std::byte* const data = cache_->find_further(target, offset, size)) {
        copy_bytes(origin, data, size);
    } else {
        const ByteRange united = cache_->read_across(target, offset, size, origin);
        if (united.empty()) return Served::miss;
        if (united.size() <= most_united * size) join(target, united);
    }
    at(target).count_hit(size);
    return Served::hit;
}

void WindowCache::join(Rank target, ByteRange united) noexcept {
    try {
        cache_->join(target, united);
    } catch (const std::bad_alloc&) {
        // Then they stay as they are.
    }
}

bool WindowCache::usable(Rank target) noexcept {
    Target& t = at(target);
    if (settings_.mode == Mode::off || broken_ || !epochs_.may_access(target)) return false;
    if (t.breaker.is_open() || t.breaker.is_untried()) {
        if (t.breaker.bypass()) return false;
        resume(target);
    }
    if (outdated_) retire_cache();
    const bool good = cache_ != nullptr || make_cache();
    set_route(t);
    return good;
}

/// Whether the get may wait for bytes that are on their way. One with a request waits for a leader, and for
/// one only: that is what the program is made to wait for.
bool WindowCache::may_wait(const Get& get, const Entry& entry, const LookupPlan& s) const noexcept {
    if (entry.source() == nullptr || at(get.target).delivery != Delivery::later) return false;
    return get.request == 0 || (entry.leads() && (s.waiting.empty() || s.waiting.front().entry == &entry));
}

void WindowCache::plan_lookup(const Get& get, LookupPlan& s) const {
    for (const ByteRun& run : get.runs) {
        // Of a get in one run, find() has been asked on the hot path.
        const std::byte* const data =
            get.runs.size() > 1 ? cache_->find(get.target, run.offset, run.size) : nullptr;
        if (data != nullptr) {
            s.resident.push_back({run.origin, data, run.size});
            continue;
        }
        cache_->plan_lookup(get.target, run.offset, run.size, s.parts);
        for (const LookupPart& part : s.parts) {
            std::byte* const origin = run.origin + (part.offset - run.offset);
            if (part.kind == LookupPart::Kind::resident) {
                s.resident.push_back({origin, part.data, part.size});
            } else if (part.kind == LookupPart::Kind::pending && may_wait(get, *part.entry, s)) {
                const Entry* const entry = part.entry;
                s.waiting.push_back({entry, entry->source() + (part.offset - entry->offset()), origin,
                                     part.size, get.request});
            } else {
                s.gaps.push_back({part.offset, part.size, origin});
            }
        }
    }
    // While the transfer of the gaps is started, another thread may complete what would be waited for; and a
    // request is the library's, or waits.
    if ((threaded_ || get.request != 0) && !s.gaps.empty() && !s.waiting.empty()) {
        s.clear();
        s.gaps.assign(get.runs.begin(), get.runs.end());
    }
    for (const ByteRun& gap : s.gaps)
        s.gap_bytes += gap.size;
}

int WindowCache::get(const Get& get, GetStarter& starter, Begun& begun) {
    begun = Begun::started;
    const std::uint64_t begin_ticks = ticks();
    Guard guard = lock();
    if (holds_combined(get.target) && read_combined(get, guard)) {
        begun = Begun::served;
        return 0;
    }
    // What was looked up before has been noted: then this finds nothing new.
    if (is_acquire_mode_)
        prepare(get.target, get.runs, get.size_bytes);
    else
        polls_.again(get.target, get.runs.front().offset, get.size_bytes);
    if (overlaps_origin(get.runs)) [[unlikely]]
        return fetch_overlapping(get, starter, guard, begin_ticks);
    if (!usable(get.target)) return fetch_uncached(get, starter, guard);
    Target& t = at(get.target);
    auto& s = thread_scratch<LookupPlan, struct LookupPlanOfGet>();
    s.clear();
    try {
        plan_lookup(get, s);
        t.make_room(s.gaps.size(), s.waiting);
    } catch (const std::bad_alloc&) {
        return fetch_uncached(get, starter, guard);
    }
    if (!s.gaps.empty()) {
        Admission ahead = make_room_around(get, s);
        const bool in_one = get.runs.size() == 1 || (s.gaps.size() == 1 && s.partial());
        const bool comes_late = get.request != 0 && !in_one && t.delivery != Delivery::at_once;
        if (ahead.entry == nullptr && comes_late) {
            ahead = make_room_for_request(get, s);
            if (ahead.entry == nullptr) return fetch_uncached(get, starter, guard);
        }
        if (ahead.entry == nullptr) return fetch(get, starter, s, guard, begin_ticks);
        const int status = fetch_region(get, starter, s, ahead, guard, begin_ticks);
        if (get.request != 0 && t.in_flight_of.contains(get.request)) begun = Begun::leader;
        return status;
    }
    const bool waits = !s.waiting.empty();
    if (waits && get.request != 0 && starter.start_waiting(s.waiting.front().entry->issued()) != 0)
        return fetch_uncached(get, starter, guard);
    s.copy_resident();
    if (waits) note_origins(t, get.runs);
    if (waits) last_get_started(get);
    t.add(s.waiting);
    count(waits ? AccessType::pending_hit : AccessType::hit, get.size_bytes, 0);
    const std::uint64_t own_ticks = ticks() - begin_ticks;
    waits ? t.cost.record_pending_hit(get.size_bytes, own_ticks)
          : t.cost.record_slow_hit(get.size_bytes, own_ticks);
    end_interval(t);
    begun = waits ? Begun::waiting : Begun::served;
    return 0;
}

int WindowCache::fetch_uncached(const Get& get, GetStarter& starter, Guard& guard) {
    if (threaded_) guard.unlock();
    const int status = starter.start_whole();
    if (threaded_) guard.lock();
    if (status != 0) return status;
    Target& t = at(get.target);
    count(AccessType::bypassed, get.size_bytes, get.size_bytes);
    sent(get.target, t, 0, 0);
    last_get_started(get);
    // Its request may be complete before its bytes are there.
    if (get.request != 0 && get.runs.size() > 1) note_late(t, get.runs);
    return 0;
}

/// Such gets cost something, and gain nothing.
int WindowCache::fetch_overlapping(const Get& get, GetStarter& starter, Guard& guard,
                                   std::uint64_t begin_ticks) {
    const std::uint64_t start_ticks = ticks();
    const int status = fetch_uncached(get, starter, guard);
    Target& t = at(get.target);
    if (status == 0 && !t.breaker.is_open() && !t.breaker.is_untried())
        t.cost.record_miss(ticks() - start_ticks, start_ticks - begin_ticks);
    return status;
}

/// Whether it is to be seen when the bytes of this get are there. What another thread's request brings may be
/// its program's again at any time.
bool WindowCache::probes_delivery(const Get& get) const noexcept {
    const Target& t = at(get.target);
    return t.memory.is_on_this_node && t.delivery != Delivery::at_once &&
           (get.request == 0 || (!threaded_ && get.may_lead));
}

int WindowCache::fetch(const Get& get, GetStarter& starter, LookupPlan& s, Guard& guard,
                       std::uint64_t begin_ticks) {
    // Some libraries complete a request of more than one run of bytes before they are there.
    const bool whole =
        s.gap_bytes == get.size_bytes || s.gaps.size() > gap_limit || (get.request != 0 && s.gaps.size() > 1);
    const Stamp stamp = cache_->now();
    DeliveryProbe probe;
    if (probes_delivery(get)) probe.begin(s.gaps.front());
    if (threaded_) {
        s.copy_resident();
        guard.unlock();
    }
    const std::uint64_t start_ticks = ticks();
    const int status = whole ? starter.start_whole() : starter.start_runs(s.gaps);
    const std::uint64_t started_ticks = ticks();
    if (threaded_) guard.lock();
    if (status != 0) return status;
    if (!threaded_) s.copy_resident();

    Target& t = at(get.target);
    if (probe.has_changed()) t.delivery = Delivery::at_once;
    sent(get.target, t, get.size_bytes, started_ticks - start_ticks);
    last_get_started(get);
    probe_ = probe;
    note_origins(t, get.runs);
    t.add(s.waiting);
    const AccessType admitted = admit(get, t, s, stamp);
    count(s.partial() ? AccessType::partial_hit : admitted, get.size_bytes,
          whole ? get.size_bytes : s.gap_bytes);
    t.cost.record_miss(started_ticks - start_ticks, (ticks() - started_ticks) + (start_ticks - begin_ticks));
    return 0;
}

/// Makes the gaps PENDING entries. Of several gaps the worst that happened names the access.
AccessType WindowCache::admit(const Get& get, Target& t, const LookupPlan& s, Stamp stamp) noexcept {
    AccessType worst = AccessType::direct;
    for (const ByteRun& gap : s.gaps) {
        const bool store = may_keep(t, gap.range());
        if (store && is_deferred(get.target, t, gap)) {
            worst = AccessType::bypassed;
            continue;
        }
        Entry* entry = nullptr;
        try {
            const Admission admission = cache_->admit(get.target, gap.offset, gap.size, stamp, store);
            worst = std::max(worst, admission.type);
            entry = admission.entry;
            if (entry == nullptr) continue;
            entry->set_flight(gap.origin, issued_, get.request != 0);
            t.add_flight(entry, get.request);
            if (t.delivery != Delivery::later && entry->data() != nullptr) {
                copy_bytes(entry->data(), gap.origin, gap.size);
                entry->note_copied();
            }
        } catch (const std::bad_alloc&) {
            if (entry != nullptr) cache_->abandon(entry);
            worst = AccessType::failing;
        }
    }
    return worst;
}

/// A range that is admitted only at its second get: one whose copy is expensive, and any while the breaker is
/// half-open.
bool WindowCache::is_deferred(Rank target, const Target& t, const ByteRun& gap) noexcept {
    if (settings_.bypass == Bypass::off || !(t.breaker.is_half_open() || t.cost.is_copy_expensive(gap.size)))
        return false;
    if (doorkeeper_.seen_before(target, gap.offset)) return false;
    ++counters_.deferred;
    return true;
}

void WindowCache::count(AccessType type, std::uint64_t size_bytes, std::uint64_t network_bytes) noexcept {
    counters_.count(type);
    counters_.bytes_from_network += network_bytes;
    counters_.bytes_from_cache += size_bytes - network_bytes;
}

/// Until it is complete, a get of the same bytes may bring what was there before it.
/// \param combined its origin may be used again already
void WindowCache::update_started(Rank target, std::span<const ByteRun> runs, bool combined) noexcept {
    Target& t = at(target);
    if (t.checks != 0)
        for (const ByteRun& run : runs)
            validator_.overwritten(target, run.range());
    t.updates_also(runs);
    started(target, t, t.updates);
    if (!combined) t.local_updates.started = issued_;
}

void WindowCache::forget(Rank target, std::span<const ByteRun> runs, bool fetches) noexcept {
    const Guard guard = lock();
    Target& t = at(target);
    if (note_bypassed(target, fetches ? Bypassed::updates | Bypassed::fetches : Bypassed::updates)) return;
    ++counters_.puts;
    if (runs.empty()) runs = everything;
    update_started(target, runs);
    if (fetches) fetch_started(t);
    if (cache_ == nullptr) return;
    for (const ByteRun& run : runs)
        cache_->drop(target, run.offset, run.size);
}

void WindowCache::count_read(Rank target, bool fetches) noexcept {
    const Guard guard = lock();
    const Bypassed what = fetches ? Bypassed::gets | Bypassed::fetches : Bypassed::gets;
    if (settings_.mode != Mode::off && note_bypassed(target, what)) return;
    update_started(target, {});
    if (fetches) fetch_started(at(target));
}

void WindowCache::acquire() noexcept {
    const Guard guard = lock();
    if (cache_ != nullptr) cache_->acquire();
    puts_before_ = puts();
}

void WindowCache::change_settings(const Settings& settings) {
    const Guard guard = lock();
    Settings only_bypass = settings_;
    only_bypass.bypass = settings.bypass;
    if (only_bypass == settings) return change_bypass(settings.bypass);
    // While the mode was off, operations were not counted; updates among them, unless nobody writes.
    const bool updated = settings_.mode == Mode::off && settings.mode != Mode::always_cache;
    settings_ = settings;
    keeps_data_ = keeps_data(settings.mode);
    is_acquire_mode_ = settings.mode == Mode::acquire;
    broken_ = winding_up_ = false;
    outdated_ = cache_ != nullptr;
    if (cache_ != nullptr) cache_->acquire();
    for (Rank target = 0; target < ranks(); ++target) {
        Target& t = at(target);
        t.bypassed = t.bypassed | (updated ? Bypassed::gets | Bypassed::updates : Bypassed::gets);
        list(target, t);
        if (target != self_ && !kept_off_) t.breaker = t.put_breaker = {};
    }
    hold_breakers();
    if (settings.mode == Mode::off) open_all();
}

/// Gives back a cache that was made under other settings, unless transfers still refer to it.
void WindowCache::retire_cache() noexcept {
    for (const Target& t : targets_)
        if (t.ranges_in_transit() != 0) return;
    counters_.add(cache_->counters());
    cache_.reset();
    outdated_ = false;
    for (Target& t : targets_)
        set_route(t);
}

void WindowCache::set_score(std::function<double(Rank, std::uint64_t, std::uint64_t)> score) {
    const Guard guard = lock();
    score_ = std::move(score);
    outdated_ = cache_ != nullptr;
    for (Target& t : targets_)
        set_route(t);
    if (cache_ != nullptr) cache_->acquire();
}

}  // namespace nearfetch

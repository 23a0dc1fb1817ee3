// SPDX-License-Identifier: Apache-2.0
#include "rma/get_path.hpp"

#include <algorithm>
#include <new>

#include "base/copy.hpp"
#include "base/finally.hpp"
#include "base/thread_scratch.hpp"
#include "base/ticks.hpp"
#include "rma/leased_path.hpp"

namespace nearfetch {

namespace {

constexpr std::size_t gap_limit = 16;     ///< with more gaps than this the whole get is fetched again
constexpr std::uint64_t most_united = 2;  ///< times a get's size, for entries that it joins
constexpr std::uint64_t stamp_factor = 0xbf58476d1ce4e5b9ull;  ///< spreads stamps over the doorkeeper

/// Of a hit in many runs each run is looked up by itself, and is mostly not in the most recently used entry.
constexpr double hits_per_run = 2;

/// Of more bytes a copy takes longer than a lookup at the node level, so no own one is made of what is there.
constexpr std::uint64_t most_kept_twice = 1024;

}  // namespace

Served GetPath::try_get(const RangeGet& get) noexcept {
    const Guard guard = s_.lock();
    const auto& [target, offset, size, origin, request] = get;
    if (bypass_.is_bypassed(target)) {
        if (bypass_.bypass_get(target, size)) return Served::bypass;
        bypass_.resume(target);
        return Served::miss;
    }
    const ByteRun run{offset, size, origin};
    if (s_.is_acquire_mode())
        s_.freshness.prepare(target, {&run, 1}, size);
    else
        s_.freshness.catch_up(false);
    if (!s_.cache || !s_.epochs.may_access(target) || s_.at(target).breaker.is_open()) return Served::miss;
    if (s_.leased.is_open(target) && !s_.leased.has_room(1)) return Served::miss;
    // What is in flight to where a hit is copied is not kept.
    s_.origins.invalidate_overlapping({&run, 1});
    const std::byte* const data = s_.cache->find_recent(target, offset, size);
    if (data == nullptr) return try_get_further(get);
    s_.at(target).count_hit(size);
    copy_bytes(origin, data, size);
    note_hit(target, run);
    return Served::hit;
}

/// Looks for an entry that begins before, and for neighbours that have the bytes together.
Served GetPath::try_get_further(const RangeGet& get) noexcept {
    const auto& [target, offset, size, origin, request] = get;
    if (const std::byte* const data = s_.cache->find_further(target, offset, size))
        copy_bytes(origin, data, size);
    else if (s_.cache->read_across(target, offset, size, origin, most_united * size).empty())
        return Served::miss;
    s_.at(target).count_hit(size);
    note_hit(target, {offset, size, origin});
    return Served::hit;
}

/// A hit of a leased epoch may have to be made again.
void GetPath::note_hit(Rank target, const ByteRun& run) noexcept {
    if (!s_.leased.is_open(target)) [[likely]]
        return;
    s_.leased.add({&run, 1});
    s_.leased.note_hit();
}

int GetPath::get(const Get& get, GetStarter& starter, Begun& begun) {
    begun = Begun::started;
    const std::uint64_t begin_ticks = ticks();
    spend_lookup();
    Guard guard = s_.lock();
    if (s_.holds_combined(get.target) && updates_.serve_combined(get, guard)) {
        begun = Begun::served;
        return 0;
    }
    // What was looked up before has been noted: then this finds nothing new.
    if (s_.is_acquire_mode())
        s_.freshness.prepare(get.target, get.runs, get.size_bytes);
    else
        s_.freshness.note(get.target, get.runs.front().offset, get.size_bytes);
    if (const int status = LeasedPath(s_).record(get.target, get.runs); status != 0) return status;
    s_.freshness.catch_up(s_.is_acquire_mode());
    if (s_.origins.invalidate_overlapping(get.runs)) [[unlikely]]
        return fetch_overlapping(get, starter, guard, begin_ticks);
    if (!bypass_.may_use_cache(get.target)) return fetch_uncached(get, starter, guard);
    auto& plan = thread_scratch<LookupPlan, struct LookupPlanOfGet>();
    // While the transfer of the gaps is started, another thread may complete what would be waited for; and a
    // request is the library's, or waits.
    const bool keeps_waiters = !s_.threaded && get.request == 0;
    try {
        plan.make(*s_.cache, get, keeps_waiters,
                  [&](const Entry& entry) { return may_wait(get, entry, plan); });
        s_.fetches.reserve(get.target, plan.gaps().size(), plan.waiting());
    } catch (const std::bad_alloc&) {
        return fetch_uncached(get, starter, guard);
    }
    if (!plan.gaps().empty() && s_.cache.node().is_open() &&
        s_.cache.node().serves(get.target, s_.at(get.target).network_ns(get.size_bytes)))
        take_from_node(get, plan, NodeLevel::Fetched::alone);
    if (plan.gap_bytes() != get.size_bytes)
        s_.leased.note_hit();
    else if (const Target& t = s_.at(get.target);
             t.breaker.is_half_open() && !t.breaker.samples(get.runs.front().offset))
        return leave_out(get, starter, guard, begin_ticks);
    return plan.gaps().empty() ? serve(get, starter, plan, guard, begun, begin_ticks)
                               : get_planned(get, starter, plan, guard, begun, begin_ticks);
}

/// Whether the get may wait for bytes that are on their way. One with a request waits for a leader, and for
/// one only: that is what the program is made to wait for.
bool GetPath::may_wait(const Get& get, const Entry& entry, const LookupPlan& plan) const noexcept {
    if (entry.source() == nullptr || s_.fetches.delivery(get.target) != Delivery::later) return false;
    const std::span<const Waiter> waiting = plan.waiting();
    return get.request == 0 || (entry.leads() && (waiting.empty() || waiting.front().entry == &entry));
}

/// Gaps that another process of this node has fetched so are copied, and enter this process's cache.
void GetPath::take_from_node(const Get& get, LookupPlan& plan, NodeLevel::Fetched how) noexcept {
    if (!s_.may_be_near(get.target)) return;
    plan.copy_resident();  // making room may evict it
    plan.take_gaps([&](const ByteRun& gap) {
        if (how == NodeLevel::Fetched::in_region && gap.size >= memory_page_bytes) return false;
        if (!s_.take_near(get, gap.range(), how, gap.origin)) return false;
        if (gap.size > most_kept_twice || is_deferred(get.target, gap)) return true;
        try {
            const Admission own = s_.cache->admit(get.target, gap.offset, gap.size, s_.cache->now(), true);
            if (own.entry != nullptr) s_.cache->commit(own.entry, gap.origin);
        } catch (const std::bad_alloc&) {
            // Then this process goes on without a copy of its own.
        }
        return true;
    });
    if (plan.gaps().empty()) s_.freshness.get_served(get);
}

/// Something is missing.
int GetPath::get_planned(const Get& get, GetStarter& starter, LookupPlan& plan, Guard& guard, Begun& begun,
                         std::uint64_t begin_ticks) {
    Admission fill = fills_.admit_around(get, plan);
    if (fill.entry == nullptr && s_.settings.read_ahead_bytes != 0) {
        // The first miss of a region takes what it asks for; the second one takes the rest (is_near()).
        take_from_node(get, plan, NodeLevel::Fetched::in_region);
        if (plan.gaps().empty()) return serve(get, starter, plan, guard, begun, begin_ticks);
    }
    const bool in_one = get.runs.size() == 1 || (plan.gaps().size() == 1 && plan.is_partial());
    const bool comes_late =
        get.request != 0 && !in_one && s_.fetches.delivery(get.target) != Delivery::at_once;
    if (fill.entry == nullptr && comes_late) {
        fill = fills_.admit_for_request(get, plan);
        if (fill.entry == nullptr) return fetch_uncached(get, starter, guard);
    }
    if (fill.entry == nullptr) return fetch(get, starter, plan, guard, begin_ticks);
    if (fills_.is_near(get, plan, fill)) {
        begun = Begun::from_node;
        return 0;
    }
    const int status = fills_.fetch(get, starter, plan, fill, guard, begin_ticks);
    if (get.request != 0 && s_.fetches.has_flight_of(get.target, get.request)) begun = Begun::leader;
    return status;
}

/// All of it is there, or on its way.
int GetPath::serve(const Get& get, GetStarter& starter, LookupPlan& plan, Guard& guard, Begun& begun,
                   std::uint64_t begin_ticks) {
    const bool waits = !plan.waiting().empty();
    if (waits && get.request != 0 && starter.start_waiting(plan.waiting().front().entry->issued()) != 0)
        return fetch_uncached(get, starter, guard);
    plan.copy_resident();
    if (waits) s_.origins.add(get.target, get.runs);
    if (waits) s_.freshness.get_started(get, s_.operations.now());
    s_.fetches.add_waiters(get.target, plan.waiting());
    s_.count(get.target, waits ? AccessType::pending_hit : AccessType::hit, get.size_bytes, 0);
    const std::uint64_t own_ticks = ticks() - begin_ticks;
    CostModel& cost = s_.at(get.target).cost;
    waits ? cost.record_pending_hit(get.size_bytes, own_ticks)
          : cost.record_slow_hit(get.size_bytes, own_ticks);
    // A breaker that opens would send gets of a leased epoch past it.
    if (!s_.leased.is_open(get.target)) bypass_.end_interval(get.target);
    begun = waits ? Begun::waiting : plan.has_taken_gaps() ? Begun::from_node : Begun::served;
    return 0;
}

/// \param call_ticks where to note what the library's call takes
int GetPath::fetch_uncached(const Get& get, GetStarter& starter, Guard& guard, std::uint64_t* call_ticks) {
    const std::uint64_t start_ticks = call_ticks != nullptr ? ticks() : 0;
    const int status = without_mutex(guard, [&] { return starter.start_whole(); });
    if (call_ticks != nullptr) *call_ticks = ticks() - start_ticks;
    if (status != 0) return status;
    s_.count(get.target, AccessType::bypassed, get.size_bytes, get.size_bytes);
    if (get.target != s_.self && s_.at(get.target).is_uncached()) ++s_.counters.breaker_open;
    for (const ByteRun& run : get.runs.first(1))
        s_.profile_get(get.target, run.range(), run.range(), Fate::bypassed);
    s_.get_started(get.target, 0, 0);
    s_.freshness.get_started(get, s_.operations.now());
    // Its request may be complete before its bytes are there.
    if (get.request != 0 && get.runs.size() > 1) s_.origins.add_late(get.target, get.runs);
    return 0;
}

/// Such gets cost something, and gain nothing.
int GetPath::fetch_overlapping(const Get& get, GetStarter& starter, Guard& guard, std::uint64_t begin_ticks) {
    std::uint64_t call_ticks = 0;
    const int status = fetch_uncached(get, starter, guard, &call_ticks);
    Target& t = s_.at(get.target);
    if (status == 0 && !t.is_uncached())
        t.cost.record_miss(get.size_bytes, call_ticks, ticks() - begin_ticks - call_ticks);
    return status;
}

/// A get of a half-open target, of a range that is not in its sample.
int GetPath::leave_out(const Get& get, GetStarter& starter, Guard& guard, std::uint64_t begin_ticks) {
    std::uint64_t call_ticks = 0;
    if (const int status = fetch_uncached(get, starter, guard, &call_ticks); status != 0) return status;
    s_.at(get.target).cost.record_left_out(ticks() - begin_ticks - call_ticks);
    if (!s_.leased.is_open(get.target)) bypass_.end_interval(get.target);
    return 0;
}

/// Whether it is to be seen when the bytes of this get are there. What another thread's request brings may be
/// its program's again at any time.
bool GetPath::probes_delivery(const Get& get) const noexcept {
    return s_.targets.memory_of(get.target).is_on_this_node &&
           s_.fetches.delivery(get.target) != Delivery::at_once &&
           (get.request == 0 || (!s_.threaded && get.may_lead));
}

int GetPath::fetch(const Get& get, GetStarter& starter, LookupPlan& plan, Guard& guard,
                   std::uint64_t begin_ticks) {
    // Some libraries complete a request of more than one run of bytes before they are there.
    const bool whole = plan.gap_bytes() == get.size_bytes || plan.gaps().size() > gap_limit ||
                       (get.request != 0 && plan.gaps().size() > 1);
    const Stamp stamp = s_.cache->now();
    DeliveryProbe probe;
    if (probes_delivery(get)) probe.begin(plan.gaps().front());
    if (s_.threaded) plan.copy_resident();
    const NodeTime issue_time = s_.cache.node().issue_time(get.target);
    const std::uint64_t start_ticks = ticks();
    std::uint64_t started_ticks = 0;
    const int status = without_mutex(guard, [&] {
        const int outcome = whole ? starter.start_whole() : starter.start_runs(plan.gaps());
        started_ticks = ticks();
        return outcome;
    });
    if (status != 0) return status;
    plan.copy_resident();

    if (probe.has_changed()) s_.fetches.learn_at_once(get.target);
    s_.get_started(get.target, get.size_bytes, started_ticks - start_ticks);
    s_.freshness.get_started(get, s_.operations.now(), probe);
    s_.origins.add(get.target, get.runs);
    s_.fetches.add_waiters(get.target, plan.waiting());
    const AccessType admitted = admit(get, plan, stamp, issue_time);
    const ByteRange gap = plan.gaps().front().range();
    s_.profile_get(get.target, gap, gap, admitted >= AccessType::failing ? Fate::not_kept : Fate::kept);
    s_.count(get.target, plan.is_partial() ? AccessType::partial_hit : admitted, get.size_bytes,
             whole ? get.size_bytes : plan.gap_bytes());
    s_.at(get.target)
        .cost.record_miss(get.size_bytes, started_ticks - start_ticks,
                          (ticks() - started_ticks) + (start_ticks - begin_ticks));
    return 0;
}

/// Makes the gaps PENDING entries. Of several gaps the worst that happened names the access.
AccessType GetPath::admit(const Get& get, const LookupPlan& plan, Stamp stamp, NodeTime issued) noexcept {
    AccessType worst = AccessType::direct;
    for (const ByteRun& gap : plan.gaps()) {
        const bool store = s_.may_keep(get.target, gap.range());
        if (store && is_deferred(get.target, gap)) {
            worst = AccessType::bypassed;
            continue;
        }
        spend_admission();
        Entry* entry = nullptr;
        try {
            const Admission admission = s_.cache->admit(get.target, gap.offset, gap.size, stamp, store);
            worst = std::max(worst, admission.type);
            s_.counters.too_large += gap.size > s_.cache->occupancy().buffer_bytes;
            entry = admission.entry;
            if (entry != nullptr) {
                entry->set_issue_time(store ? issued : 0);
                admit_flight(gap, get, *entry);
                if (store)
                    s_.cache.node().announce(get.target, gap.range(), NodeLevel::Fetched::alone, issued);
            } else if (store && get.request == 0) {
                s_.cache.node().expect(get.target, gap, issued, s_.operations.now());
            }
        } catch (const std::bad_alloc&) {
            if (entry != nullptr) s_.cache->abandon(entry);
            worst = AccessType::failing;
        }
    }
    return worst;
}

/// The gap's transfer has been started. Where its bytes may be there already they are taken at once, because
/// the program may change its buffer. \throws std::bad_alloc
void GetPath::admit_flight(const ByteRun& gap, const Get& get, Entry& entry) {
    entry.set_flight(gap.origin, s_.operations.now(), get.request != 0);
    s_.fetches.add_flight(entry, get.request);
    if (s_.fetches.delivery(get.target) == Delivery::later || entry.data() == nullptr) return;
    copy_bytes(entry.data(), gap.origin, gap.size);
    spend_copy(gap.size);
    entry.note_copied();
}

/// A range that is admitted only at its second get, because its copy is expensive. Of a sample all are.
bool GetPath::is_deferred(Rank target, const ByteRun& gap) noexcept {
    const Target& t = s_.at(target);
    if (s_.settings.bypass == Bypass::off || t.breaker.is_half_open() || !t.cost.is_copy_expensive(gap.size))
        return false;
    s_.doorkeeper.cover(2 * std::uint64_t{s_.cache->occupancy().index_entries});
    if (s_.doorkeeper.seen_before(target, gap.offset)) return false;
    ++s_.counters.deferred;
    return true;
}

bool GetPath::is_asked_again(Rank target, std::uint64_t what) noexcept {
    if (s_.settings.bypass == Bypass::off) return true;
    const Guard guard = s_.lock();
    const Stamp stamp = s_.is_acquire_mode() ? s_.process.acquires.count() : s_.cache ? s_.cache->now() : 0;
    if (s_.doorkeeper.seen_before(target, what + stamp * stamp_factor)) return true;
    ++s_.counters.deferred;
    return false;
}

bool GetPath::do_runs_pay(Rank target, std::uint64_t runs, std::uint64_t size_bytes) const noexcept {
    if (s_.settings.bypass == Bypass::off) return true;
    const Guard guard = s_.lock();
    const double network = s_.at(target).cost.network_ticks(size_bytes);
    return network == 0 || static_cast<double>(runs) * hits_per_run * hit_cost().hit_ticks < network;
}

void GetPath::record_uncached_get(const RangeGet& get, const ByteRun& origins,
                                  std::uint64_t call_ticks) noexcept {
    const Guard guard = s_.lock();
    s_.origins.invalidate_overlapping({&origins, 1});
    s_.count(get.target, AccessType::bypassed, get.size, get.size);
    s_.profile_get(get.target, get.range(), get.range(), Fate::bypassed);
    s_.at(get.target).cost.record_bypassed();
    s_.get_started(get.target, get.size, call_ticks);
    if (get.request != 0) s_.origins.add_late(get.target, {&origins, 1});
    s_.freshness.bypassed_get_started(get, s_.operations.now());
}

void GetPath::note_late(Rank target, const ByteRun& origins) noexcept {
    const Guard guard = s_.lock();
    s_.operations.list(target);
    s_.origins.add_late(target, {&origins, 1});
}

void GetPath::check(Rank target, std::uint64_t offset, std::span<const std::byte> served,
                    std::span<void* const> call_site, bool from_node) {
    Guard guard = s_.lock();
    // The second get may overtake an update of this process, or see it although the first was before it.
    if (s_.operations.at(target).may_overlap_update({offset, offset + served.size()})) return;
    HitValidator::Check* check = nullptr;
    try {
        check = &s_.validator.begin(target, offset, served, call_site, from_node);
    } catch (const std::bad_alloc&) {
        return;
    }
    const ByteRun run{offset, check->found.size(), check->found.data()};
    const auto start = [&] { return s_.transfers.start_get(target, std::span(&run, 1)); };
    const int started = and_then([&] { return without_mutex(guard, start); },
                                 [&](int status) {
                                     if (status != 0) s_.validator.abandon(*check);
                                 });
    if (started != 0) return;
    s_.get_started(target, 0, 0);
    check->issued = s_.operations.now();
}

}  // namespace nearfetch

// SPDX-License-Identifier: Apache-2.0
#include "rma/fill_path.hpp"

#include <algorithm>
#include <new>
#include <optional>
#include <vector>

#include "base/finally.hpp"
#include "base/thread_scratch.hpp"
#include "base/ticks.hpp"

namespace nearfetch {

Admission FillPath::admit_around(const Get& get, LookupPlan& plan) noexcept {
    if (plan.gaps().size() != 1) return {};
    const ByteRun run = plan.gaps().front();
    const std::optional<ReadAhead::Region> around = read_ahead_.region_around(get, run.range());
    if (!around) return {};
    plan.copy_resident();  // making room may evict it
    try {
        const Admission ahead =
            s_.cache->read_ahead().admit(get.target, around->range, around->expires, run.range());
        Entry* const entry = ahead.entry;
        if (entry == nullptr) return {};
        const Waiter waiter{entry, entry->data() + (run.offset - entry->offset()), run.origin, run.size};
        return s_.fetches.begin_fill(*entry, get.request, {&waiter, 1}) ? ahead : Admission();
    } catch (const std::bad_alloc&) {
        return {};
    }
}

Admission FillPath::admit_for_request(const Get& get, LookupPlan& plan) noexcept {
    const std::uint64_t begin = plan.gaps().front().offset;
    ByteRange range{begin, begin};
    for (const ByteRun& gap : plan.gaps()) {
        if (gap.offset != range.end) return {};
        range.end += gap.size;
    }
    if (s_.threaded || !get.may_lead || !s_.may_keep(get.target, range)) return {};
    plan.copy_resident();  // making room may evict it
    try {
        const Admission own = s_.cache->admit(get.target, range.begin, range.size(), s_.cache->now(), true);
        Entry* const entry = own.entry;
        if (entry == nullptr) return {};
        auto& waiters = thread_scratch<std::vector<Waiter>, struct WaitersOfRequest>();
        waiters.clear();
        for (const ByteRun& gap : plan.gaps())
            waiters.push_back({entry, entry->data() + (gap.offset - range.begin), gap.origin, gap.size});
        return s_.fetches.begin_fill(*entry, get.request, waiters) ? own : Admission();
    } catch (const std::bad_alloc&) {
        return {};
    }
}

/// Starts the transfer; where that fails the entry is forgotten, where it is there at once committed.
/// \pre FetchTable::begin_fill()
template <class Start>
int FillPath::start(Entry& entry, Guard& guard, const Start& start_call) {
    const Rank target = entry.target();
    const bool is_here = s_.targets.memory_of(target).is_on_this_node;
    const ByteRun run{entry.offset(), entry.size(), entry.data()};
    std::optional<DeliveryMark> mark;
    if (is_here) mark.emplace(run.origin, run.size);
    entry.set_issue_time(s_.cache.node().issue_time(target));
    const std::uint64_t start_ticks = ticks();
    const auto call = [&] { return start_call(std::span(&run, 1)); };
    const int status = and_then([&] { return without_mutex(guard, call); },
                                [&](int outcome) {
                                    if (outcome != 0) s_.fetches.cancel_fill(entry);
                                });
    if (status != 0) return status;
    s_.get_started(target, run.size, ticks() - start_ticks);
    entry.set_flight(entry.data(), s_.operations.now(), entry.by_request());
    s_.cache.node().announce(target, entry.range(), NodeLevel::how_fetched(entry), entry.issue_time());
    if (mark && mark->is_gone())
        s_.fetches.fill_arrived_at_once(entry, true);
    else if (mark)
        s_.fetches.learn_later(target);
    return 0;
}

bool FillPath::is_near(const Get& get, const LookupPlan& plan, const Admission& admission) noexcept {
    Entry& entry = *admission.entry;
    if (!plan.waiting().empty() || !s_.may_be_near(get.target) ||
        !s_.take_near(get, entry.range(), NodeLevel::Fetched::in_region, entry.data()))
        return false;
    s_.fetches.fill_arrived_at_once(entry, false);
    s_.count(get.target, plan.is_partial() ? AccessType::partial_hit : AccessType::hit, get.size_bytes, 0);
    return true;
}

int FillPath::fetch(const Get& get, GetStarter& starter, const LookupPlan& plan, const Admission& admission,
                    Guard& guard, std::uint64_t begin_ticks) {
    const std::uint64_t fetched = admission.entry->size(), beside = fetched - plan.gap_bytes();
    spend_admission();
    const std::uint64_t before_ticks = ticks() - begin_ticks;
    const int status = start(*admission.entry, guard,
                             [&](std::span<const ByteRun> runs) { return starter.start_runs(runs); });
    if (status != 0) return status;
    if (beside != 0) s_.cache->read_ahead().make_room_ahead();
    s_.freshness.get_started(get, s_.operations.now());
    s_.fetches.add_waiters(get.target, plan.waiting());
    if (s_.in_transit(get.target)) s_.origins.add(get.target, get.runs);
    s_.count(get.target, plan.is_partial() ? AccessType::partial_hit : admission.type, get.size_bytes,
             plan.gap_bytes());
    s_.profile_get(get.target, plan.gaps().front().range(), admission.entry->range(), Fate::kept);
    if (beside != 0) ++s_.counters.read_aheads;
    s_.counters.bytes_read_ahead += beside;
    Target& t = s_.at(get.target);
    t.cost.record_region_miss(get.size_bytes, fetched, t.lone_ticks, before_ticks);
    return 0;
}

int FillPath::prefetch(Rank target, ByteRange range) {
    Guard guard = s_.lock();
    // Else the next get would do so, and forget what this brings.
    s_.freshness.catch_up(s_.is_acquire_mode());
    if (!bypass_.may_use_cache(target)) return 0;
    // A hint may go too far, as the last iterations of a loop do; below 0 it is beyond the end.
    if (const std::uint64_t extent = s_.targets.memory_of(target).extent_bytes; extent != 0)
        range.end = std::min(range.end, extent);
    if (range.begin >= range.end || !s_.may_keep(target, range)) return 0;
    auto& parts = thread_scratch<std::vector<LookupPart>, struct PartsOfPrefetch>();
    s_.cache->plan_lookup(target, range.begin, range.size(), parts);
    for (const LookupPart& part : parts) {
        if (part.kind != LookupPart::Kind::gap) continue;
        const Admission admission = s_.cache->admit(target, part.offset, part.size, s_.cache->now(), true);
        if (admission.entry == nullptr || !s_.fetches.begin_fill(*admission.entry, 0, {})) continue;
        const int status = start(*admission.entry, guard, [&](std::span<const ByteRun> runs) {
            return s_.transfers.start_get(target, runs);
        });
        if (status != 0) return status;
        ++s_.counters.prefetches;
        s_.freshness.note(target, ~range.begin, 0);  // something came between: the same get again is no poll
    }
    return 0;
}

}  // namespace nearfetch

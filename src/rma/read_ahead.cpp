// SPDX-License-Identifier: Apache-2.0

// Transfers straight into the cache: prefetches, which the program asks for, and read-ahead, which it does
// not.
//
// A program that reads remote memory in small runs pays a round trip for each, although one would bring
// hundreds: 000's cache of pages for that reason, and nine tenths of what real programs could save under MPI.
// The second miss within a block of read_ahead_bytes is taken as the sign that more of the block will be
// wanted, and fetches the gap around it within that block, over the few bytes that the first miss brought;
// the program's own bytes are copied out of it when it arrives. So a stream of gets that touch no block twice
// costs nothing extra, and the waste is bounded: at most one block for two misses, and only while the blocks
// that went had been used; how large they are follows from that (read_ahead_sizer.hpp).
//
// Somebody may be writing the bytes that nobody has asked for, in full agreement with the standard. So they
// may be fetched only where the moment of the fetch decides whether a later get may have them. In mode
// acquire it does: a get that has to see a write made since then comes after an acquire made since then. In
// always-cache nobody writes, and in user-defined where read_only_phases says so from one invalidate to the
// next; if this process puts something meanwhile, it was no such phase. Otherwise a program that invalidates
// what it is going to read would not think of what it has not read.

#include <algorithm>
#include <new>
#include <optional>
#include <vector>

#include "base/assert.hpp"
#include "base/thread_scratch.hpp"
#include "base/ticks.hpp"
#include "rma/lookup_plan.hpp"
#include "rma/window_cache.hpp"

namespace nearfetch {

namespace {

/// The bytes of a target that lie in the pages which these lie in.
ByteRange pages_around(const TargetMemory& memory, ByteRange range) noexcept {
    const std::uint64_t begin = range.begin + memory.page_phase, end = range.end + memory.page_phase;
    const std::uint64_t first = begin - begin % memory_page_bytes;
    const std::uint64_t last = end + (memory_page_bytes - end % memory_page_bytes) % memory_page_bytes;
    return {std::max(first, memory.page_phase) - memory.page_phase, last - memory.page_phase};
}

}  // namespace

void WindowCache::describe_memory(std::span<const TargetMemory> of_each) noexcept {
    const Guard guard = lock();
    NF_EXPECT(of_each.size() == targets_.size());
    for (std::size_t i = 0; i < of_each.size(); ++i) {
        targets_[i].memory = of_each[i];
        targets_[i].delivery = of_each[i].is_on_this_node ? Delivery::unknown : Delivery::later;
    }
}

/// Where the block begins that these bytes are in, which lies in the target's memory as pages do; the first
/// one of a window may begin before it, at a number that has wrapped around.
std::uint64_t WindowCache::block_of(const Target& t, std::uint64_t offset) const noexcept {
    return offset - (offset + t.memory.page_phase) % cache_->region_bytes();
}

/// Whether bytes of the target may be fetched that nobody has asked for.
bool WindowCache::may_read_ahead(const Target& t) const noexcept {
    if (settings_.read_ahead_bytes == 0 || settings_.exact_match || settings_.weak_admission) return false;
    if (is_acquire_mode_) return true;
    const bool read_only = settings_.mode == Mode::always_cache ||
                           (settings_.mode == Mode::user_defined && settings_.read_only_phases);
    return read_only && puts() == puts_before_ && !t.update_under_way();
}

/// A PENDING entry for the gap of this get and what is missing around it in its block, if it is the second
/// miss there, for which the get waits; no entry if it is fetched as it is.
Admission WindowCache::make_room_around(const Get& get, LookupPlan& s) noexcept {
    Target& t = at(get.target);
    const ByteRun& run = s.gaps.front();
    const ByteRange gap{run.offset, run.offset + run.size};
    const std::uint64_t block_bytes = cache_->region_bytes();
    // What a poll brings beside its own bytes may be older than these.
    if (polls_.is_poll()) return {};
    if (s.gaps.size() != 1 || !may_read_ahead(t) || gap.size() >= block_bytes ||
        gap.end > t.memory.extent_bytes)
        return {};
    // What another thread's request brings cannot be waited for: it may complete that at any time.
    if (get.request != 0 && (threaded_ || !get.may_lead)) return {};
    const std::uint64_t block = block_of(t, gap.begin);
    if (!doorkeeper_.seen_before(get.target, ~block)) return {};
    ByteRange bounds{block > gap.begin ? 0 : block, std::min(block + block_bytes, t.memory.extent_bytes)};
    if (t.memory.is_declared) {
        const ByteRange pages = pages_around(t.memory, gap);
        bounds = {std::max(bounds.begin, pages.begin), std::min(bounds.end, pages.end)};
    }
    bounds.end = std::max(bounds.end, gap.end);
    const ByteRange around = cache_->gap_around(get.target, gap, bounds);
    // With several threads, or a request, a gap may hold bytes that are on their way (plan_lookup()).
    if (around == gap || !around.contains(gap) || !may_keep(t, around)) return {};
    if (!cache_->read_ahead_pays(around.size(), !is_acquire_mode_) || !t.cost.may_fetch_region()) return {};
    s.copy_resident();  // making room may evict it
    try {
        const Admission ahead = cache_->admit_read_ahead(get.target, around);
        Entry* const entry = ahead.entry;
        if (entry == nullptr) return {};
        const Waiter waiter{entry, entry->data() + (gap.begin - entry->offset()), run.origin, run.size};
        return note_flight(*entry, get.request, std::span(&waiter, 1)) ? ahead : Admission();
    } catch (const std::bad_alloc&) {
        return {};
    }
}

/// The same for a get with a request, in runs that lie side by side at the target: the library may complete
/// the request before their bytes are in the program's buffer, but not before one run of bytes is in memory
/// of our own.
Admission WindowCache::make_room_for_request(const Get& get, LookupPlan& s) noexcept {
    ByteRange range{s.gaps.front().offset, s.gaps.front().offset};
    for (const ByteRun& gap : s.gaps) {
        if (gap.offset != range.end) return {};
        range.end += gap.size;
    }
    if (threaded_ || !get.may_lead || !may_keep(at(get.target), range)) return {};
    s.copy_resident();  // making room may evict it
    try {
        const Admission own = cache_->admit(get.target, range.begin, range.size(), cache_->now(), true);
        Entry* const entry = own.entry;
        if (entry == nullptr) return {};
        auto& waiters = thread_scratch<std::vector<Waiter>, struct WaitersOfRequest>();
        waiters.clear();
        for (const ByteRun& gap : s.gaps)
            waiters.push_back({entry, entry->data() + (gap.offset - range.begin), gap.origin, gap.size});
        return note_flight(*entry, get.request, waiters) ? own : Admission();
    } catch (const std::bad_alloc&) {
        return {};
    }
}

/// A PENDING entry is going to be fetched into its own memory.
/// \param request that completes it, or 0 \return false: there is no memory, and no entry any more
bool WindowCache::note_flight(Entry& entry, RequestId request, std::span<const Waiter> waiting) noexcept {
    // Until it has started, nothing completes it and nobody else can wait for it; but the cache has to stay.
    entry.set_flight(nullptr, not_started, request != 0);
    Target& t = at(entry.target());
    try {
        t.make_room(1, waiting);
        t.add_flight(&entry, request);
        t.add(waiting);
        return true;
    } catch (const std::bad_alloc&) {
        forget_flight(entry);
        return false;
    }
}

/// It did not start.
void WindowCache::forget_flight(Entry& entry) noexcept {
    Target& t = at(entry.target());
    t.erase_flights_if([&](const Entry* flying) { return flying == &entry; });
    std::erase_if(t.waiters, [&](const Waiter& waiter) { return waiter.entry == &entry; });
    t.waiters_of.erase(&entry);
    cache_->abandon(&entry);
}

/// Starts the transfer; where that fails it is forgotten. Where it is there at once the entry is committed.
/// \pre note_flight()
template <class Start>
int WindowCache::start_entry(Entry& entry, Guard& guard, const Start& start) {
    Target& t = at(entry.target());
    const ByteRun run{entry.offset(), entry.size(), entry.data()};
    std::optional<DeliveryMark> mark;
    if (t.memory.is_on_this_node) mark.emplace(run.origin, run.size);
    const std::uint64_t start_ticks = ticks();
    if (threaded_) guard.unlock();
    const int status = and_then([&] { return start(std::span(&run, 1)); },
                                [&](int outcome) {
                                    if (threaded_) guard.lock();
                                    if (outcome != 0) forget_flight(entry);
                                });
    if (status != 0) return status;
    sent(entry.target(), t, run.size, ticks() - start_ticks);
    entry.set_flight(entry.data(), issued_, entry.by_request());
    if (mark && mark->is_gone())
        arrived_at_once(t, entry);
    else if (mark && t.delivery == Delivery::unknown)
        t.delivery = Delivery::later;
    return 0;
}

/// What was started into memory of our own is there: nobody has to wait for it.
void WindowCache::arrived_at_once(Target& t, Entry& entry) noexcept {
    t.delivery = Delivery::at_once;
    std::erase_if(t.waiters, [&](const Waiter& waiter) {
        if (waiter.entry != &entry) return false;
        serve(std::span(&waiter, 1));
        return true;
    });
    t.erase_flights_if([&](const Entry* flying) { return flying == &entry; });
    arrived(t, entry);
}

/// Fetches an entry that is larger than what the program asked for, or that is not its own buffer.
int WindowCache::fetch_region(const Get& get, GetStarter& starter, const LookupPlan& s,
                              const Admission& ahead, Guard& guard, std::uint64_t begin_ticks) {
    Entry& entry = *ahead.entry;
    const std::uint64_t fetched = entry.size(), beside = fetched - s.gap_bytes;
    Target& t = at(get.target);
    const std::uint64_t before_ticks = ticks() - begin_ticks;
    const int status =
        start_entry(entry, guard, [&](std::span<const ByteRun> runs) { return starter.start_runs(runs); });
    if (status != 0) return status;
    last_get_started(get);
    note_origins(t, get.runs);
    t.add(s.waiting);
    count(s.partial() ? AccessType::partial_hit : ahead.type, get.size_bytes, s.gap_bytes);
    if (beside != 0) ++counters_.read_aheads;
    counters_.bytes_read_ahead += beside;
    t.cost.record_region_miss(get.size_bytes, fetched, t.lone_ticks, before_ticks);
    return 0;
}

int WindowCache::prefetch(Rank target, ByteRange range) {
    Guard guard = lock();
    // Else the next get would do so, and forget what this brings.
    if (is_acquire_mode_ && seen_acquires_ != process_acquires()) catch_up();
    if (!usable(target)) return 0;
    // A hint may go too far, as the last iterations of a loop do; below 0 it is beyond the end.
    if (const std::uint64_t extent = at(target).memory.extent_bytes; extent != 0)
        range.end = std::min(range.end, extent);
    if (range.begin >= range.end || !may_keep(at(target), range)) return 0;
    auto& parts = thread_scratch<std::vector<LookupPart>, struct PartsOfPrefetch>();
    cache_->plan_lookup(target, range.begin, range.size(), parts);
    for (const LookupPart& s : parts) {
        if (s.kind != LookupPart::Kind::gap) continue;
        const Admission admission = cache_->admit(target, s.offset, s.size, cache_->now(), true);
        if (admission.entry == nullptr || !note_flight(*admission.entry, 0, {})) continue;
        const int status = start_entry(*admission.entry, guard, [&](std::span<const ByteRun> runs) {
            return transfers_.start_get(target, runs);
        });
        if (status != 0) return status;
        ++counters_.prefetches;
        polls_.again(target, ~range.begin, 0);  // something came between: the same get again is no poll
    }
    return 0;
}

}  // namespace nearfetch

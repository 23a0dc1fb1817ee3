// SPDX-License-Identifier: Apache-2.0
#include "rma/fetch_table.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "base/grow.hpp"
#include "base/ticks.hpp"
#include "rma/overlapping_origins.hpp"

namespace nearfetch {

namespace {

constexpr Moment not_started = ~Moment{0};
constexpr std::size_t most_compared = 256;

/// The last ones of a list, without more.
template <class List, class Visitor>
void visit_last(List& list, const Visitor& visit) {
    std::size_t left = std::min(list.size(), most_compared);
    for (auto one = list.rbegin(); left != 0; ++one, --left)
        visit(*one);
}

}  // namespace

FetchTable::FetchTable(TargetTable& targets, LazyRangeCache& cache, WindowListener& listener)
    : targets_(targets), cache_(cache), listener_(listener) {}

void FetchTable::reserve(Rank target, std::size_t flights, std::span<const Waiter> waiting) {
    grow(at(target).flights, flights);
    for (const Waiter& waiter : waiting)
        grow(at(target).waiting_with(waiter), waiting.size());
}

void FetchTable::add_waiters(Rank target, std::span<const Waiter> waiting) {
    for (const Waiter& waiter : waiting)
        at(target).waiting_with(waiter).push_back(waiter);
}

void FetchTable::add_flight(Entry& entry, RequestId request) {
    TargetFetches& fetches = at(entry.target());
    if (request == 0)
        fetches.flights.push_back(&entry);
    else
        fetches.flights_of.emplace(request, &entry);
}

bool FetchTable::begin_fill(Entry& entry, RequestId request, std::span<const Waiter> waiting) noexcept {
    entry.set_flight(nullptr, not_started, request != 0);
    try {
        reserve(entry.target(), 1, waiting);
        add_flight(entry, request);
        add_waiters(entry.target(), waiting);
        return true;
    } catch (const std::bad_alloc&) {
        cancel_fill(entry);
        return false;
    }
}

void FetchTable::cancel_fill(Entry& entry) noexcept {
    TargetFetches& fetches = at(entry.target());
    fetches.erase_flights_if([&](const Entry* flying) { return flying == &entry; });
    std::erase_if(fetches.waiters, [&](const Waiter& waiter) { return waiter.entry == &entry; });
    fetches.waiters_of.erase(&entry);
    cache_->abandon(&entry);
}

void FetchTable::fill_arrived_at_once(Entry& entry, bool fetched) noexcept {
    TargetFetches& fetches = at(entry.target());
    if (fetched)
        fetches.delivery = Delivery::at_once;
    else
        entry.set_flight(entry.data(), 0, entry.by_request());
    std::erase_if(fetches.waiters, [&](const Waiter& waiter) {
        if (waiter.entry != &entry) return false;
        serve(std::span(&waiter, 1));
        return true;
    });
    fetches.erase_flights_if([&](const Entry* flying) { return flying == &entry; });
    arrived(fetches, entry);
}

bool FetchTable::in_transit(Rank target) const noexcept {
    const TargetFetches& fetches = at(target);
    return !fetches.flights.empty() || !fetches.flights_of.empty() || !fetches.waiters.empty() ||
           !fetches.waiters_of.empty() || cache_.node().expects(target);
}

bool FetchTable::any_in_transit() const noexcept {
    return std::ranges::any_of(targets_.accessed(), [this](Rank target) { return in_transit(target); });
}

std::size_t FetchTable::ranges_in_transit(Rank target) const noexcept {
    const TargetFetches& fetches = at(target);
    std::size_t ranges = fetches.flights.size() + fetches.flights_of.size() + fetches.waiters.size();
    for (const auto& [entry, waiting] : fetches.waiters_of)
        ranges += waiting.size();
    return ranges;
}

FetchTable::Arrived FetchTable::complete(Rank target, Moment since) noexcept {
    TargetFetches& fetches = at(target);
    Arrived all{.handed_out_bytes = serve_waiters(fetches, since)};
    fetches.erase_flights_if([&](Entry* entry) {
        if (entry->issued() > since) return false;
        if (entry->source() != entry->data()) all.copied_bytes += entry->size();
        commit(fetches, *entry);
        return true;
    });
    cache_.node().arrived(target, since);
    return all;
}

void FetchTable::fail(Rank target, Moment since) noexcept {
    cache_.node().expect_no_more(target);
    at(target).erase_flights_if([&](const Entry* entry) {
        if (entry->issued() <= since) invalidate(*entry);
        return false;
    });
}

void FetchTable::complete_request(Rank target, RequestId request) noexcept {
    TargetFetches& fetches = at(target);
    while (const auto flight = fetches.flights_of.extract(request))
        arrived(fetches, *flight.mapped());
}

void FetchTable::leave_to_flush(Rank target, RequestId request) noexcept {
    TargetFetches& fetches = at(target);
    while (auto flight = fetches.flights_of.extract(request)) {
        flight.key() = 0;
        fetches.flights_of.insert(std::move(flight));
    }
}

void FetchTable::abandon_request(Rank target, RequestId request) noexcept {
    TargetFetches& fetches = at(target);
    const auto [begin, end] = fetches.flights_of.equal_range(request);
    for (auto flight = begin; flight != end;) {
        Entry& entry = *flight->second;
        if (entry.leads()) {
            flight = fetches.flights_of.erase(flight);
            arrived(fetches, entry);
        } else {
            invalidate(entry);
            ++flight;
        }
    }
}

bool FetchTable::invalidate_origin(Rank target, const ByteRun& run) noexcept {
    TargetFetches& fetches = at(target);
    bool found = cache_.node().expect_no_more_at(target, run);
    const auto look_at_flight = [&](Entry* entry) {
        // What arrives in the cache's own memory is what it should be.
        if (entry->source() == entry->data() || !overlap(run, entry->source(), entry->size())) return;
        invalidate(*entry);
        found = true;
    };
    const auto look_at_waiter = [&](Waiter& waiter) {
        if (!overlap(run, waiter.origin, waiter.size)) return;
        found = true;
        // As without a cache, the later get is the one whose bytes stay.
        const std::byte* const end = waiter.origin + waiter.size;
        const bool known = run.origin != nullptr;
        if (known && run.origin <= waiter.origin && end <= run.origin + run.size) waiter.size = 0;
    };
    visit_last(fetches.flights, look_at_flight);
    visit_last(fetches.waiters, look_at_waiter);
    std::size_t left = most_compared;
    for (auto one = fetches.flights_of.begin(); one != fetches.flights_of.end() && left != 0; ++one, --left)
        look_at_flight(one->second);
    left = most_compared;
    for (auto one = fetches.waiters_of.begin(); one != fetches.waiters_of.end() && left != 0; ++one, --left)
        visit_last(one->second, look_at_waiter);
    return found;
}

void FetchTable::invalidate(const Entry& entry) noexcept {
    if (!entry.is_invalidated()) cache_->drop(entry.target(), entry.offset(), entry.size());
}

/// Gives bytes that have arrived to who waits for them. \return how many
std::uint64_t FetchTable::serve(std::span<const Waiter> waiters) noexcept {
    std::uint64_t bytes = 0;
    for (std::size_t i = 0; i < waiters.size(); ++i) {
        const Waiter& waiter = waiters[i];
        std::memmove(waiter.origin, waiter.source, waiter.size);
        bytes += waiter.size;
        // The runs of one get wait one after the other.
        const bool is_last = i + 1 == waiters.size() || waiters[i + 1].request != waiter.request;
        if (waiter.request != 0 && is_last) listener_.arrived(waiter.request);
    }
    spend_copy(bytes);
    return bytes;
}

/// Before anybody may reuse the buffer in which the bytes arrived.
std::uint64_t FetchTable::serve_waiters(TargetFetches& fetches, Moment since) noexcept {
    std::uint64_t bytes = 0;
    std::erase_if(fetches.waiters, [&](const Waiter& waiter) {
        if (waiter.entry->issued() > since) return false;
        bytes += serve(std::span(&waiter, 1));
        return true;
    });
    std::erase_if(fetches.waiters_of, [&](const auto& waiting) {
        if (waiting.first->issued() > since) return false;
        bytes += serve(waiting.second);
        return true;
    });
    return bytes;
}

void FetchTable::arrived(TargetFetches& fetches, Entry& entry) noexcept {
    if (const auto waiting = fetches.waiters_of.extract(&entry)) serve(waiting.mapped());
    commit(fetches, entry);
}

/// Where nothing has been seen to come at once, what has changed has come since.
void FetchTable::commit(TargetFetches& fetches, Entry& entry) noexcept {
    const bool checked = entry.is_copied() && !entry.is_invalidated();
    const bool changed = checked && std::memcmp(entry.data(), entry.source(), entry.size()) != 0;
    if (changed && fetches.delivery == Delivery::at_once) return cache_->abandon(&entry);
    if (changed) fetches.delivery = Delivery::later;
    const std::byte* const bytes = checked && !changed ? entry.data() : entry.source();
    if (!entry.is_invalidated())
        cache_.node().offer(entry.target(), entry.range(), NodeLevel::how_fetched(entry), entry.issue_time(),
                            bytes);
    if (bytes != entry.data() && !entry.is_invalidated()) spend_copy(entry.size());
    cache_->commit(&entry, bytes);
}

}  // namespace nearfetch

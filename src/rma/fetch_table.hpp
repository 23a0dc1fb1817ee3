// SPDX-License-Identifier: Apache-2.0
#pragma once

// Gets on their way into the cache, and who waits for their bytes.
//
// A flight is a transfer of a PENDING entry: into the program's buffer, or straight into the entry's memory.
// A get of bytes that are in flight becomes a waiter: it is copied from the flight's buffer when the flight
// is complete, the only moment at which both buffers are known to be valid (001, section III-B). A flight
// that a request started, and that brings more than its own get asked for, leads: gets with other requests
// may wait for it.
//
// Where the library delivers at once, a program may change its buffer before it completes the get. What it
// has there then is not kept.

#include <cstddef>
#include <cstdint>
#include <span>

#include "rma/delivery.hpp"
#include "rma/front_end.hpp"
#include "rma/lazy_range_cache.hpp"
#include "rma/target_table.hpp"

namespace nearfetch {

class FetchTable {
  public:
    FetchTable(TargetTable& targets, LazyRangeCache& cache, WindowListener& listener);

    /// So that adding so many flights, and these waiters, cannot fail. By doubling: programs start very many
    /// gets before they complete them. \throws std::bad_alloc
    void reserve(Rank target, std::size_t flights, std::span<const Waiter> waiting);
    /// \pre reserve()
    void add_waiters(Rank target, std::span<const Waiter> waiting);
    /// \param request that completes it, or 0 \throws std::bad_alloc where there is a request
    void add_flight(Entry& entry, RequestId request);
    /// A PENDING entry is going to be fetched into its own memory. Until its flight is set nothing completes
    /// it. \return false: there is no memory, and no entry any more
    bool begin_fill(Entry& entry, RequestId request, std::span<const Waiter> waiting) noexcept;
    /// It did not start.
    void cancel_fill(Entry& entry) noexcept;
    /// It is there already: nobody has to wait for it.
    /// \param fetched from its target; else it did not have to start, because the node level had its bytes
    void fill_arrived_at_once(Entry& entry, bool fetched) noexcept;

    /// Something is on its way that is kept, or waited for.
    bool in_transit(Rank target) const noexcept;
    bool any_in_transit() const noexcept;
    std::size_t ranges_in_transit(Rank target) const noexcept;
    bool has_flight_of(Rank target, RequestId request) const noexcept {
        return at(target).flights_of.contains(request);
    }

    struct Arrived {
        std::uint64_t handed_out_bytes = 0;
        std::uint64_t copied_bytes = 0;  ///< into the cache
    };
    /// What was started until then is complete: waiters get their bytes, then entries enter the cache.
    Arrived complete(Rank target, Moment since) noexcept;
    /// It has failed. Flights stay, because waiters have no other way to their bytes; but nothing is kept.
    void fail(Rank target, Moment since) noexcept;
    /// What the request has brought is there. Of a get with several gaps each is a flight of its own.
    void complete_request(Rank target, RequestId request) noexcept;
    /// The request is no longer seen: the next flush completes what it started.
    void leave_to_flush(Rank target, RequestId request) noexcept;
    /// It has completed, nobody knows when: what came to the program's buffer is not kept.
    void abandon_request(Rank target, RequestId request) noexcept;

    /// Another get, or an unknown one, wants its bytes where those of this target are on their way to: they
    /// are not kept. Only the last few hundred are compared. \return whether there are some
    bool invalidate_origin(Rank target, const ByteRun& run) noexcept;

    Delivery delivery(Rank target) const noexcept { return at(target).delivery; }
    void learn_at_once(Rank target) noexcept { at(target).delivery = Delivery::at_once; }
    void learn_later(Rank target) noexcept {
        if (at(target).delivery == Delivery::unknown) at(target).delivery = Delivery::later;
    }

  private:
    TargetFetches& at(Rank target) noexcept { return targets_.make(target).fetches; }
    const TargetFetches& at(Rank target) const noexcept { return targets_.at(target).fetches; }
    void invalidate(const Entry& entry) noexcept;
    std::uint64_t serve(std::span<const Waiter> waiters) noexcept;
    std::uint64_t serve_waiters(TargetFetches& fetches, Moment since) noexcept;
    void arrived(TargetFetches& fetches, Entry& entry) noexcept;
    void commit(TargetFetches& fetches, Entry& entry) noexcept;

    TargetTable& targets_;
    LazyRangeCache& cache_;
    WindowListener& listener_;
};

}  // namespace nearfetch

// SPDX-License-Identifier: Apache-2.0
#pragma once

// What a window keeps about one target: how its operations are treated, what is outstanding, and its circuit
// breakers.
//
// Operations are counted, so that a flush with nothing outstanding need not enter the library. Of a bypassed
// target it is only noted which kinds there were, in a few instructions.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/types.hpp"
#include "cache/range_cache/range_cache.hpp"
#include "policy/circuit_breaker.hpp"
#include "policy/cost_model.hpp"
#include "policy/put_cost_model.hpp"
#include "rma/acquires.hpp"
#include "rma/delivery.hpp"

namespace nearfetch {

/// Names a request-based get until it completes; 0 is "no request".
using RequestId = std::uint64_t;

/// What a call completes.
enum class FlushKind : std::uint8_t {
    local,  ///< flush_local: gets, and the origin buffers of updates
    full,   ///< flush, unlock, fence, ...: everything
};

/// The moment before a completing call enters the library: what was started until then is what it completes.
using Moment = std::uint64_t;

/// Sequence numbers of the last operation started and of the last one known to be complete.
struct Operations {
    std::uint64_t started = 0;
    std::uint64_t done = 0;
    bool outstanding() const noexcept { return started > done; }
    void complete(Moment since) noexcept { done = std::max(done, since); }
};

/// Kinds of operations that were bypassed, and may be outstanding.
enum class Bypassed : std::uint8_t { nothing = 0, gets = 1, updates = 2, fetches = 4 };
constexpr Bypassed operator|(Bypassed a, Bypassed b) noexcept {
    return static_cast<Bypassed>(static_cast<unsigned>(a) | static_cast<unsigned>(b));
}
constexpr Bypassed operator&(Bypassed a, Bypassed b) noexcept {
    return static_cast<Bypassed>(static_cast<unsigned>(a) & static_cast<unsigned>(b));
}
constexpr Bypassed operator~(Bypassed a) noexcept {
    return static_cast<Bypassed>(~static_cast<unsigned>(a) & 7u);
}
constexpr bool has(Bypassed some, Bypassed kind) noexcept { return (some & kind) != Bypassed::nothing; }

/// What the fast path may do with a target's operations.
enum class Route : std::uint8_t {
    slow,      ///< several threads, no cache, hits under check, fetching atomics, or puts that are combined
    bypass,    ///< its breaker is open, or nothing was read of it yet
    lookup,    ///< look gets up
    validate,  ///< the same in mode acquire, after asking whether the process has acquired
};

/// A get, or some of it, of bytes that are on their way for another.
struct Waiter {
    const Entry* entry;
    const std::byte* source;
    std::byte* origin;
    std::uint64_t size;
    RequestId request = 0;  ///< that is complete with it
};

/// Addresses between which the program wants all of some bytes that are on their way.
struct Origins {
    std::uintptr_t begin = ~std::uintptr_t{0};
    std::uintptr_t end = 0;
    bool overlap(const std::byte* origin, std::uint64_t size) const noexcept {
        const auto address = reinterpret_cast<std::uintptr_t>(origin);
        return address < end && begin < address + size;
    }
    bool cover(const ByteRun& run) const noexcept {
        const auto address = reinterpret_cast<std::uintptr_t>(run.origin);
        return begin <= address && address + run.size <= end;
    }
    bool none() const noexcept { return end == 0; }
    void add(const ByteRun& run) noexcept {
        const auto address = reinterpret_cast<std::uintptr_t>(run.origin);
        begin = std::min(begin, address);
        end = std::max(end, address + run.size);
    }
};

class WindowCache;

/// Of the gets that are under way in all windows of the process. With several threads it stays empty.
struct OriginsOfProcess {
    Origins all;
    std::vector<WindowCache*> windows;  ///< that have some
    void add(WindowCache* window) noexcept;
    void remove(const WindowCache* window) noexcept;
};
extern OriginsOfProcess origins_of_process __attribute__((visibility("hidden")));

/// Of the gets that are under way in a window.
struct OriginsInUse {
    Origins all;
    Origins shared;             ///< of the last one that was found to share its own with others
    std::vector<Rank> targets;  ///< that bytes are on their way from
};

/// Of memory's pages: the smallest that any machine has.
inline constexpr std::uint64_t memory_page_bytes = 4096;

/// What is known of a target's memory.
struct TargetMemory {
    std::uint64_t extent_bytes = 0;  ///< that it exposes; 0: not known
    /// How far into a page of memory it begins, bytes.
    std::uint64_t page_phase = 0;
    /// Only the program says that it is there: nothing may be fetched of pages that nobody has asked for.
    bool is_declared = false;
    /// The library may deliver at once.
    bool is_on_this_node = false;
};

/// What bypassed operations need stands first.
struct alignas(64) Target {
    Route route = Route::slow;
    bool listed = false;                    ///< among those that may have something outstanding
    Bypassed bypassed = Bypassed::nothing;  ///< since the call that completed all of it
    std::uint64_t hits = 0;
    std::uint64_t bypassed_gets = 0;
    std::uint64_t hit_bytes = 0;
    std::uint64_t bypassed_bytes = 0;
    CircuitBreaker breaker;  ///< while it is open, nothing is in transit
    CircuitBreaker put_breaker;
    CostModel cost;
    PutCostModel put_cost;
    Operations gets;
    Operations updates;        ///< until they are complete at the target
    Operations local_updates;  ///< until they are complete here
    Operations fetches;        ///< fetching atomics
    ByteRange updating;        ///< spans the updates that are not complete at the target
    TargetMemory memory;
    Delivery delivery = Delivery::later;
    std::uint64_t interval_hits = 0;
    std::uint64_t interval_hit_bytes = 0;
    std::uint64_t lone_bytes = 0;  ///< size and ticks of the only get in flight, for the cost model
    std::uint64_t lone_ticks = 0;
    std::uint64_t checks = 0;               ///< hits under check
    std::uint64_t updates_when_opened = 0;  ///< of the window, bypassed when the breaker opened
    Origins origins;                        ///< of what is in transit
    Origins late;                           ///< where bytes may come until a flush, whatever a request says
    std::vector<Entry*> in_flight;          ///< transfers into entries of the cache
    std::unordered_multimap<RequestId, Entry*> in_flight_of;  ///< those that a request completes, too
    std::vector<Waiter> waiters;
    std::unordered_map<const Entry*, std::vector<Waiter>> waiters_of;  ///< for what requests complete

    /// It has to be listed, so that what completes everything finds it.
    bool may_bypass() const noexcept { return route == Route::bypass && listed; }
    void count_bypassed_get(std::uint64_t size) noexcept {
        ++bypassed_gets;
        bypassed_bytes += size;
        bypassed = bypassed | Bypassed::gets;
    }
    void count_hit(std::uint64_t size) noexcept {
        ++hits;
        hit_bytes += size;
    }
    void complete(Moment since, FlushKind kind) noexcept {
        gets.complete(since);
        local_updates.complete(since);
        if (kind == FlushKind::full) updates.complete(since);
    }
    /// So that noting so many more flights, and these waiters, cannot fail. By doubling: programs start very
    /// many gets before they complete them.
    void make_room(std::size_t flights, std::span<const Waiter> waiting) {
        grow(in_flight, flights);
        for (const Waiter& waiter : waiting)
            grow(waiting_with(waiter), waiting.size());
    }
    /// \pre there is room
    void add(std::span<const Waiter> waiting) {
        for (const Waiter& waiter : waiting)
            waiting_with(waiter).push_back(waiter);
    }
    /// An update of these bytes is started.
    void updates_also(std::span<const ByteRun> runs) noexcept {
        if (!update_under_way()) updating = {};
        for (const ByteRun& run : runs) {
            const ByteRange range = run.range();
            updating = updating.empty() ? range
                                        : ByteRange{std::min(updating.begin, range.begin),
                                                    std::max(updating.end, range.end)};
        }
    }
    bool update_under_way() const noexcept {
        return updates.outstanding() || has(bypassed, Bypassed::updates);
    }
    /// A call that completes what was bypassed has returned. An atomic may synchronise even if it failed.
    void complete_bypassed(FlushKind kind, int status) noexcept {
        if (has(bypassed, Bypassed::fetches)) [[unlikely]] {
            acquire_process();
            bypassed = bypassed & ~Bypassed::fetches;
        }
        if (status == 0)
            bypassed = kind == FlushKind::full ? Bypassed::nothing : bypassed & Bypassed::updates;
    }
    /// Something waits for a completion beside the program.
    bool in_transit() const noexcept {
        return !in_flight.empty() || !in_flight_of.empty() || !waiters.empty() || !waiters_of.empty() ||
               checks != 0;
    }
    /// Bytes may be on their way to where the program wants them.
    bool uses_origins() const noexcept { return in_transit() || !late.none(); }
    std::size_t ranges_in_transit() const noexcept {
        std::size_t ranges = in_flight.size() + in_flight_of.size() + waiters.size();
        for (const auto& [entry, waiting] : waiters_of)
            ranges += waiting.size();
        return ranges;
    }
    /// \throws std::bad_alloc where there is a request
    void add_flight(Entry* entry, RequestId request) {
        if (request == 0)
            in_flight.push_back(entry);
        else
            in_flight_of.emplace(request, entry);
    }
    template <class Visitor>
    void erase_flights_if(Visitor&& visit) {
        std::erase_if(in_flight, visit);
        std::erase_if(in_flight_of, [&](const auto& flight) { return visit(flight.second); });
    }
    /// Nothing is outstanding that a flush would complete.
    bool idle(FlushKind kind) const noexcept {
        return bypassed == Bypassed::nothing && !gets.outstanding() &&
               !(kind == FlushKind::local ? local_updates : updates).outstanding();
    }

  private:
    std::vector<Waiter>& waiting_with(const Waiter& waiter) {
        return waiter.entry->by_request() ? waiters_of[waiter.entry] : waiters;
    }
    template <class T>
    static void grow(std::vector<T>& list, std::size_t more) {
        const std::size_t least = list.size() + more;
        if (least > list.capacity()) list.reserve(std::max(least, 2 * list.capacity()));
    }
};

}  // namespace nearfetch

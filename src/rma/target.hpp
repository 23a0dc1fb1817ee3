// SPDX-License-Identifier: Apache-2.0
#pragma once

// What a window keeps about one target: which way its gets and flushes take, what is under way, and the
// accounts by which nearfetch stands back.
//
// Operations are counted, so that a flush with nothing outstanding need not enter the library. Of what
// passes, all of a target that nothing is kept of (Route::pass) and most gets of one that is watched, it is
// only noted that there was some, in a few instructions.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/types.hpp"
#include "cache/range_cache/range_cache.hpp"
#include "policy/bet.hpp"
#include "rma/acquires.hpp"
#include "rma/delivery.hpp"
#include "rma/write_combiner.hpp"

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

/// Operations that have passed, and may be under way.
enum class Passed : std::uint8_t { nothing = 0, gets = 1, updates = 2, fetches = 4 };
constexpr Passed operator|(Passed a, Passed b) noexcept {
    return static_cast<Passed>(static_cast<unsigned>(a) | static_cast<unsigned>(b));
}
constexpr Passed operator&(Passed a, Passed b) noexcept {
    return static_cast<Passed>(static_cast<unsigned>(a) & static_cast<unsigned>(b));
}
constexpr Passed operator~(Passed a) noexcept { return static_cast<Passed>(~static_cast<unsigned>(a) & 7u); }
constexpr bool has(Passed some, Passed kind) noexcept { return (some & kind) != Passed::nothing; }

/// What the hot path may do with a target's operations, in one byte.
enum class Route : std::uint8_t {
    slow,   ///< several threads, no cache, checking, fetching, or puts combined or sent together
    pass,   ///< nothing is kept of it: let them pass
    watch,  ///< let most gets pass
    look,   ///< look gets up
    check,  ///< the same in mode acquire, after asking whether the process has learned something
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

/// What passes needs the first cache line only.
struct alignas(64) Target {
    Route route = Route::slow;
    bool listed = false;              ///< among those that may have something outstanding
    Passed passed = Passed::nothing;  ///< since the call that completed all of it
    std::uint32_t puts_to_pass = 0;   ///< before one is looked at, to be combined or timed
    // In this order: a compiler would count neighbours by vectors, which takes longer.
    std::uint64_t hits = 0;
    std::uint64_t passed_gets = 0;
    std::uint64_t hit_bytes = 0;
    std::uint64_t passed_bytes = 0;
    Bet bet;  ///< while it is asleep, nothing is in transit
    PutBet put_bet;
    Operations gets;
    Operations updates;        ///< until they are complete at the target
    Operations local_updates;  ///< until they are complete here
    Operations fetches;        ///< fetching atomics
    ByteRange updating;        ///< spans the updates that are not complete at the target
    TargetMemory memory;
    Delivery delivery = Delivery::later;
    std::uint64_t settled_caught_up = 0;  ///< of the window, when its round began
    std::uint64_t settled_hits = 0;
    std::uint64_t settled_hit_bytes = 0;
    std::uint64_t lone_bytes = 0;  ///< size and ticks of the only get on its way, for Bet::observed
    std::uint64_t lone_ticks = 0;
    std::uint64_t checks = 0;               ///< hits under check
    std::uint64_t updates_when_asleep = 0;  ///< of the window, that had passed when it last fell asleep
    Origins origins;                        ///< of what is in transit
    Origins late;                           ///< where bytes may come until a flush, whatever a request says
    std::vector<Entry*> in_flight;          ///< transfers into entries of the cache
    std::unordered_multimap<RequestId, Entry*> in_flight_of;  ///< those that a request completes, too
    std::vector<Waiter> waiters;
    std::unordered_map<const Entry*, std::vector<Waiter>> waiters_of;  ///< for what requests complete

    /// It has to be listed, so that what completes everything finds it.
    bool may_pass() const noexcept { return route == Route::pass && listed; }
    /// Most of what is started there goes to the library as it is.
    bool is_left_alone() const noexcept { return route == Route::pass || route == Route::watch; }
    void get_passes(std::uint64_t size) noexcept {
        ++passed_gets;
        passed_bytes += size;
        passed = passed | Passed::gets;
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
    /// An update of these bytes is started, or passes while the target is watched.
    void updates_also(std::span<const ByteRun> runs) noexcept {
        if (!update_under_way()) updating = {};
        for (const ByteRun& run : runs) {
            const ByteRange range = run.range();
            updating = updating.empty() ? range
                                        : ByteRange{std::min(updating.begin, range.begin),
                                                    std::max(updating.end, range.end)};
        }
    }
    /// Of a target that something is kept of.
    bool update_under_way() const noexcept { return updates.outstanding() || has(passed, Passed::updates); }
    /// A call that completes what has passed has returned. An atomic's result may be news even if it failed.
    void passed_completed(FlushKind kind, int status) noexcept {
        if (has(passed, Passed::fetches)) [[unlikely]] {
            acquire_process();
            passed = passed & ~Passed::fetches;
        }
        if (status == 0) passed = kind == FlushKind::full ? Passed::nothing : passed & Passed::updates;
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
    /// What completes it need not be looked at, because nothing can be outstanding but what has passed.
    bool completes_only_passed() const noexcept {
        return route == Route::pass || (route == Route::watch && !gets.outstanding() &&
                                        !updates.outstanding() && !local_updates.outstanding());
    }
    /// Nothing is outstanding that a flush would complete.
    bool idle(FlushKind kind) const noexcept {
        return passed == Passed::nothing && !gets.outstanding() &&
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

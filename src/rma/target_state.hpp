// SPDX-License-Identifier: Apache-2.0
#pragma once

// All that a window knows of one target, by the parts that it belongs to. It is made when the target is first
// accessed (target_table.hpp).

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "base/types.hpp"
#include "cache/node_buffer/node_buffer.hpp"
#include "cache/range_cache/entry.hpp"
#include "rma/delivery.hpp"
#include "rma/front_end.hpp"
#include "rma/target.hpp"

namespace nearfetch {

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

/// What is outstanding there (outstanding_operations.hpp).
struct TargetOperations {
    bool listed = false;                    ///< among those that may have something outstanding
    Bypassed bypassed = Bypassed::nothing;  ///< since the call that completed all of it
    Operations gets;
    Operations updates;        ///< until they are complete at the target
    Operations local_updates;  ///< until they are complete here
    Operations fetches;        ///< fetching atomics
    ByteRange updating;        ///< spans the updates that are not complete at the target

    /// Nothing is outstanding that a flush would complete.
    bool idle(FlushKind kind) const noexcept {
        return bypassed == Bypassed::nothing && !gets.outstanding() &&
               !(kind == FlushKind::local ? local_updates : updates).outstanding();
    }
    bool update_under_way() const noexcept {
        return updates.outstanding() || has(bypassed, Bypassed::updates);
    }
    /// Whether an update that is not complete may overlap these bytes.
    bool may_overlap_update(ByteRange range) const noexcept {
        return update_under_way() && updating.overlaps(range);
    }
};

/// A get, or some of it, of bytes that are on their way for another.
struct Waiter {
    const Entry* entry;
    const std::byte* source;
    std::byte* origin;
    std::uint64_t size;
    RequestId request = 0;  ///< that is complete with it
};

/// What is on its way from there, and who waits for it (fetch_table.hpp).
struct TargetFetches {
    std::vector<Entry*> flights;
    std::unordered_multimap<RequestId, Entry*> flights_of;  ///< those that a request completes, too
    std::vector<Waiter> waiters;
    std::unordered_map<const Entry*, std::vector<Waiter>> waiters_of;  ///< for what requests complete
    Delivery delivery = Delivery::later;

    std::vector<Waiter>& waiting_with(const Waiter& waiter) {
        return waiter.entry->by_request() ? waiters_of[waiter.entry] : waiters;
    }
    template <class Predicate>
    void erase_flights_if(const Predicate& is_over) {
        std::erase_if(flights, is_over);
        std::erase_if(flights_of, [&](const auto& flight) { return is_over(flight.second); });
    }
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

/// Where its bytes are wanted (overlapping_origins.hpp).
struct TargetOrigins {
    Origins all;
    Origins late;
};

/// Its lease, and this process as a writer of it (leases.hpp).
struct TargetLease {
    enum class Role : std::uint8_t {
        reader,
        announced,  ///< it is among the writers, and has not waited
        writer,
    };
    Role role = Role::reader;
    bool is_known = false;         ///< version and looked
    std::uint64_t lease_end = 0;   ///< ticks
    std::uint64_t version = 0;     ///< that the last look found
    std::uint64_t looked = 0;      ///< when, ticks
    std::uint64_t before_end = 0;  ///< the word before this took itself off
    std::uint64_t ended = 0;       ///< when, ticks
    std::uint64_t own_looks = 0;   ///< since then
};

/// Which records of the node level may serve it (node_level.hpp).
struct TargetAcquires {
    NodeTime since = 0;
    bool is_acquired = false;  ///< later than that, but not after the next lookup
};

struct TargetState {
    Target target;
    TargetOperations operations;
    TargetFetches fetches;
    TargetOrigins origins;
    TargetLease lease;
    TargetAcquires near;
};

}  // namespace nearfetch

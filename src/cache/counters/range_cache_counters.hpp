// SPDX-License-Identifier: Apache-2.0
#pragma once

// The counters of a range cache with their meanings. Reports and JSON are generated from the table. The
// access types are those of 001, section III-B.

#include <array>
#include <cstdint>
#include <string_view>

namespace nearfetch {

/// The outcome of a get: exactly one per get.
enum class AccessType : std::uint8_t {
    hit,
    partial_hit,
    pending_hit,
    direct,
    conflicting,
    capacity,
    failing,
    bypassed
};

struct RangeCacheCounters {
    std::uint64_t gets = 0;
    std::uint64_t hits = 0;
    std::uint64_t partial_hits = 0;
    std::uint64_t pending_hits = 0;
    std::uint64_t direct = 0;
    std::uint64_t conflicting = 0;
    std::uint64_t capacity = 0;
    std::uint64_t failing = 0;
    std::uint64_t bypassed = 0;
    std::uint64_t deferred = 0;
    std::uint64_t bytes_requested = 0;
    std::uint64_t bytes_from_cache = 0;
    std::uint64_t bytes_from_network = 0;
    std::uint64_t puts = 0;
    std::uint64_t puts_combined = 0;
    std::uint64_t put_messages = 0;
    std::uint64_t flushes = 0;
    std::uint64_t flushes_elided = 0;
    std::uint64_t locks = 0;
    std::uint64_t locks_elided = 0;
    std::uint64_t lease_looks = 0;
    std::uint64_t lease_waits = 0;
    std::uint64_t evictions = 0;
    std::uint64_t polls = 0;
    std::uint64_t invalidations = 0;
    std::uint64_t index_resizes = 0;
    std::uint64_t buffer_resizes = 0;
    std::uint64_t evict_visited = 0;
    std::uint64_t evict_nonempty = 0;
    std::uint64_t prefetches = 0;
    std::uint64_t read_aheads = 0;
    std::uint64_t bytes_read_ahead = 0;
    std::uint64_t checked_hits = 0;
    std::uint64_t stale_hits = 0;
    std::uint64_t committed = 0;
    std::uint64_t dropped = 0;
    std::uint64_t own_memory = 0;
    std::uint64_t same_node = 0;
    std::uint64_t node_lookups = 0;
    std::uint64_t node_hits = 0;
    std::uint64_t bytes_from_node = 0;
    std::uint64_t node_offers = 0;
    std::uint64_t breaker_open = 0;
    std::uint64_t too_large = 0;
    std::uint64_t first_reads = 0;
    std::uint64_t forgotten = 0;
    std::uint64_t forgotten_by_locks = 0;
    std::uint64_t evicted_before = 0;
    std::uint64_t not_kept = 0;
    std::uint64_t bypassed_before = 0;
    std::uint64_t overwritten = 0;
    std::uint64_t distinct_bytes = 0;
    std::uint64_t plain_ns = 0;
    std::uint64_t saved_ns = 0;
    std::uint64_t spent_ns = 0;

    /// Counts one get of this type; `gets` stays the sum of the eight types.
    void count(AccessType type) noexcept;
    void add(const RangeCacheCounters& other) noexcept;

    friend bool operator==(const RangeCacheCounters&, const RangeCacheCounters&) noexcept = default;
};

/// One row of the table of counters.
struct CounterInfo {
    std::string_view name;
    std::uint64_t RangeCacheCounters::* member;
    std::string_view meaning;
};

inline constexpr std::array range_cache_counter_table{
    CounterInfo{"gets", &RangeCacheCounters::gets,
                "gets of the program: the sum of the eight types that follow"},
    CounterInfo{"hits", &RangeCacheCounters::hits, "all bytes were resident"},
    CounterInfo{"partial_hits", &RangeCacheCounters::partial_hits, "some bytes were resident or in flight"},
    CounterInfo{"pending_hits", &RangeCacheCounters::pending_hits,
                "all bytes were resident or in flight, some in flight"},
    CounterInfo{"direct", &RangeCacheCounters::direct, "misses for which there was room"},
    CounterInfo{"conflicting", &RangeCacheCounters::conflicting, "misses that evicted for an index slot"},
    CounterInfo{"capacity", &RangeCacheCounters::capacity, "misses that evicted for buffer space"},
    CounterInfo{"failing", &RangeCacheCounters::failing, "misses that were not cached"},
    CounterInfo{"bypassed", &RangeCacheCounters::bypassed, "gets that went to the network without a lookup"},
    CounterInfo{"deferred", &RangeCacheCounters::deferred,
                "ranges that the doorkeeper saw for the first time; their gets are among the bypassed"},
    CounterInfo{"bytes_requested", &RangeCacheCounters::bytes_requested,
                "bytes that the program's gets asked for"},
    CounterInfo{"bytes_from_cache", &RangeCacheCounters::bytes_from_cache,
                "bytes of gets served without the network, in-flight ones included"},
    CounterInfo{"bytes_from_network", &RangeCacheCounters::bytes_from_network,
                "bytes fetched that gets asked for"},
    CounterInfo{"puts", &RangeCacheCounters::puts, "puts and accumulates of the program"},
    CounterInfo{"puts_combined", &RangeCacheCounters::puts_combined,
                "of these, puts that were combined with others"},
    CounterInfo{"put_messages", &RangeCacheCounters::put_messages, "messages in which they were sent"},
    CounterInfo{"flushes", &RangeCacheCounters::flushes, "flushes of the program"},
    CounterInfo{"flushes_elided", &RangeCacheCounters::flushes_elided,
                "flushes that had nothing to complete and did not enter MPI"},
    CounterInfo{"locks", &RangeCacheCounters::locks, "MPI_Win_lock of the program"},
    CounterInfo{"locks_elided", &RangeCacheCounters::locks_elided,
                "of these, locks that did not enter MPI, nor did their unlocks"},
    CounterInfo{"lease_looks", &RangeCacheCounters::lease_looks,
                "8-byte reads of a target's word for a lease"},
    CounterInfo{"lease_waits", &RangeCacheCounters::lease_waits,
                "exclusive locks that waited for leases of others to end"},
    CounterInfo{"evictions", &RangeCacheCounters::evictions, "entries evicted to make room"},
    CounterInfo{"polls", &RangeCacheCounters::polls,
                "gets recognised as polls, and times that a window was refreshed because a program may have "
                "been polling"},
    CounterInfo{"invalidations", &RangeCacheCounters::invalidations,
                "times that all cached data was invalidated"},
    CounterInfo{"index_resizes", &RangeCacheCounters::index_resizes, "adaptations of the index size"},
    CounterInfo{"buffer_resizes", &RangeCacheCounters::buffer_resizes, "adaptations of the buffer size"},
    CounterInfo{"evict_visited", &RangeCacheCounters::evict_visited, "index slots visited to find victims"},
    CounterInfo{"evict_nonempty", &RangeCacheCounters::evict_nonempty, "of those, slots that held an entry"},
    CounterInfo{"prefetches", &RangeCacheCounters::prefetches,
                "ranges fetched because the program asked to prefetch"},
    CounterInfo{"read_aheads", &RangeCacheCounters::read_aheads,
                "misses that fetched more of their region than they asked for"},
    CounterInfo{"bytes_read_ahead", &RangeCacheCounters::bytes_read_ahead,
                "bytes that these fetched in addition"},
    CounterInfo{"checked_hits", &RangeCacheCounters::checked_hits,
                "hits that were fetched again and compared (check_hits)"},
    CounterInfo{"stale_hits", &RangeCacheCounters::stale_hits,
                "of these, hits whose bytes the target did not have"},
    CounterInfo{"committed", &RangeCacheCounters::committed, "transfers whose data entered the cache"},
    CounterInfo{"dropped", &RangeCacheCounters::dropped,
                "entries removed: stale, overwritten, or invalidated in flight"},
    CounterInfo{"own_memory", &RangeCacheCounters::own_memory,
                "of the bypassed gets, those of the process's own memory"},
    CounterInfo{"same_node", &RangeCacheCounters::same_node, "gets of other processes of the same node"},
    CounterInfo{
        "node_lookups", &RangeCacheCounters::node_lookups,
        "ranges that were missing, and were looked for among what other processes of the node have fetched"},
    CounterInfo{"node_hits", &RangeCacheCounters::node_hits, "of these, ranges that were found there"},
    CounterInfo{"bytes_from_node", &RangeCacheCounters::bytes_from_node,
                "bytes of these ranges, which are among the bytes from the cache"},
    CounterInfo{"node_offers", &RangeCacheCounters::node_offers,
                "ranges that were fetched, and kept for other processes of the node"},
    CounterInfo{"breaker_open", &RangeCacheCounters::breaker_open,
                "of the bypassed gets, those of targets whose circuit breaker is open or was never closed"},
    CounterInfo{"too_large", &RangeCacheCounters::too_large,
                "of the failing gets, those that are larger than the buffer"},
    CounterInfo{"first_reads", &RangeCacheCounters::first_reads,
                "gets from the network whose bytes had not been fetched before (this and the next six: an "
                "estimate from a sample, with --stats or --summary only; without own memory)"},
    CounterInfo{"forgotten", &RangeCacheCounters::forgotten,
                "gets from the network whose bytes had been fetched, but were forgotten by an acquire"},
    CounterInfo{"forgotten_by_locks", &RangeCacheCounters::forgotten_by_locks,
                "of these, those for which all acquires since were MPI_Win_lock or MPI_Win_lock_all"},
    CounterInfo{"evicted_before", &RangeCacheCounters::evicted_before,
                "gets from the network whose bytes had been cached, and were evicted or refreshed"},
    CounterInfo{"not_kept", &RangeCacheCounters::not_kept,
                "gets from the network whose bytes had been fetched, but found no room"},
    CounterInfo{"bypassed_before", &RangeCacheCounters::bypassed_before,
                "gets from the network whose bytes had been fetched, and that were bypassed, or the gets "
                "before them"},
    CounterInfo{"overwritten", &RangeCacheCounters::overwritten,
                "gets from the network whose bytes this process had changed by an accumulate or atomic"},
    CounterInfo{"distinct_bytes", &RangeCacheCounters::distinct_bytes,
                "different bytes that were fetched (an estimate from the same sample)"},
    CounterInfo{"plain_ns", &RangeCacheCounters::plain_ns,
                "what the gets that were looked up would have taken without a cache, as far as measured"},
    CounterInfo{"saved_ns", &RangeCacheCounters::saved_ns, "of that, what hits saved"},
    CounterInfo{"spent_ns", &RangeCacheCounters::spent_ns, "what the cache's own work took"},
};

inline void RangeCacheCounters::count(AccessType type) noexcept {
    // In the table the types follow `gets` in the order of the enumeration.
    ++gets;
    ++(this->*range_cache_counter_table[1 + static_cast<std::size_t>(type)].member);
}

inline void RangeCacheCounters::add(const RangeCacheCounters& other) noexcept {
    for (const CounterInfo& row : range_cache_counter_table)
        this->*row.member += other.*row.member;
}

}  // namespace nearfetch

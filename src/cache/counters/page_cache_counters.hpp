// SPDX-License-Identifier: Apache-2.0
#pragma once

// The counters of a page cache with their meanings; reports are generated from the table. Prefetching is
// counted in lines. Each line fetched speculatively ends as used or unused: prefetch_lines - used - unused
// are still waiting.

#include <array>
#include <cstdint>
#include <string_view>

namespace nearfetch {

struct PageCacheCounters {
    std::uint64_t hits = 0;
    std::uint64_t pending_hits = 0;
    std::uint64_t misses = 0;
    std::uint64_t bulk_gets = 0;
    std::uint64_t puts = 0;
    std::uint64_t bulk_puts = 0;
    std::uint64_t hints = 0;
    std::uint64_t get_messages = 0;
    std::uint64_t get_message_bytes = 0;
    std::uint64_t put_messages = 0;
    std::uint64_t put_message_bytes = 0;
    std::uint64_t prefetch_messages = 0;
    std::uint64_t prefetch_lines = 0;
    std::uint64_t prefetch_used = 0;
    std::uint64_t prefetch_late = 0;
    std::uint64_t prefetch_unused = 0;
    std::uint64_t hints_dropped = 0;
    std::uint64_t streams = 0;
    std::uint64_t evictions = 0;
    std::uint64_t not_admitted = 0;
    std::uint64_t waits = 0;
    std::uint64_t acquires = 0;
    std::uint64_t releases = 0;
    std::uint64_t bulk_bytes_from_cache = 0;

    void add(const PageCacheCounters& other) noexcept;

    friend bool operator==(const PageCacheCounters&, const PageCacheCounters&) noexcept = default;
};

/// One row of the table of a page cache's counters.
struct PageCacheCounterInfo {
    std::string_view name;
    std::uint64_t PageCacheCounters::* member;
    std::string_view meaning;
};

inline constexpr std::array page_cache_counter_table{
    PageCacheCounterInfo{"hits", &PageCacheCounters::hits,
                         "gets served from pages at once, prefetched and dirty bytes included"},
    PageCacheCounterInfo{"pending_hits", &PageCacheCounters::pending_hits,
                         "gets that waited for an outstanding transfer and started none"},
    PageCacheCounterInfo{"misses", &PageCacheCounters::misses, "gets that fetched lines"},
    PageCacheCounterInfo{"bulk_gets", &PageCacheCounters::bulk_gets,
                         "bulk gets, straight to the program's memory"},
    PageCacheCounterInfo{"puts", &PageCacheCounters::puts, "puts written into pages"},
    PageCacheCounterInfo{"bulk_puts", &PageCacheCounters::bulk_puts,
                         "bulk puts, straight from the program's memory"},
    PageCacheCounterInfo{"hints", &PageCacheCounters::hints, "prefetch hints of the program"},
    PageCacheCounterInfo{"get_messages", &PageCacheCounters::get_messages, "GETs started, for any reason"},
    PageCacheCounterInfo{"get_message_bytes", &PageCacheCounters::get_message_bytes, "bytes that they moved"},
    PageCacheCounterInfo{"put_messages", &PageCacheCounters::put_messages, "PUTs started"},
    PageCacheCounterInfo{"put_message_bytes", &PageCacheCounters::put_message_bytes, "bytes that they moved"},
    PageCacheCounterInfo{"prefetch_messages", &PageCacheCounters::prefetch_messages,
                         "of the GETs, those only for hints and read-ahead"},
    PageCacheCounterInfo{"prefetch_lines", &PageCacheCounters::prefetch_lines,
                         "lines fetched speculatively, also together with a miss"},
    PageCacheCounterInfo{"prefetch_used", &PageCacheCounters::prefetch_used, "of these, lines used later"},
    PageCacheCounterInfo{"prefetch_late", &PageCacheCounters::prefetch_late,
                         "of these, lines still in flight when they were used"},
    PageCacheCounterInfo{"prefetch_unused", &PageCacheCounters::prefetch_unused,
                         "of these, lines evicted or invalidated before their use"},
    PageCacheCounterInfo{"hints_dropped", &PageCacheCounters::hints_dropped,
                         "hints cut short because enough was in flight already"},
    PageCacheCounterInfo{"streams", &PageCacheCounters::streams,
                         "access patterns that were recognised for read-ahead"},
    PageCacheCounterInfo{"evictions", &PageCacheCounters::evictions, "pages evicted to make room"},
    PageCacheCounterInfo{"not_admitted", &PageCacheCounters::not_admitted,
                         "page parts fetched without room: every page was in use"},
    PageCacheCounterInfo{"waits", &PageCacheCounters::waits,
                         "times that a request had to wait for another's operation"},
    PageCacheCounterInfo{"acquires", &PageCacheCounters::acquires, "acquires, of a task or of a range"},
    PageCacheCounterInfo{"releases", &PageCacheCounters::releases, "releases, of all or of a range"},
    PageCacheCounterInfo{"bulk_bytes_from_cache", &PageCacheCounters::bulk_bytes_from_cache,
                         "bytes of bulk gets served from pages"},
};

inline void PageCacheCounters::add(const PageCacheCounters& other) noexcept {
    for (const PageCacheCounterInfo& row : page_cache_counter_table)
        this->*row.member += other.*row.member;
}

}  // namespace nearfetch

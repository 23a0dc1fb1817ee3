// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace nearfetch {

/// Configuration of a thread's page cache. Defaults are those of Ferguson and Buettner (2015), section III-B,
/// where given. Each field is also a setting: capacity_bytes is page_cache_capacity_bytes, in the environment
/// NEARFETCH_PAGE_CACHE_CAPACITY_BYTES.
struct PageCacheConfig {
    std::uint64_t capacity_bytes = 1ull << 20;  ///< data; the metadata adds less than half of it
    std::uint64_t page_bytes = 1024;            ///< a power of two, at most 64 lines
    std::uint64_t line_bytes = 64;              ///< a power of two; GETs are rounded to lines
    std::uint32_t dirty_pages = 32;             ///< at most half of the pages
    std::uint32_t operations = 64;              ///< limit of outstanding GETs and PUTs
    std::uint64_t bulk_bytes = 2048;            ///< gets and puts of this size and more bypass the pages
    std::string policy = "2q";                  ///< or "s3fifo"
    std::uint32_t new_percent = 25;             ///< 2Q: share of the pages for what was fetched once (Ain)
    std::uint32_t names_percent = 50;           ///< 2Q: names of evicted pages, over the pages (Aout)
    bool read_ahead = true;
    std::uint32_t read_ahead_items = 64;  ///< limit of read-ahead, in pages or accesses
    bool read_ahead_beyond_paper = true;  ///< backward and strided streams, adaptive distance
    bool combine_pages = true;            ///< adjacent pages share messages
    bool wait_for_writes = false;  ///< write back a page before its other lines are read, as the paper does

    friend bool operator==(const PageCacheConfig&, const PageCacheConfig&) = default;
};

}  // namespace nearfetch

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace nearfetch {

/// A page cache, one per thread. The defaults are those of Ferguson and Buettner (2015), section III-B, where
/// the paper gives any. Each is also a setting: capacity_bytes is page_cache_capacity_bytes, and
/// NEARFETCH_PAGE_CACHE_CAPACITY_BYTES in the environment.
struct PageCacheConfig {
    std::uint64_t capacity_bytes = 1ull << 20;  ///< of data; all the rest adds less than half of it
    std::uint64_t page_bytes = 1024;            ///< a power of two, at most 64 lines
    std::uint64_t line_bytes = 64;              ///< a power of two; what a GET is rounded up to
    std::uint32_t dirty_pages = 32;             ///< at most half of the pages
    std::uint32_t operations = 64;              ///< GETs and PUTs under way at a time
    std::uint64_t bulk_bytes = 2048;            ///< gets and puts from that size on go past the pages
    std::string policy = "2q";                  ///< or "s3fifo"
    bool read_ahead = true;
    std::uint32_t read_ahead_items = 64;  ///< most pages, or accesses, ahead of the reader
    bool read_ahead_beyond_paper = true;  ///< backwards and by strides, at a distance that adapts
    bool combine_pages = true;            ///< adjacent pages share messages
    bool wait_for_writes = false;  ///< write a page back before the rest of it is read, as the paper does

    friend bool operator==(const PageCacheConfig&, const PageCacheConfig&) = default;
};

}  // namespace nearfetch

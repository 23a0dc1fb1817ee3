// SPDX-License-Identifier: Apache-2.0
#pragma once

// What will be read next.
//
// 000, section III-A: when two lines of a page are read separately the rest of the page is read, and the page
// gets a trigger mark; when it is read again the next region is fetched, and marked in turn. Here the mark
// names a stream, and beyond the paper
//  - a stream runs forwards or backwards, whichever way the second line lay;
//  - misses at a constant distance are a stream, too: by pages when the distance is less than a page, else
//    exactly the lines of each access;
//  - how far ahead is the stream's own PrefetchDistance, in pages or accesses.
// What is wasted is bounded: a stream has never more ahead of its reader than the reader has read of it
// already, and never more than the configured most.
//
// Pure: it is told of misses and of first uses, and says which bytes to ask for.

#include <array>
#include <cstdint>

#include "base/types.hpp"
#include "cache/page_cache/prefetch_distance.hpp"

namespace nearfetch {

struct ReadAheadConfig {
    std::uint64_t page_bytes = 1024;
    std::uint32_t group_pages = 4;  ///< pages that one message may have
    std::uint32_t items_max = 64;   ///< pages, or accesses, ahead of the reader
    bool beyond_paper = true;       ///< false: forwards only, one page at a time
};

class ReadAhead {
  public:
    /// Names a stream; 0 is none.
    using Mark = std::uint8_t;

    explicit ReadAhead(const ReadAheadConfig& config);

    /// Two lines of the page were read separately, the later one in that direction (+1, -1) from the earlier.
    Mark sequential(Rank target, std::uint64_t page, int direction) noexcept;
    /// A get missed. \return the stream that it is found to be part of
    Mark missed(Rank target, std::uint64_t offset, std::uint64_t size_bytes) noexcept;
    /// What leads the mark was read. \return whether the stream may have something to fetch
    bool touched(Mark mark, Rank target, std::uint64_t offset, std::uint64_t now_ticks,
                 std::uint64_t waited_ticks) noexcept;
    /// What leads the mark was forgotten before anything of it was read.
    void unused(Mark mark, Rank target) noexcept;
    /// A GET that was waited for took that long.
    void latency(std::uint64_t ticks) noexcept { latency_ticks_ = ticks; }
    /// Of the last one; 0: there was none.
    std::uint64_t latency_ticks() const noexcept { return latency_ticks_; }

    /// What to fetch now for the stream: a range within `readable` (empty: nothing, or the mark is another
    /// target's stream by now). To be asked again until there is nothing.
    ByteRange next(Mark mark, Rank target, ByteRange readable) noexcept;
    std::uint64_t streams() const noexcept { return started_; }

  private:
    struct Stream {
        Rank target = -1;
        bool by_pages = true;
        std::int64_t step = 0;     ///< bytes from one item to the next
        std::uint64_t origin = 0;  ///< where item 0 begins
        std::uint64_t size_bytes = 0;
        std::int64_t current = 0;  ///< item that was read last
        std::int64_t next = 1;     ///< item to be fetched next
        std::uint64_t read = 1;    ///< items that were read
        std::uint64_t last_use = 0;
        PrefetchDistance distance;
    };
    struct Trail {
        Rank target = -1;
        std::uint64_t offset = 0;
        std::int64_t step = 0;
        std::uint64_t last_use = 0;
    };
    static constexpr std::size_t streams_max = 16;
    static constexpr std::size_t trails_max = 8;
    static constexpr std::int64_t step_most = 1 << 20;

    Mark start(Rank target, bool by_pages, std::int64_t step, std::uint64_t origin,
               std::uint64_t size_bytes) noexcept;

    ReadAheadConfig config_;
    std::array<Stream, streams_max + 1> streams_;  ///< [0] is not used
    std::array<Trail, trails_max> trails_;
    std::uint64_t uses_ = 0;
    std::uint64_t started_ = 0;
    std::uint64_t latency_ticks_ = 0;
};

}  // namespace nearfetch

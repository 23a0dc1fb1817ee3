// SPDX-License-Identifier: Apache-2.0
#pragma once

// Read-ahead: predicts the next reads.
//
// 000, section III-A: when two lines of a page are read separately, the rest of the page is fetched, and the
// page gets a trigger mark. When a marked page is read, the next region is fetched and marked. Here a mark
// names a stream. Beyond the paper:
// - a stream runs forward or backward, in the direction of the second line;
// - misses with a constant stride form a stream too: by pages if the stride is below a page, else by the
// lines of each access;
// - each stream has its own PrefetchDistance, in pages or accesses. Waste is bounded: a stream is never
// further ahead than its reader has read, nor than the configured limit.
//
// Pure: it is told of misses and first uses, and returns ranges to fetch.

#include <array>
#include <cstdint>

#include "base/types.hpp"
#include "cache/page_cache/prefetch_distance.hpp"

namespace nearfetch {

struct ReadAheadConfig {
    std::uint64_t page_bytes = 1024;
    std::uint32_t group_pages = 4;  ///< limit of pages per message
    std::uint32_t items_max = 64;   ///< limit of pages or accesses ahead of the reader
    bool beyond_paper = true;       ///< false: forward only, one page at a time
};

class ReadAhead {
  public:
    /// The number of a stream; 0 is none.
    using Mark = std::uint8_t;

    explicit ReadAhead(const ReadAheadConfig& config);

    /// Two lines of the page were read separately, the second in that direction (+1, -1) from the first.
    Mark sequential(Rank target, std::uint64_t page, int direction) noexcept;
    /// A get missed. \return the stream that it belongs to
    Mark missed(Rank target, std::uint64_t offset, std::uint64_t size_bytes) noexcept;
    /// The data with the mark was used. \return whether the stream may fetch more
    bool record_use(Mark mark, Rank target, std::uint64_t offset, std::uint64_t now_ticks,
                    std::uint64_t waited_ticks) noexcept;
    /// The data with the mark was evicted unused.
    void unused(Mark mark, Rank target) noexcept;
    /// A GET that was waited for took that long.
    void latency(std::uint64_t ticks) noexcept { latency_ticks_ = ticks; }
    /// Of the last such GET; 0: none.
    std::uint64_t latency_ticks() const noexcept { return latency_ticks_; }

    /// The next range to fetch within `readable`. Empty: nothing, or the mark belongs to another stream now.
    /// Ask until it is empty.
    ByteRange next(Mark mark, Rank target, ByteRange readable) noexcept;
    std::uint64_t streams() const noexcept { return started_; }

  private:
    struct Stream {
        Rank target = -1;
        bool by_pages = true;
        std::int64_t step = 0;     ///< bytes from one item to the next
        std::uint64_t origin = 0;  ///< start of item 0
        std::uint64_t size_bytes = 0;
        std::int64_t current = 0;  ///< last item read
        std::int64_t next = 1;     ///< next item to fetch
        std::uint64_t read = 1;    ///< items read
        std::uint64_t last_use = 0;
        PrefetchDistance distance;
    };
    struct StrideCandidate {
        Rank target = -1;
        std::uint64_t offset = 0;
        std::int64_t step = 0;
        std::uint64_t last_use = 0;
    };
    static constexpr std::size_t streams_max = 16;
    static constexpr std::size_t candidates_max = 8;
    static constexpr std::int64_t step_most = 1 << 20;

    Mark start(Rank target, bool by_pages, std::int64_t step, std::uint64_t origin,
               std::uint64_t size_bytes) noexcept;

    ReadAheadConfig config_;
    std::array<Stream, streams_max + 1> streams_;  ///< [0] is unused
    std::array<StrideCandidate, candidates_max> candidates_;
    std::uint64_t uses_ = 0;
    std::uint64_t started_ = 0;
    std::uint64_t latency_ticks_ = 0;
};

}  // namespace nearfetch

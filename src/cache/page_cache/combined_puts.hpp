// SPDX-License-Identifier: Apache-2.0
#pragma once

// The store of the write combiner: small puts of a window, waiting to become few large messages. It is the
// write-back half of 000's cache (sections III-B and III-C). Bytes are combined in pages with one dirty bit
// per byte. Each written byte leaves once, with its last value, in maximal contiguous runs.
//
// Two differences to the page cache's dirty pages. Nothing is read here, so pages have no valid lines, and a
// page is free as soon as its bytes are packed into a message. And all pages of a target leave together: a
// message of hundreds of runs costs hardly more than a message of one.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/per_rank.hpp"
#include "base/types.hpp"
#include "cache/page_cache/dirty_pages.hpp"
#include "cache/page_cache/page_table.hpp"

namespace nearfetch {

class CombinedPuts {
  public:
    static constexpr std::uint64_t page_bytes = 1024;

    /// \param capacity_bytes of pages, at least one page
    /// \throws std::bad_alloc
    CombinedPuts(Rank ranks, std::uint64_t capacity_bytes);

    /// Pages that a range spans, and free pages.
    static constexpr std::uint64_t pages_of(ByteRange range) noexcept {
        return (range.end - 1) / page_bytes - range.begin / page_bytes + 1;
    }
    std::uint64_t free_pages() const noexcept { return pages_.size() - dirty_.count(); }
    std::uint64_t capacity_bytes() const noexcept { return pages_.size() * page_bytes; }

    /// Before the first add() for a target. \throws std::bad_alloc
    void open(Rank target) { first_.make(target); }
    /// Stores bytes. \pre the target is open, and their pages exist, or enough pages are free
    void add(Rank target, ByteRange range, const std::byte* from) noexcept;

    /// Whether bytes of any target, or of that target, are stored.
    bool any() const noexcept { return dirty_.count() != 0; }
    bool any(Rank target) const noexcept { return first_page(target) != nothing; }
    /// Whether any byte of the range is stored.
    bool any(Rank target, ByteRange range) const noexcept;
    /// Copies the range if all its bytes are stored. \return whether they are
    bool read(Rank target, ByteRange range, std::byte* to) const noexcept;

    /// Drops the bytes of the range.
    void discard(Rank target, ByteRange range) noexcept;

    /// Moves the target's bytes to `to`, run by run in offset order, up to its size and most_runs runs. \pre
    /// `to` is not empty
    /// \return the runs; valid until the next call
    std::span<const ByteRange> take(Rank target, std::span<std::byte> to) noexcept;

    static constexpr std::size_t most_runs = 1024;

  private:
    /// Metadata of the dirty entry with the same index.
    struct Page {
        Rank target = 0;
        std::uint64_t number = 0;
        std::uint32_t next = nothing;  ///< next page of the target
    };
    /// Space left in a message.
    struct Room {
        std::byte* to;
        std::uint64_t bytes;
    };
    static constexpr std::uint32_t nothing = DirtyPages::nothing;

    std::uint32_t first_page(Rank target) const noexcept { return first_[target]; }
    std::byte* memory_of(std::uint32_t page) noexcept { return memory_.get() + page * page_bytes; }
    const std::byte* memory_of(std::uint32_t page) const noexcept {
        return memory_.get() + page * page_bytes;
    }
    /// Calls visit(page, begin, end) for each stored page of the range until it returns false. \return
    /// whether it never did
    template <class Visitor>
    bool for_each_here(Rank target, ByteRange range, Visitor&& visit) const;
    std::uint32_t find(Rank target, std::uint64_t number) const noexcept;
    std::uint32_t attach(Rank target, std::uint64_t number) noexcept;
    void write(std::uint32_t page, std::uint64_t begin, std::uint64_t end, const std::byte* from) noexcept;
    bool take_page(std::uint32_t page, Room& room) noexcept;

    DirtyPages dirty_;
    PageTable table_;
    std::vector<Page> pages_;
    std::unique_ptr<std::byte[]> memory_;
    PerRank<std::uint32_t> first_;
    std::vector<std::uint32_t> sorted_;
    std::vector<ByteRange> runs_;
    std::uint32_t last_ = nothing;  ///< the page written last
};

}  // namespace nearfetch

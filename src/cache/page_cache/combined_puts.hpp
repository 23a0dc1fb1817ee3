// SPDX-License-Identifier: Apache-2.0
#pragma once

// Small puts of a window on their way to being few large ones: the write-back half of 000's cache (section
// III-B and III-C) without the rest of it. Bytes are combined in pages, one dirty bit per byte; what is
// taken out is every written byte once, with its last value, in runs as long as they are contiguous. No byte
// that was not put ever leaves.
//
// Two differences to the page cache's own dirty pages. Nothing is read here, so pages have no valid lines and
// need no PUT under way to be remembered: what is taken out is packed into the message's memory, and the page
// is free at once. And pages do not leave one by one when there are too many: where a message costs
// microseconds, one of hundreds of runs costs hardly more than one of a single run, so a target's pages leave
// together.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/types.hpp"
#include "cache/page_cache/dirty_pages.hpp"
#include "cache/page_cache/page_table.hpp"

namespace nearfetch {

class CombinedPuts {
  public:
    static constexpr std::uint64_t page_bytes = 1024;

    /// \param capacity_bytes of pages, at least one
    /// \throws std::bad_alloc
    CombinedPuts(Rank ranks, std::uint64_t capacity_bytes);

    /// Pages that a range touches, and pages that are free.
    static constexpr std::uint64_t pages_of(ByteRange range) noexcept {
        return (range.end - 1) / page_bytes - range.begin / page_bytes + 1;
    }
    std::uint64_t free_pages() const noexcept { return pages_.size() - dirty_.count(); }
    std::uint64_t capacity_bytes() const noexcept { return pages_.size() * page_bytes; }

    /// Takes over the bytes. \pre they touch no more pages than are free, or have their pages already
    void add(Rank target, ByteRange range, const std::byte* from) noexcept;

    /// Whether something waits for that target (for any).
    bool any() const noexcept { return dirty_.count() != 0; }
    bool any(Rank target) const noexcept { return first_page(target) != nothing; }
    /// Whether any byte of the range does.
    bool any(Rank target, ByteRange range) const noexcept;
    /// Copies the range if all of its bytes are here.
    bool read(Rank target, ByteRange range, std::byte* to) const noexcept;

    /// Forgets the bytes of the range.
    void discard(Rank target, ByteRange range) noexcept;

    /// Moves what waits for that target to `to`, one run after the other in the order of their offsets, as
    /// much of it as has room there and is no more than most_runs runs. \pre `to` is not empty
    /// \return the runs; valid until the next call
    std::span<const ByteRange> take(Rank target, std::span<std::byte> to) noexcept;

    static constexpr std::size_t most_runs = 1024;

  private:
    /// What the dirty entry of the same index belongs to.
    struct Page {
        Rank target = 0;
        std::uint64_t number = 0;
        std::uint32_t next = nothing;  ///< of the target's
    };
    /// Room that is left in a message.
    struct Room {
        std::byte* to;
        std::uint64_t bytes;
    };
    static constexpr std::uint32_t nothing = DirtyPages::nothing;

    std::uint32_t& first_page(Rank target) noexcept { return first_[static_cast<std::size_t>(target)]; }
    std::uint32_t first_page(Rank target) const noexcept { return first_[static_cast<std::size_t>(target)]; }
    std::byte* memory_of(std::uint32_t page) noexcept { return memory_.get() + page * page_bytes; }
    const std::byte* memory_of(std::uint32_t page) const noexcept {
        return memory_.get() + page * page_bytes;
    }
    /// Calls visit(page, begin, end) for the part of the range in each page that is here, until it returns
    /// false; returns whether it never did.
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
    std::vector<std::uint32_t> first_;  ///< by target
    std::vector<std::uint32_t> sorted_;
    std::vector<ByteRange> runs_;
    std::uint32_t last_ = nothing;  ///< the page that was written last
};

}  // namespace nearfetch

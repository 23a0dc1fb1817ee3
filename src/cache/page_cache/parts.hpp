// SPDX-License-Identifier: Apache-2.0
#pragma once

// Ranges cut into pages and lines, for the page cache's sources.

#include <algorithm>
#include <limits>

#include "cache/page_cache/page_cache.hpp"

namespace nearfetch {

/// The part of a range in one page.
struct PageCache::Part {
    std::uint64_t number;  ///< page number
    std::uint64_t begin;   ///< in the page
    std::uint64_t end;
    std::uint64_t offset;      ///< of `begin`, in the target's part
    std::uint64_t first_line;  ///< of the page, in the target's part
    LineMask lines;            ///< the page's lines with bytes of the range

    std::uint64_t size() const noexcept { return end - begin; }
};

/// The state of a range of at most lines_per_operation_ lines. Masks count from `first_line`.
struct PageCache::Window {
    ByteRange range;
    std::uint64_t first_line;
    LineMask missing;
    LineMask arriving = 0;   ///< a subset of the missing lines
    bool looked_up = false;  ///< false: it has no page
};

/// Calls visit(part) for each page of the range, in order.
template <class Visitor>
void PageCache::for_each_part(ByteRange range, Visitor&& visit) const {
    for (std::uint64_t at = range.begin; at < range.end;) {
        Part part;
        part.number = at >> page_shift_;
        part.begin = at & page_mask_;
        part.end = std::min(page_mask_ + 1, part.begin + (range.end - at));
        part.offset = at;
        part.first_line = part.number << (page_shift_ - line_shift_);
        part.lines = line_mask(part.begin >> line_shift_, (part.end - 1) >> line_shift_);
        visit(part);
        at += part.size();
    }
}

/// Calls visit(page) for each cached page of the range, in any order. \pre the range is not empty
template <class Visitor>
void PageCache::for_each_page(Rank target, ByteRange range, Visitor&& visit) {
    const std::uint64_t first = range.begin >> page_shift_;
    const std::uint64_t last = (range.end - 1) >> page_shift_;
    if (last - first > pages_.size()) {
        for (Page& page : pages_)
            if (page.target == target && page.number >= first && page.number <= last) visit(page);
        return;
    }
    table_.for_each(target, first, last, [&](std::uint32_t index) {
        visit(pages_[index]);
        return true;
    });
}

/// The page's lines that have all their bytes of [begin, end).
inline LineMask PageCache::valid_within(const Page& page, std::uint64_t begin,
                                        std::uint64_t end) const noexcept {
    if (page.cut == 0) [[likely]]
        return page.valid();
    return page.valid() | cut_lines_.within(page, index_of(page), begin, end);
}

/// The operation's lines of which it has only some bytes. \pre it is not bulk
inline LineMask PageCache::cut_lines(const Operation& op) const noexcept {
    const std::uint64_t mask = (std::uint64_t{1} << line_shift_) - 1;
    const std::uint64_t last = ((op.range().end - 1) >> line_shift_) - (op.offset >> line_shift_);
    return LineMask{(op.offset & mask) != 0} | LineMask{(op.range().end & mask) != 0} << last;
}

/// The page's lines with bytes of the range. \pre there is one
inline LineMask PageCache::lines_within(const Page& page, ByteRange range) const noexcept {
    const std::uint64_t base = page.number << page_shift_;
    const std::uint64_t begin = range.begin > base ? range.begin - base : 0;
    const std::uint64_t end = std::min(page_mask_ + 1, range.end - base);
    return line_mask(begin >> line_shift_, (end - 1) >> line_shift_);
}

/// The operation's lines with bytes of the range. \pre it is not bulk, and there is one
inline LineMask PageCache::lines_within(const Operation& op, ByteRange range) const noexcept {
    const std::uint64_t base = op.offset >> line_shift_;
    return line_mask((std::max(range.begin, op.offset) >> line_shift_) - base,
                     ((std::min(range.end, op.range().end) - 1) >> line_shift_) - base);
}

/// The bytes of the lines, clipped to the readable range.
inline ByteRange PageCache::line_bytes_of(std::uint64_t first_line, std::uint64_t last_line,
                                          ByteRange readable) const noexcept {
    return {std::max(first_line << line_shift_, readable.begin),
            std::min((last_line + 1) << line_shift_, readable.end)};
}

}  // namespace nearfetch

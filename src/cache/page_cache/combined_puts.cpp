// SPDX-License-Identifier: Apache-2.0
#include "cache/page_cache/combined_puts.hpp"

#include <algorithm>

#include "base/copy.hpp"

namespace nearfetch {

namespace {

std::uint32_t pages_in(std::uint64_t capacity_bytes) {
    return static_cast<std::uint32_t>(std::max<std::uint64_t>(capacity_bytes / CombinedPuts::page_bytes, 1));
}

/// Calls visit(number, begin, end) for the part of the range in each page until it returns false. \return
/// whether it never did
template <class Visitor>
bool for_each_part(ByteRange range, Visitor&& visit) {
    constexpr std::uint64_t bytes = CombinedPuts::page_bytes;
    for (std::uint64_t at = range.begin; at < range.end;) {
        const std::uint64_t begin = at % bytes;
        const std::uint64_t end = std::min(bytes, begin + (range.end - at));
        if (!visit(at / bytes, begin, end)) return false;
        at += end - begin;
    }
    return true;
}

}  // namespace

CombinedPuts::CombinedPuts(Rank ranks, std::uint64_t capacity_bytes)
    : dirty_(pages_in(capacity_bytes), page_bytes),
      table_(pages_in(capacity_bytes)),
      pages_(pages_in(capacity_bytes)),
      memory_(new std::byte[pages_.size() * page_bytes]),
      first_(ranks, nothing) {
    sorted_.reserve(pages_.size());
    runs_.reserve(most_runs);
}

std::uint32_t CombinedPuts::find(Rank target, std::uint64_t number) const noexcept {
    if (last_ != nothing && pages_[last_].number == number && pages_[last_].target == target) return last_;
    return table_.find(target, number);
}

std::uint32_t CombinedPuts::attach(Rank target, std::uint64_t number) noexcept {
    const std::uint32_t page = dirty_.attach(0);
    pages_[page] = {target, number, first_page(target)};
    first_.make(target) = page;
    table_.insert(target, number, page);
    return page;
}

void CombinedPuts::write(std::uint32_t page, std::uint64_t begin, std::uint64_t end,
                         const std::byte* from) noexcept {
    copy_bytes(memory_of(page) + begin, from, end - begin);
    dirty_.set(page, begin, end);
    last_ = page;
}

void CombinedPuts::add(Rank target, ByteRange range, const std::byte* from) noexcept {
    for_each_part(range, [&](std::uint64_t number, std::uint64_t begin, std::uint64_t end) {
        const std::uint32_t page = find(target, number);
        write(page != nothing ? page : attach(target, number), begin, end, from);
        from += end - begin;
        return true;
    });
}

template <class Visitor>
bool CombinedPuts::for_each_here(Rank target, ByteRange range, Visitor&& visit) const {
    if (range.size() / page_bytes <= dirty_.count())
        return for_each_part(range, [&](std::uint64_t number, std::uint64_t begin, std::uint64_t end) {
            const std::uint32_t page = find(target, number);
            return page == nothing || visit(page, begin, end);
        });
    // A large range spans more pages than the target has here.
    for (std::uint32_t page = first_page(target); page != nothing; page = pages_[page].next) {
        const std::uint64_t base = pages_[page].number * page_bytes;
        const std::uint64_t begin = std::max(base, range.begin), end = std::min(base + page_bytes, range.end);
        if (begin < end && !visit(page, begin - base, end - base)) return false;
    }
    return true;
}

bool CombinedPuts::any(Rank target, ByteRange range) const noexcept {
    return any(target) &&
           !for_each_here(target, range, [this](std::uint32_t page, std::uint64_t begin, std::uint64_t end) {
               return !dirty_.any(page, begin, end);
           });
}

void CombinedPuts::discard(Rank target, ByteRange range) noexcept {
    if (!any(target)) return;
    for_each_here(target, range, [this](std::uint32_t page, std::uint64_t begin, std::uint64_t end) {
        dirty_.clear(page, begin, end);
        return true;
    });
}

bool CombinedPuts::read(Rank target, ByteRange range, std::byte* to) const noexcept {
    const auto is_here = [&](std::uint64_t number, std::uint64_t begin, std::uint64_t end) {
        const std::uint32_t page = find(target, number);
        return page != nothing && dirty_.all(page, begin, end);
    };
    if (!any(target) || !for_each_part(range, is_here)) return false;
    for_each_part(range, [&](std::uint64_t number, std::uint64_t begin, std::uint64_t end) {
        copy_bytes(to, memory_of(find(target, number)) + begin, end - begin);
        to += end - begin;
        return true;
    });
    return true;
}

std::span<const ByteRange> CombinedPuts::take(Rank target, std::span<std::byte> to) noexcept {
    sorted_.clear();
    runs_.clear();
    for (std::uint32_t page = first_page(target); page != nothing; page = pages_[page].next)
        sorted_.push_back(page);
    std::ranges::sort(sorted_, {}, [this](std::uint32_t page) { return pages_[page].number; });
    Room room{to.data(), to.size()};
    std::size_t taken = 0;
    while (taken < sorted_.size() && take_page(sorted_[taken], room))
        ++taken;
    // The other pages stay, in their order.
    first_.make(target) = taken < sorted_.size() ? sorted_[taken] : nothing;
    for (std::size_t i = 0; i < sorted_.size(); ++i) {
        const std::uint32_t page = sorted_[i];
        if (i >= taken) {
            pages_[page].next = i + 1 < sorted_.size() ? sorted_[i + 1] : nothing;
            continue;
        }
        table_.erase(target, pages_[page].number);
        dirty_.detach(page);
        if (last_ == page) last_ = nothing;
    }
    return runs_;
}

/// \return whether all of the page was taken
bool CombinedPuts::take_page(std::uint32_t page, Room& room) noexcept {
    const std::uint64_t base = pages_[page].number * page_bytes;
    for (std::uint64_t begin = 0; (begin = dirty_.next_set(page, begin)) < page_bytes;) {
        const std::uint64_t end = std::min(dirty_.next_clear(page, begin), begin + room.bytes);
        const bool goes_on = !runs_.empty() && runs_.back().end == base + begin;
        if (begin == end || (!goes_on && runs_.size() == most_runs)) return false;
        copy_bytes(room.to, memory_of(page) + begin, end - begin);
        room = {room.to + (end - begin), room.bytes - (end - begin)};
        if (goes_on)
            runs_.back().end = base + end;
        else
            runs_.push_back({base + begin, base + end});
        dirty_.clear(page, begin, end);
        begin = end;
    }
    return true;
}

}  // namespace nearfetch

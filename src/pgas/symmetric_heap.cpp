// SPDX-License-Identifier: Apache-2.0
#include "pgas/symmetric_heap.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <limits>
#include <new>
#include <span>

#include "base/language.hpp"
#include "pgas/ordered.hpp"
#include "pgas/runtime.hpp"

namespace nearfetch::pgas {

namespace {

constexpr std::uint64_t alignment = 64;  // of allocations
/// A segment that is added has at least this part of what there is.
constexpr std::uint64_t least_part = 8;

/// Rounded up; the largest multiple on overflow.
std::uint64_t whole(std::uint64_t bytes, std::uint64_t unit) noexcept {
    constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
    return bytes > most - unit ? most / unit * unit : (bytes + unit - 1) / unit * unit;
}

/// End of an allocation, with padding.
std::uint64_t end_of(std::uint64_t address, std::size_t bytes) noexcept {
    return address + whole(bytes, alignment);
}

}  // namespace

SymmetricHeap::SymmetricHeap(Job& job, std::uint64_t page_bytes)
    : job_(job), page_bytes_(std::max<std::uint64_t>(page_bytes, 4096)) {
    const std::uint64_t bytes = job.segment().size() / page_bytes_ * page_bytes_;
    if (bytes == 0) return;
    segments_.emplace(0, bytes);
    free_.emplace(0, bytes);
}

std::uint64_t SymmetricHeap::take(std::size_t bytes) {
    std::optional<std::uint64_t> there = find_room(bytes);
    if (!there && reclaim()) there = find_room(bytes);
    if (!there) {
        grow(bytes);
        there = find_room(bytes);
    }
    return *there;
}

std::uint64_t SymmetricHeap::allocate(std::size_t bytes) {
    const std::size_t wanted_bytes = std::max<std::size_t>(bytes, 1);
    const std::uint64_t there = take(wanted_bytes);
    freeable_.emplace(there, end_of(there, wanted_bytes));
    return there;
}

void SymmetricHeap::free(std::uint64_t address) {
    const auto freeable = freeable_.find(address);
    if (freeable == freeable_.end())
        throw Error("free: address " + std::to_string(address),
                    "no allocation begins there: it was freed before, or allocate() has not returned it",
                    "free what allocate() has returned, once");
    const std::uint64_t end = freeable->second;
    freeable_.erase(freeable);
    clear(address, end);
    give_back(address, end);
}

std::uint64_t SymmetricHeap::reallocate(std::uint64_t address, std::size_t bytes, std::size_t wanted_bytes) {
    const auto freeable = freeable_.find(address);
    const bool may_be_freed = freeable != freeable_.end();
    const std::uint64_t end = may_be_freed ? freeable->second : end_of(address, bytes);
    if (may_be_freed) wanted_bytes = std::max<std::size_t>(wanted_bytes, 1);
    const auto replace = [&] {
        const auto free_before = free_;
        give_back(address, end);
        const std::optional<std::uint64_t> there = find_room(wanted_bytes);
        if (there)
            clear(address, end);
        else
            free_ = free_before;
        return there;
    };
    std::optional<std::uint64_t> there = replace();
    if (!there && reclaim()) there = replace();
    if (!there) {
        grow(wanted_bytes);
        there = replace();
    }
    if (may_be_freed) {
        freeable_.erase(freeable);
        freeable_.emplace(*there, end_of(*there, wanted_bytes));
    }
    return *there;
}

std::uint64_t SymmetricHeap::allocate_droppable(std::size_t bytes) {
    droppable_ = true;
    return take(bytes);
}

void SymmetricHeap::drop(std::uint64_t address, std::size_t bytes) noexcept {
    if (bytes == 0) return;
    try {
        const std::lock_guard lock(mutex_);
        dropped_.emplace_back(address, end_of(address, bytes));
    } catch (const std::bad_alloc&) {  // the list stays as it is
    }
}

std::optional<std::uint64_t> SymmetricHeap::find_room(std::size_t bytes) {
    const auto gap = std::find_if(free_.begin(), free_.end(),
                                  [&](const auto& range) { return range.second - range.first >= bytes; });
    if (gap == free_.end()) return std::nullopt;
    const auto [begin, end] = *gap;
    free_.erase(gap);
    if (const std::uint64_t taken = std::min(end, end_of(begin, bytes)); taken != end)
        free_.emplace(taken, end);
    return begin;
}

void SymmetricHeap::give_back(std::uint64_t begin, std::uint64_t end) {
    if (begin == end) return;
    auto next = free_.lower_bound(begin);
    // Ranges of two segments are never merged, because no two segments touch.
    if (next != free_.end() && next->first == end) {
        end = next->second;
        next = free_.erase(next);
    }
    if (next != free_.begin())
        if (const auto before = std::prev(next); before->second == begin) {
            begin = before->first;
            free_.erase(before);
        }
    free_.emplace(begin, end);
}

void SymmetricHeap::clear(std::uint64_t begin, std::uint64_t end) {
    if (begin == end) return;
    std::memset(job_.segment(begin).data(), 0, end - begin);
}

void SymmetricHeap::no_room(std::size_t bytes, const std::string& why) const {
    std::uint64_t all = 0, left = 0;
    for (const auto& [begin, end] : segments_)
        all += end - begin;
    for (const auto& [begin, end] : free_)
        left += end - begin;
    throw Error("no memory for " + std::to_string(bytes) + " bytes in each rank",
                "each has " + std::to_string(all - left) + " bytes in use and " + std::to_string(left) +
                    " free; " + why,
                in_words({.cpp = "free() allocations and let arrays go, use more nodes, or store less",
                          .python = "del arrays that are done with, use more nodes, or a smaller dtype"}));
}

// All ranks reclaim in the same order, so that they agree whether there is room.
bool SymmetricHeap::reclaim() {
    if (!droppable_) return false;
    Context& context = Context::here();
    pgas::barrier(context, std::memory_order_seq_cst);  // earlier puts to this memory are complete
    std::vector<Range> own;
    {
        const std::lock_guard lock(mutex_);
        own = dropped_;
    }
    const std::vector<Range> all = common(std::move(own));
    for (const auto& [begin, end] : all) {
        clear(begin, end);
        give_back(begin, end);
    }
    {
        const std::lock_guard lock(mutex_);
        std::erase_if(dropped_,
                      [&](const Range& one) { return std::binary_search(all.begin(), all.end(), one); });
    }
    pgas::barrier(context, std::memory_order_seq_cst);  // nobody puts before it is zero
    return !all.empty();
}

void SymmetricHeap::grow(std::size_t bytes) {
    Context::here().runtime().barrier();  // compares what the ranks are in
    give_back_empty_segments();
    std::uint64_t all = 0;
    for (const auto& [begin, end] : segments_)
        all += end - begin;
    const std::uint64_t exact = whole(std::max<std::size_t>(bytes, 1), page_bytes_);
    const std::uint64_t generous = std::max({exact, whole(all / least_part, page_bytes_), first_bytes});
    AddedSegment added = job_.add_segment(generous);
    std::uint64_t size = generous;
    if (!added.refused.empty() && exact < generous) added = job_.add_segment(size = exact);
    if (!added.refused.empty()) no_room(bytes, added.refused);
    segments_.emplace(added.address, added.address + size);
    free_.emplace(added.address, added.address + size);
}

// A segment goes only while no other thread of any rank runs, and nothing is outstanding there.
void SymmetricHeap::give_back_empty_segments() {
    std::vector<Range> empty;
    for (const auto& [begin, end] : segments_)
        if (const auto gap = free_.find(begin); begin != 0 && gap != free_.end() && gap->second == end)
            empty.emplace_back(begin, end);
    if (empty.empty()) return;
    if (!Context::here().runtime().single_threaded()) empty.clear();
    std::erase_if(empty, [&](const Range& segment) { return !job_.is_idle(segment.first); });
    for (const auto& [begin, end] : common(std::move(empty))) {
        job_.remove_segment(begin);
        segments_.erase(begin);
        free_.erase(begin);
    }
}

std::vector<SymmetricHeap::Range> SymmetricHeap::common(std::vector<Range> own) {
    const auto bytes_of = [](const std::vector<Range>& ranges) {
        std::vector<std::uint64_t> words{ranges.size()};
        for (const auto& [begin, end] : ranges)
            words.insert(words.end(), {begin, end});
        const auto bytes = std::as_bytes(std::span(words));
        return std::vector<std::byte>(bytes.begin(), bytes.end());
    };
    const auto receive = [&] {
        Message message;
        job_.receive(Runtime::memory_port, message, true);
        std::vector<std::uint64_t> words(message.bytes.size() / sizeof(std::uint64_t));
        std::memcpy(words.data(), message.bytes.data(), words.size() * sizeof(std::uint64_t));
        std::vector<Range> ranges;
        for (std::size_t n = 1; n < words.size(); n += 2)
            ranges.emplace_back(words[n], words[n + 1]);
        return ranges;
    };
    std::sort(own.begin(), own.end());
    if (job_.rank() != 0) {
        job_.send(0, Runtime::memory_port, bytes_of(own));
        return receive();
    }
    for (Rank r = 1; r < job_.ranks(); ++r) {
        const std::vector<Range> other = receive();
        std::vector<Range> both;
        std::set_intersection(own.begin(), own.end(), other.begin(), other.end(), std::back_inserter(both));
        own = std::move(both);
    }
    for (Rank r = 1; r < job_.ranks(); ++r)
        job_.send(r, Runtime::memory_port, bytes_of(own));
    return own;
}

}  // namespace nearfetch::pgas

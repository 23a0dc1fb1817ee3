// SPDX-License-Identifier: Apache-2.0
#include "rma/write_combiner.hpp"

#include <new>

#include "base/assert.hpp"

namespace nearfetch {

namespace {

constexpr std::uint64_t page_bytes = CombinedPuts::page_bytes;

}  // namespace

WriteCombiner::WriteCombiner(Rank ranks, std::uint64_t buffer_bytes)
    : combined_(ranks, buffer_bytes / 2), memory_(new std::byte[ring_bytes()]) {
    // All that is combined for all targets may have to be sent at any time, one of them around the ring's
    // end.
    message_.reserve(CombinedPuts::most_runs);
    under_way_.reserve(most_under_way + combined_.free_pages() + 1);
}

bool WriteCombiner::has_room(Rank target, std::span<const ByteRun> runs) noexcept try {
    combined_.open(target);
    std::uint64_t pages = 0;
    for (const ByteRun& run : runs)
        pages += CombinedPuts::pages_of(run.range());
    // The ring is as large as all pages: what is combined has room in it, if no more than that is used.
    return pages * page_bytes + used_ <= combined_.free_pages() * page_bytes &&
           under_way_.size() < most_under_way;
} catch (const std::bad_alloc&) {
    return false;
}

bool WriteCombiner::has(Rank target) const noexcept {
    return combined_.any(target) ||
           std::ranges::any_of(under_way_, [target](const UnderWay& each) { return each.target == target; });
}

std::span<const ByteRun> WriteCombiner::next_message(Rank target) noexcept {
    const std::uint64_t end = (begin_ + used_) % ring_bytes();
    const std::uint64_t room = std::min(ring_bytes() - end, ring_bytes() - used_);
    NF_EXPECT(room > 0);
    std::byte* from = memory_.get() + end;
    if (under_way_.empty() || under_way_.back().target != target) under_way_.push_back({target, 0, 0});
    UnderWay& last = under_way_.back();
    last.issued = not_started;
    message_.clear();
    for (const ByteRange& run : combined_.take(target, {from, room})) {
        message_.push_back({run.begin, run.size(), from});
        from += run.size();
        used_ += run.size();
        last.bytes += run.size();
    }
    return message_;
}

void WriteCombiner::completed(Rank target, std::uint64_t since) noexcept {
    std::size_t gone = 0;
    for (UnderWay& each : under_way_)
        if (each.target == target && each.issued <= since) each.target = -1;
    while (gone < under_way_.size() && under_way_[gone].target == -1) {
        begin_ = (begin_ + under_way_[gone].bytes) % ring_bytes();
        used_ -= under_way_[gone].bytes;
        ++gone;
    }
    under_way_.erase(under_way_.begin(), under_way_.begin() + static_cast<std::ptrdiff_t>(gone));
    if (used_ == 0) begin_ = 0;
}

}  // namespace nearfetch

// SPDX-License-Identifier: Apache-2.0
#include "cache/page_cache/read_ahead.hpp"

#include <algorithm>
#include <cstdlib>
#include <limits>

#include "base/assert.hpp"

namespace nearfetch {

namespace {

std::int64_t difference(std::uint64_t to, std::uint64_t from) noexcept {
    return static_cast<std::int64_t>(to - from);
}

}  // namespace

ReadAhead::ReadAhead(const ReadAheadConfig& config) : config_(config) {}

ReadAhead::Mark ReadAhead::start(Rank target, bool by_pages, std::int64_t step, std::uint64_t origin,
                                 std::uint64_t size_bytes) noexcept {
    // Replaces the least recently used stream.
    std::size_t mark = 1;
    for (std::size_t i = 2; i < streams_.size(); ++i)
        if (streams_[i].last_use < streams_[mark].last_use) mark = i;
    Stream& stream = streams_[mark];
    stream = Stream();
    stream.target = target;
    stream.by_pages = by_pages;
    stream.step = step;
    stream.origin = origin;
    stream.size_bytes = size_bytes;
    stream.last_use = ++uses_;
    // At least two messages of pages, so that pages share messages.
    const std::uint32_t least = by_pages ? std::min(2 * config_.group_pages, config_.items_max) : 1;
    stream.distance = PrefetchDistance({least, config_.items_max, std::max(least, 4u)});
    ++started_;
    return static_cast<Mark>(mark);
}

ReadAhead::Mark ReadAhead::sequential(Rank target, std::uint64_t page, int direction) noexcept {
    const auto bytes = static_cast<std::int64_t>(config_.page_bytes);
    return start(target, true, direction * bytes, page * config_.page_bytes, config_.page_bytes);
}

ReadAhead::Mark ReadAhead::missed(Rank target, std::uint64_t offset, std::uint64_t size_bytes) noexcept {
    if (!config_.beyond_paper) return 0;
    StrideCandidate* closest = nullptr;
    StrideCandidate* least_recent = &candidates_[0];
    std::int64_t nearest_step = step_most;
    for (StrideCandidate& candidate : candidates_) {
        if (candidate.last_use < least_recent->last_use) least_recent = &candidate;
        if (candidate.target != target) continue;
        const std::int64_t step = difference(offset, candidate.offset);
        if (step == candidate.step && step != 0) {
            // The third access with this stride starts a stream.
            candidate = StrideCandidate();
            const auto page = static_cast<std::int64_t>(config_.page_bytes);
            const bool by_pages = std::abs(step) < page;
            const Mark mark =
                by_pages ? start(target, true, step > 0 ? page : -page,
                                 offset / config_.page_bytes * config_.page_bytes, config_.page_bytes)
                         : start(target, false, step, offset, size_bytes);
            if (!by_pages) streams_[mark].read = 3;
            return mark;
        }
        if (std::abs(step) < nearest_step) {
            closest = &candidate;
            nearest_step = std::abs(step);
        }
    }
    if (closest != nullptr) {
        closest->step = difference(offset, closest->offset);
    } else {
        closest = least_recent;
        closest->target = target;
        closest->step = 0;
    }
    closest->offset = offset;
    closest->last_use = ++uses_;
    return 0;
}

bool ReadAhead::record_use(Mark mark, Rank target, std::uint64_t offset, std::uint64_t now_ticks,
                           std::uint64_t waited_ticks) noexcept {
    NF_EXPECT(mark != 0 && mark < streams_.size());
    Stream& stream = streams_[mark];
    if (stream.target != target) return false;
    // Items of pages may be read at any byte, items of accesses perhaps not from their first.
    const std::int64_t distance = difference(offset, stream.origin);
    const std::int64_t span = std::abs(stream.step);
    const std::int64_t along = stream.step > 0 ? distance : stream.by_pages ? span - 1 - distance : -distance;
    const std::int64_t slack = stream.by_pages ? 0 : span / 2;
    if (along + slack < 0) return false;
    const std::int64_t item = (along + slack) / span;
    // The mark's number may belong to another stream by now.
    if (item < stream.current || item > stream.next + config_.items_max) return false;
    stream.last_use = ++uses_;
    if (item == stream.current && stream.read > 1) return false;
    if (item > stream.current) ++stream.read;
    stream.current = item;
    stream.next = std::max(stream.next, item + 1);
    if (latency_ticks_ != 0) stream.distance.latency(latency_ticks_);
    stream.distance.access(now_ticks, waited_ticks);
    return true;
}

void ReadAhead::unused(Mark mark, Rank target) noexcept {
    if (streams_[mark].target == target) streams_[mark].distance.unused(1);
}

ByteRange ReadAhead::next(Mark mark, Rank target, ByteRange readable) noexcept {
    Stream& stream = streams_[mark];
    if (stream.target != target) return {};
    const std::int64_t ahead = stream.next - stream.current - 1;
    const std::int64_t group = stream.by_pages ? config_.group_pages : 1;
    const std::int64_t most = config_.beyond_paper ? stream.distance.distance() : 1;
    const std::int64_t allowed = std::min(most, static_cast<std::int64_t>(stream.read));
    const std::int64_t items = std::min(allowed - ahead, group);
    // Waits until a whole group can be fetched: single pages would be as many messages.
    if (items < std::clamp<std::int64_t>(allowed / 2, 1, group)) return {};
    // Clips the items to the readable range. Signed: a stream may run below 0.
    const auto origin = static_cast<std::int64_t>(stream.origin);
    const std::int64_t first = origin + stream.next * stream.step;
    const std::int64_t last = origin + (stream.next + items - 1) * stream.step;
    const std::int64_t begin =
        std::max({std::min(first, last), std::int64_t{0}, static_cast<std::int64_t>(readable.begin)});
    const std::uint64_t most_end = std::numeric_limits<std::int64_t>::max();
    const std::int64_t end = std::min(std::max(first, last) + static_cast<std::int64_t>(stream.size_bytes),
                                      static_cast<std::int64_t>(std::min(readable.end, most_end)));
    if (begin >= end) return {};
    stream.next += items;
    return {static_cast<std::uint64_t>(begin), static_cast<std::uint64_t>(end)};
}

}  // namespace nearfetch

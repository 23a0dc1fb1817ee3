// SPDX-License-Identifier: Apache-2.0
#include "rma/read_ahead.hpp"

#include <algorithm>
#include <utility>

namespace nearfetch {

namespace {

/// The bytes of a target that lie in the pages which these lie in.
ByteRange pages_around(const TargetMemory& memory, ByteRange range) noexcept {
    const std::uint64_t begin = range.begin + memory.page_phase, end = range.end + memory.page_phase;
    const std::uint64_t first = begin - begin % memory_page_bytes;
    const std::uint64_t last = end + (memory_page_bytes - end % memory_page_bytes) % memory_page_bytes;
    return {std::max(first, memory.page_phase) - memory.page_phase, last - memory.page_phase};
}

}  // namespace

/// Whether bytes may be fetched that nobody has asked for.
bool ReadAhead::is_allowed() const noexcept {
    const Settings& settings = s_.settings;
    return settings.read_ahead_bytes != 0 && !settings.exact_match && settings.storage != "best_fit";
}

/// Whether nobody writes to the target what is read ahead now, as long as it is cached.
bool ReadAhead::lasts(Rank target) noexcept {
    const std::uint64_t puts = s_.counters.puts, acquires = s_.process.acquires.count();
    const bool has_put = puts != std::exchange(puts_seen_, puts);
    const bool has_acquired = acquires != std::exchange(acquires_seen_, acquires);
    is_filling_ = has_put || (is_filling_ && !has_acquired);
    if (s_.operations.at(target).update_under_way()) return false;
    return s_.settings.mode == Mode::always_cache ? !is_filling_
                                                  : s_.settings.read_only_phases && puts == puts_before_;
}

/// The block that the gap is in; nothing at its first miss. Blocks lie in the target's memory as pages do, so
/// the first one of a window may begin before it, at a number that has wrapped around.
std::optional<ByteRange> ReadAhead::bounds_of(Rank target, ByteRange gap) noexcept {
    const TargetMemory& memory = s_.targets.memory_of(target);
    const std::uint64_t block_bytes = s_.cache->read_ahead().region_bytes();
    if (gap.size() >= block_bytes || gap.end > memory.extent_bytes) return std::nullopt;
    const std::uint64_t block = gap.begin - (gap.begin + memory.page_phase) % block_bytes;
    if (!s_.doorkeeper.seen_before(target, ~block)) return std::nullopt;
    ByteRange bounds{block > gap.begin ? 0 : block, std::min(block + block_bytes, memory.extent_bytes)};
    if (memory.is_declared) {
        const ByteRange pages = pages_around(memory, gap);
        bounds = {std::max(bounds.begin, pages.begin), std::min(bounds.end, pages.end)};
    }
    bounds.end = std::max(bounds.end, gap.end);
    return bounds;
}

std::optional<ReadAhead::Region> ReadAhead::region_around(const Get& get, ByteRange gap) {
    // What a poll brings beside its own bytes may be older than these.
    if (s_.freshness.is_poll() || !is_allowed()) return std::nullopt;
    // What another thread's request brings cannot be waited for: it may complete that at any time.
    if (get.request != 0 && (s_.threaded || !get.may_lead)) return std::nullopt;
    const std::optional<ByteRange> bounds = bounds_of(get.target, gap);
    if (!bounds) return std::nullopt;
    const ByteRange around = s_.cache->read_ahead().gap_around(get.target, gap, *bounds);
    // With several threads, or a request, a gap may hold bytes that are on their way.
    if (around == gap || !around.contains(gap) || !s_.may_keep(get.target, around)) return std::nullopt;
    const bool is_lasting = !s_.is_acquire_mode() && lasts(get.target);
    if (!s_.cache->read_ahead().pays(around.size(), is_lasting)) return std::nullopt;
    if (!s_.at(get.target).cost.may_fetch_region()) return std::nullopt;
    return Region{around, !s_.is_acquire_mode() && !is_lasting};
}

}  // namespace nearfetch

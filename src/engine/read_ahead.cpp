// SPDX-License-Identifier: Apache-2.0

// Transfers straight into the cache: prefetches, which the program asks for, and read-ahead, which it does
// not.
//
// A program that reads remote memory in small pieces pays a round trip for each, although one would bring
// hundreds. Its second miss within a block of read_ahead_bytes is taken as the sign that more of the block
// will be wanted, and fetches all of the gap around it within that block; the program's own bytes are copied
// out of it when it arrives. So a stream of gets that touch no block twice costs nothing extra, and the waste
// is bounded: at most one block for two misses, and in a full cache only while the blocks that are evicted
// have been used (RangeCache::ahead_pays). Only bytes of a window that nobody writes are fetched unasked: in
// mode always-cache, which says so for the window's life, and in user-defined where read_only_phases says so
// from one invalidate to the next; and not after a put of this process meanwhile. Elsewhere somebody may be
// writing them, in full agreement with the standard, and they would be stale when they are asked for.

#include <algorithm>
#include <new>

#include "base/assert.hpp"
#include "engine/cached_window.hpp"
#include "engine/clock.hpp"
#include "engine/survey.hpp"

namespace nearfetch {

void CachedWindow::set_extents(std::span<const std::uint64_t> bytes) noexcept {
    const Guard guard = lock();
    NF_EXPECT(bytes.size() == targets_.size());
    for (std::size_t i = 0; i < bytes.size(); ++i)
        targets_[i].extent_bytes = bytes[i];
}

std::uint64_t CachedWindow::block_of(std::uint64_t offset) const noexcept {
    return offset - offset % settings_.read_ahead_bytes;
}

/// Whether this gap is the second miss in its block, and its surroundings may be fetched unasked.
bool CachedWindow::may_read_ahead(const Get& get, const Piece& gap) noexcept {
    const Target& t = at(get.target);
    const bool read_only = (settings_.mode == Mode::always_cache ||
                            (settings_.mode == Mode::user_defined && settings_.read_only_phases)) &&
                           counters_.puts == puts_before_ && !t.updates.outstanding();
    if (!read_only || settings_.exact_match || settings_.weak_admission || get.request != 0 ||
        gap.size >= settings_.read_ahead_bytes || gap.offset + gap.size > t.extent_bytes)
        return false;
    return touched_.touched(get.target, ~block_of(gap.offset));
}

/// A PENDING entry for the gap of this get and all that is missing around it in its block; null if it is
/// fetched as it is.
Entry* CachedWindow::make_room_around(const Get& get, Survey& s) noexcept {
    const Piece& piece = s.gaps.front();
    if (s.gaps.size() != 1 || !may_read_ahead(get, piece)) return nullptr;
    const ByteRange gap{piece.offset, piece.offset + piece.size};
    const std::uint64_t block = block_of(gap.begin);
    const std::uint64_t block_end = std::min(block + settings_.read_ahead_bytes, at(get.target).extent_bytes);
    const ByteRange around = cache_->gap_around(get.target, gap, {block, std::max(gap.end, block_end)});
    // With several threads a gap may hold bytes that are on their way (survey()).
    if (around == gap || !around.contains(gap) || !cache_->ahead_pays(around.size())) return nullptr;
    s.copy_resident();  // making room may evict it
    try {
        const Admission admission =
            cache_->admit(get.target, around.begin, around.size(), cache_->now(), true);
        if (admission.entry != nullptr) admission.entry->set_ahead();
        s.admitted = admission.type;
        return admission.entry;
    } catch (const std::bad_alloc&) {
        return nullptr;
    }
}

/// Starts the transfer of a PENDING entry into its own memory.
template <class Start>
int CachedWindow::start_entry(Entry& entry, Guard& guard, const Start& start) {
    Target& t = at(entry.target());
    const Piece piece{entry.offset(), entry.size(), entry.data()};
    // Until it has started, nothing completes it and nobody can wait for it; but the cache has to stay.
    t.in_flight.push_back({&entry, not_started, 0});
    const std::uint64_t start_ticks = ticks();
    if (threaded_) guard.unlock();
    const int status = start(std::span(&piece, 1));
    if (threaded_) guard.lock();
    const auto flight = std::find_if(t.in_flight.begin(), t.in_flight.end(),
                                     [&](const InFlight& f) { return f.entry == &entry; });
    if (status != 0) {
        t.in_flight.erase(flight);
        cache_->abandon(&entry);
        return status;
    }
    t.lone_bytes = t.gets.outstanding() ? 0 : piece.size;
    t.lone_ticks = ticks() - start_ticks;
    started(entry.target(), t, t.gets);
    entry.set_flight(entry.data(), issued_);
    flight->issued = issued_;
    return 0;
}

/// Fetches an entry that is larger than what the program asked for, which waits for its part of it.
int CachedWindow::fetch_ahead(const Get& get, GetStarter& starter, const Survey& s, Entry& entry,
                              Guard& guard) {
    const Piece gap = s.gaps.front();
    const std::uint64_t own_size = entry.size();
    const int status = start_entry(
        entry, guard, [&](std::span<const Piece> pieces) { return starter.start_pieces(pieces); });
    if (status != 0) return status;
    Target& t = at(get.target);
    t.waiters.insert(t.waiters.end(), s.waiting.begin(), s.waiting.end());
    t.waiters.push_back(
        {&entry, entry.data() + (gap.offset - entry.offset()), gap.origin, gap.size, entry.issued()});
    count(s.partial() ? AccessType::partial_hit : s.admitted, get.size_bytes, gap.size);
    ++counters_.read_aheads;
    counters_.bytes_read_ahead += own_size - gap.size;
    t.bet.missed(t.lone_ticks, 0);
    return 0;
}

int CachedWindow::prefetch(Rank target, ByteRange range, Transport& transport) {
    Guard guard = lock();
    Target& t = at(target);
    if (range.empty() || !keeps_data_ || !usable(t)) return 0;
    static thread_local std::vector<Segment> segments;
    cache_->survey(target, range.begin, range.size(), segments);
    t.in_flight.reserve(t.in_flight.size() + segments.size());
    for (const Segment& s : segments) {
        if (s.kind != Segment::Kind::gap) continue;
        const Admission admission = cache_->admit(target, s.offset, s.size, cache_->now(), true);
        if (admission.entry == nullptr) continue;
        const int status = start_entry(*admission.entry, guard, [&](std::span<const Piece> pieces) {
            return transport.start_get(target, pieces);
        });
        if (status != 0) return status;
        ++counters_.prefetches;
    }
    return 0;
}

}  // namespace nearfetch

// SPDX-License-Identifier: Apache-2.0
//
// Read-ahead of the range cache: instead of a gap its region is fetched, one entry for what is missing there.
// How large regions are, and whether they pay, follows from the uses of removed ones (read_ahead_sizer.hpp).

#include "cache/range_cache/newcomer.hpp"
#include "cache/range_cache/range_cache.hpp"

#include "base/assert.hpp"

namespace nearfetch {

namespace {

constexpr int most_samples = 32;            // slots to examine for an entry of read-ahead
constexpr std::uint64_t small_share = 16;   // of a region
constexpr std::uint64_t full_divisor = 16;  // a buffer of which no more than this part is free is full
// Possibly stale entries to examine per admission: their use decides about read-ahead.
constexpr std::uint32_t most_reaped = 2;

}  // namespace

bool RangeCache::ReadAhead::pays(std::uint64_t size, bool lasts) noexcept {
    const EntryStorage& storage = *cache_.storage_;
    const bool spare =
        storage.fits(size) && storage.free_bytes() >= size + storage.size_bytes() / full_divisor;
    return (lasts && spare) || sizer_.pays();
}

ByteRange RangeCache::ReadAhead::gap_around(Rank target, ByteRange gap, ByteRange bounds) {
    NF_EXPECT(!cache_.exact_match_ && bounds.contains(gap) && !gap.empty());
    // Small and little used ones are fetched again with their region.
    const auto is_replaceable = [bounds](const Entry& entry) {
        return entry.frequency == 1 && !entry.read_ahead_ && !entry.is_pending() &&
               entry.bytes <= bounds.size() / small_share && bounds.contains(entry.range());
    };
    ByteRange around = bounds;
    for (std::uint64_t at = gap.begin; around.begin < at;) {
        const auto before = cache_.by_range_.floor(target, at - 1);
        if (!before || before.target() != target) break;
        Entry& entry = cache_.pool_[before.id()];
        const ByteRange there = entry.range();
        if (there.end <= around.begin) break;
        if (!cache_.fresh(entry) && !cache_.is_kept(entry))
            cache_.forget(entry);
        else if (!cache_.fresh(entry) || is_replaceable(entry))
            at = there.begin;
        else
            around.begin = there.end;
    }
    for (std::uint64_t at = gap.begin;;) {
        around.end = cache_.gap_end(target, at, bounds.end);
        if (around.end == bounds.end) break;
        const Entry& entry = *cache_.covering(target, around.end);
        if (!is_replaceable(entry)) break;
        at = entry.offset_;
    }
    return around;
}

Admission RangeCache::ReadAhead::admit(Rank target, ByteRange range, bool expires, ByteRange asked) {
    cache_.reap_stale(most_reaped, cache_.storage_->size_bytes());
    AskedBytes* const of_program = expires ? take_asked(target, range) : nullptr;
    if (expires && of_program == nullptr) return {};
    cache_.drop(target, range.begin, range.size());
    const Admission admission =
        cache_.admit({target, range, cache_.now(), true, skew_of(range), sizer_.will_be_used()});
    if (admission.entry == nullptr) {
        if (expires) release(of_program);
        return admission;
    }
    admission.entry->read_ahead_ = true;
    if (!expires) return admission;
    of_program->add(asked);
    admission.entry->asked_ = of_program;
    admission.entry->clock_ = cache_.read_ahead_clock();
    return admission;
}

// Of a region: what was asked for of the entries that it replaces. nullptr where memory_bytes allows no more.
AskedBytes* RangeCache::ReadAhead::take_asked(Rank target, ByteRange region) {
    if (spare_.empty()) {
        // So that release() needs no memory.
        if (spare_.capacity() <= asked_.size()) spare_.reserve(2 * asked_.size() + 1);
        AskedBytes& another = asked_.emplace_back();
        if (!cache_.memory_.take(sizeof another)) {
            asked_.pop_back();
            return nullptr;
        }
        spare_.push_back(&another);
    }
    AskedBytes* const asked = spare_.back();
    spare_.pop_back();
    asked->reset(region);
    cache_.collect_asked(target, region, *asked);
    return asked;
}

void RangeCache::ReadAhead::acquire() noexcept { cache_.sync_.acquire(cache_.read_ahead_clock()); }

void RangeCache::ReadAhead::make_room_ahead() { cache_.storage_->make_room_ahead(2 * region_bytes()); }

void RangeCache::ReadAhead::record_removal(const Entry& entry, bool evicted) noexcept {
    sizer_.record_removal(entry.frequency - 1, evicted);
    // Also samples one that stays: the most used are never evicted.
    const Entry* const other = evicted ? sample() : nullptr;
    if (other != nullptr && other != &entry) sizer_.record_removal(other->frequency - 1, true);
}

// A random present entry of read-ahead, if they are frequent.
const Entry* RangeCache::ReadAhead::sample() noexcept {
    const CuckooIndex& index = cache_.index_;
    for (int samples = 0; samples < most_samples; ++samples) {
        const std::uint64_t hash = CuckooIndex::mix(0, ++sampled_);
        const std::uint32_t id = index.at(static_cast<std::uint32_t>(hash % index.slot_count()));
        if (id == CuckooIndex::none) continue;
        const Entry& entry = cache_.pool_[id];
        if (entry.read_ahead_ && !entry.is_pending() && cache_.fresh(entry)) return &entry;
    }
    return nullptr;
}

}  // namespace nearfetch

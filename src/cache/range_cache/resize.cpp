// SPDX-License-Identifier: Apache-2.0
//
// Adaptive sizes (001, section III-E1). After a number of gets, the shares of conflicting, capacity and
// failing accesses and of hits tell whether |I_w| and |S_w| fit. In the paper "changing the value of any
// parameter requires the invalidation of the cache". Here entries are kept: the index is rehashed, and the
// buffer grows in place. Shrinking moves the entries of the removed tail into free space, as far as they fit.
// The paper's buffer grows after a whole interval of misses. Here a buffer that had shrunk regrows at the
// first entry that has no room.

#include <algorithm>
#include <new>

#include "base/copy.hpp"
#include "cache/range_cache/range_cache.hpp"

namespace nearfetch {

namespace {

std::uint64_t scaled(std::uint64_t value, double factor) noexcept {
    return static_cast<std::uint64_t>(static_cast<double>(value) * factor);
}

}  // namespace

void RangeCache::adapt() {
    const AdaptConfig& limits = config_.adapt;
    const auto total = static_cast<double>(gets_ - interval_.gets_at_start);
    const double misses = std::min(static_cast<double>(interval_.lookups), total);
    const double conflicting = static_cast<double>(interval_.conflicting) / total;
    const double short_of_space = static_cast<double>(interval_.capacity + interval_.failing) / total;
    const double hits = (total - misses) / total;
    const bool sparse =
        interval_.visited > 0 && static_cast<double>(interval_.nonempty) <
                                     limits.sparsity_threshold * static_cast<double>(interval_.visited);
    const auto free = static_cast<double>(buffer_.free_bytes()) / static_cast<double>(buffer_.size_bytes());
    interval_ = Interval{};
    interval_.gets_at_start = gets_;

    std::uint64_t entries = index_.slot_count();
    if (conflicting > limits.conflict_threshold)
        entries = std::min(std::max(scaled(entries, limits.index_increase_factor), entries + 1),
                           config_.index_entries_max);
    else if (sparse)
        entries = std::max<std::uint64_t>(scaled(entries, limits.index_decrease_factor), 1);
    std::uint64_t bytes = buffer_.size_bytes();
    if (short_of_space > limits.capacity_threshold)
        bytes = std::min(scaled(bytes, limits.memory_increase_factor), config_.buffer_bytes_max);
    else if (hits > limits.stable_threshold && free > limits.free_threshold)
        bytes = std::max(scaled(bytes, limits.memory_decrease_factor), StorageBuffer::line_bytes);
    // If entries in flight prevent it, the next interval tries again.
    resize_index(entries);
    resize_buffer(bytes);
}

// A wrong shrink is corrected without waiting for the next interval.
void RangeCache::regrow_buffer(std::uint64_t payload_bytes) {
    if (!config_.adaptive || !config_.keep_on_resize || buffer_.size_bytes() >= granted_bytes_ ||
        unreaped_ != nullptr || buffer_.fits(payload_bytes))
        return;
    const std::uint64_t grown = std::max(scaled(buffer_.size_bytes(), config_.adapt.memory_increase_factor),
                                         buffer_.size_bytes() + StorageBuffer::footprint(payload_bytes));
    resize_buffer(std::min(grown, granted_bytes_));
}

bool RangeCache::resize(std::uint64_t buffer_bytes, std::uint64_t index_entries) {
    if (buffer_bytes < StorageBuffer::line_bytes || buffer_bytes > config_.buffer_bytes_max ||
        index_entries == 0 || index_entries > config_.index_entries_max)
        return false;
    const bool resized = resize_index(index_entries) && resize_buffer(buffer_bytes);
    if (resized) granted_bytes_ = buffer_.size_bytes();
    touch_rule_ = policy_->touch_rule();
    return resized;
}

bool RangeCache::resize_index(std::uint64_t entries) {
    if (entries == index_.slot_count()) return true;
    try {
        CuckooIndex resized = new_index(config_, entries);
        if (!config_.keep_on_resize) {
            invalidate();
            index_ = std::move(resized);
            ++counters_.index_resizes;
            return true;
        }
        // Entries in flight must stay; of the others the youngest come first.
        std::vector<Entry*> relocated;
        for (Entry& entry : by_age_)
            if (entry.is_pending() && !resized.insert(entry.target_, entry.offset_, entry.id_)) return false;
        for (auto entry = by_age_.rbegin(); entry != by_age_.rend(); ++entry)
            if (!entry->is_pending() && !resized.insert(entry->target_, entry->offset_, entry->id_))
                relocated.push_back(&*entry);
        for (Entry* entry : relocated)
            evict(*entry);
        index_ = std::move(resized);
    } catch (const std::bad_alloc&) {
        return false;
    }
    ++counters_.index_resizes;
    return true;
}

bool RangeCache::resize_buffer(std::uint64_t bytes) {
    bytes = bytes / StorageBuffer::line_bytes * StorageBuffer::line_bytes;
    if (bytes == buffer_.size_bytes()) return true;
    try {
        if (!config_.keep_on_resize) invalidate();
        if (bytes < buffer_.size_bytes() && !clear_tail(bytes)) return false;
        if (!buffer_.resize(bytes)) return false;
    } catch (const std::bad_alloc&) {
        return false;
    }
    ++counters_.buffer_resizes;
    return true;
}

// Frees the buffer from `bytes` on. \return false, with nothing changed, if an entry in flight is there
bool RangeCache::clear_tail(std::uint64_t bytes) {
    const auto in_tail = [&](const StorageBuffer::Region* region) {
        return region != nullptr && region->offset + region->bytes > bytes;
    };
    for (StorageBuffer::Region* region = buffer_.last(); in_tail(region); region = region->previous)
        if (!region->is_free() && static_cast<const Entry*>(region->owner)->is_pending()) return false;
    for (StorageBuffer::Region* region = buffer_.last(); in_tail(region);) {
        if (region->is_free()) {
            region = region->previous;
            continue;
        }
        auto& entry = *static_cast<Entry*>(region->owner);
        if (StorageBuffer::Region* place = buffer_.allocate(entry.stored_bytes(), &entry, bytes)) {
            entry.storage_ = buffer_.data(place) + entry.skew_;
            copy_bytes(entry.storage_, entry.served_, entry.bytes);
            entry.region_ = place;
            entry.served_ = entry.storage_;
            buffer_.release(region);
        } else {
            evict(entry);
        }
        // The list has changed: restart from its end.
        region = buffer_.last();
    }
    return true;
}

}  // namespace nearfetch

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

#include "cache/range_cache/range_cache.hpp"

namespace nearfetch {

namespace {

std::uint64_t scaled(std::uint64_t value, double factor) noexcept {
    return static_cast<std::uint64_t>(static_cast<double>(value) * factor);
}

}  // namespace

void RangeCache::adapt_if_due() {
    if (config_.adaptive && gets_ - interval_.gets_at_start >= config_.adapt.interval_gets) adapt();
}

// q of 001 is of the slots that were visited. Where none are, it is of all, and only what has grown shrinks.
bool RangeCache::is_index_sparse() const {
    const auto few = [this](std::uint64_t occupied, std::uint64_t slots) {
        return static_cast<double>(occupied) < config_.adapt.sparsity_threshold * static_cast<double>(slots);
    };
    if (storage_->samples_slots()) return interval_.visited > 0 && few(interval_.nonempty, interval_.visited);
    return index_.slot_count() > config_.index_entries && few(index_.used(), index_.slot_count());
}

void RangeCache::adapt() {
    const AdaptConfig& limits = config_.adapt;
    const auto total = static_cast<double>(gets_ - interval_.gets_at_start);
    const double misses = std::min(static_cast<double>(interval_.misses), total);
    const double conflicting = static_cast<double>(interval_.conflicting) / total;
    const double short_of_space = static_cast<double>(interval_.capacity + interval_.failing) / total;
    const double hits = (total - misses) / total;
    const bool sparse = is_index_sparse();
    const auto free =
        static_cast<double>(storage_->free_bytes()) / static_cast<double>(storage_->size_bytes());
    interval_ = Interval{};
    interval_.gets_at_start = gets_;

    std::uint64_t entries = index_.slot_count();
    if (conflicting > limits.conflict_threshold)
        entries = std::min(std::max(scaled(entries, limits.index_increase_factor), entries + 1),
                           config_.index_entries_max);
    else if (sparse)
        entries = std::max<std::uint64_t>(scaled(entries, limits.index_decrease_factor), 1);
    std::uint64_t bytes = storage_->size_bytes();
    if (short_of_space > limits.capacity_threshold && storage_->has_grown())
        bytes = std::min(scaled(bytes, limits.memory_increase_factor), config_.buffer_bytes_max);
    else if (hits > limits.stable_threshold && free > limits.free_threshold)
        bytes = std::max(scaled(bytes, limits.memory_decrease_factor), StorageBuffer::line_bytes);
    // If entries in flight prevent it, the next interval tries again.
    resize_index(entries);
    resize_buffer(bytes);
}

// A wrong shrink is corrected without waiting for the next interval.
void RangeCache::regrow_buffer(std::uint64_t newcomer_bytes) {
    if (!config_.adaptive || !config_.keep_on_resize || storage_->size_bytes() >= granted_bytes_ ||
        may_be_stale() || storage_->fits(newcomer_bytes))
        return;
    const std::uint64_t grown = std::max(scaled(storage_->size_bytes(), config_.adapt.memory_increase_factor),
                                         storage_->size_bytes() + 2 * newcomer_bytes);
    resize_buffer(std::min(grown, granted_bytes_));
}

bool RangeCache::resize(std::uint64_t buffer_bytes, std::uint64_t index_entries) {
    if (buffer_bytes < StorageBuffer::line_bytes || buffer_bytes > config_.buffer_bytes_max ||
        index_entries == 0 || index_entries > config_.index_entries_max)
        return false;
    const bool resized = resize_index(index_entries) && resize_buffer(buffer_bytes);
    if (resized) granted_bytes_ = storage_->size_bytes();
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
        // Entries in flight must stay.
        std::vector<Entry*> left_out;
        bool all_pending = true;
        for_each_entry([&](Entry& entry) {
            if (entry.is_pending())
                all_pending = all_pending && resized.insert(entry.target_, entry.offset_, entry.id_);
        });
        if (!all_pending) return false;
        for_each_entry([&](Entry& entry) {
            if (!entry.is_pending() && !resized.insert(entry.target_, entry.offset_, entry.id_))
                left_out.push_back(&entry);
        });
        for (Entry* entry : left_out)
            evict(*entry);
        index_ = std::move(resized);
    } catch (const std::bad_alloc&) {
        return false;
    }
    ++counters_.index_resizes;
    return true;
}

bool RangeCache::resize_buffer(std::uint64_t bytes) {
    const std::uint64_t before = storage_->size_bytes();
    if (bytes == before) return true;
    try {
        if (!config_.keep_on_resize) invalidate();
        if (!storage_->resize(bytes, [this](Entry& entry) { evict(entry); })) return false;
    } catch (const std::bad_alloc&) {
        return false;
    }
    if (storage_->size_bytes() != before) ++counters_.buffer_resizes;
    return true;
}

}  // namespace nearfetch

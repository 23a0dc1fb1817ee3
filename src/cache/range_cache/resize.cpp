// SPDX-License-Identifier: Apache-2.0
//
// Adaptive sizes (001, section III-E1). After a number of gets, the shares of conflicting, capacity and
// failing accesses and of hits tell whether |I_w| and |S_w| fit. In the paper "changing the value of any
// parameter requires the invalidation of the cache". Here the buffer grows in place, and shrinking moves the
// entries of the removed tail into free space, as far as they fit. The index of a log needs no rule: it
// follows the number of entries. That of storage "best_fit" is the paper's. The paper's buffer grows after a
// whole interval of misses. Here a buffer that had shrunk regrows at the first entry that has no room.

#include <algorithm>
#include <new>

#include "cache/range_cache/range_cache.hpp"

namespace nearfetch {

namespace {

// Of what would be right: less is not worth a change.
constexpr std::uint64_t least_growth_divisor = 8;

std::uint64_t scaled(std::uint64_t value, double factor) noexcept {
    return static_cast<std::uint64_t>(static_cast<double>(value) * factor);
}

}  // namespace

void RangeCache::adapt_if_due() {
    if (config_.adaptive && gets_ - interval_.gets_at_start >= config_.adapt.interval_gets) adapt();
}

// 001's rule: conflicts make it grow; few occupied among the slots that were visited (q), shrink.
std::uint32_t RangeCache::adapted_index(double conflicting) const {
    const AdaptConfig& limits = config_.adapt;
    const auto visited = static_cast<double>(interval_.visited);
    std::uint64_t slots = index_.slot_count();
    if (conflicting > limits.conflict_threshold)
        slots = std::min(std::max(scaled(slots, limits.index_increase_factor), slots + 1),
                         config_.index_entries_max);
    else if (visited > 0 && static_cast<double>(interval_.nonempty) < limits.sparsity_threshold * visited)
        slots = std::max<std::uint64_t>(scaled(slots, limits.index_decrease_factor), 1);
    return static_cast<std::uint32_t>(slots);
}

void RangeCache::adapt() {
    const AdaptConfig& limits = config_.adapt;
    const auto total = static_cast<double>(gets_ - interval_.gets_at_start);
    const double misses = std::min(static_cast<double>(interval_.misses), total);
    const double conflicting = static_cast<double>(interval_.conflicting) / total;
    const double short_of_space = static_cast<double>(interval_.capacity + interval_.failing) / total;
    const double hits = (total - misses) / total;
    const std::uint32_t slots = index_follows_ ? index_.slot_count() : adapted_index(conflicting);
    const auto free =
        static_cast<double>(storage_->free_bytes()) / static_cast<double>(storage_->size_bytes());
    interval_ = Interval{};
    interval_.gets_at_start = gets_;

    std::uint64_t bytes = storage_->size_bytes();
    if (short_of_space > limits.capacity_threshold && storage_->has_grown())
        bytes = std::min(scaled(bytes, limits.memory_increase_factor), config_.buffer_bytes_max);
    else if (hits > limits.stable_threshold && free > limits.free_threshold)
        bytes = std::max(scaled(bytes, limits.memory_decrease_factor), StorageBuffer::line_bytes);
    // If entries in flight prevent it, the next interval tries again.
    resize_index(slots);
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

bool RangeCache::resize(std::uint64_t buffer_bytes) {
    if (buffer_bytes < StorageBuffer::line_bytes || buffer_bytes > config_.buffer_bytes_max) return false;
    const bool resized = resize_buffer(buffer_bytes);
    if (resized) granted_bytes_ = storage_->size_bytes();
    return resized;
}

// At each admission. It grows when half of the slots are occupied, and shrinks at an eighth.
void RangeCache::follow_entries() {
    if (!index_follows_) return;
    const std::uint32_t used = index_.used(), slots = index_.slot_count();
    if (index_.is_moving()) return index_.move_some();
    if (used >= slots / 2 && slots < index_limit_) {
        const std::uint64_t left = memory_.left() / index_slot_bytes;
        const auto more =
            static_cast<std::uint32_t>(std::min<std::uint64_t>({slots, index_limit_ - slots, left}));
        if (more > slots / least_growth_divisor) (void)resize_index(slots + more);
    } else if (used < slots / 8 && slots > fewest_slots_) {
        (void)resize_index(std::max(slots / 2, fewest_slots_));
    }
}

// The paper's index of another size is another one, without entries.
bool RangeCache::resize_index(std::uint32_t slots) {
    const std::uint64_t before = index_.slot_count() * index_slot_bytes, after = slots * index_slot_bytes;
    if (before == after) return true;
    if (after > before && !memory_.take(after - before)) return false;
    if (!index_follows_) invalidate();
    const bool resized = index_follows_ ? index_.begin_resize(slots) : index_.restart(slots);
    if (resized) ++counters_.index_resizes;
    if (after > before && !resized) memory_.give_back(after - before);
    if (after < before && resized) memory_.give_back(before - after);
    return resized;
}

// By how much the buffer may grow, so that the index can grow by as much.
std::uint64_t RangeCache::affordable(std::uint64_t more_bytes) const noexcept {
    const std::uint64_t index_bytes = index_.slot_count() * index_slot_bytes;
    const double for_index = static_cast<double>(index_bytes) / static_cast<double>(storage_->size_bytes());
    const std::uint64_t left = memory_.left();
    return std::min(more_bytes, left == MemoryBudget::unlimited ? left : scaled(left, 1 / (1 + for_index)));
}

bool RangeCache::resize_buffer(std::uint64_t bytes) {
    const std::uint64_t before = storage_->size_bytes();
    if (bytes == before) return true;
    if (bytes > before) {
        const std::uint64_t most = affordable(bytes - before);
        if (most < (bytes - before) / least_growth_divisor) return false;
        bytes = before + most;
    }
    if (bytes > before && !memory_.take(bytes - before)) return false;
    const std::uint64_t taken = std::max(before, bytes);
    try {
        if (!config_.keep_on_resize) invalidate();
        (void)storage_->resize(bytes, [this](Entry& entry) { evict(entry); });
    } catch (const std::bad_alloc&) {
    }
    const std::uint64_t after = storage_->size_bytes();
    memory_.give_back(taken - after);
    if (after != before) ++counters_.buffer_resizes;
    return after != before;
}

}  // namespace nearfetch

// SPDX-License-Identifier: Apache-2.0
//
// Admission of misses (001, sections III-B2 and III-D).
//
// The paper evicts one victim and stores the newcomer if that made enough room ("weak caching"). Often it
// does not, and the victim is lost for nothing. The log makes room of any size (entry_log.cpp), and refuses
// who is not worth it.

#include <algorithm>
#include <new>
#include <numeric>
#include <utility>

#include "cache/range_cache/newcomer.hpp"
#include "cache/range_cache/range_cache.hpp"

namespace nearfetch {

Admission RangeCache::admit(Rank target, std::uint64_t offset, std::uint64_t size, Stamp stamp, bool store) {
    return admit({.target = target, .range = {offset, offset + size}, .stamp = stamp, .store = store});
}

// Fills in the entry, before index and buffer know it.
void RangeCache::describe(Entry& entry, const Newcomer& newcomer) const {
    entry.target_ = entry.clock_ = newcomer.target;
    entry.offset_ = newcomer.range.begin;
    entry.bytes = newcomer.range.size();
    entry.stamp_ = newcomer.stamp;
    entry.store_ = newcomer.store;
    entry.skew_ = newcomer.skew;
    entry.last = gets_;
    entry.frequency = 1;
    entry.benefit =
        config_.hit_benefit ? static_cast<float>(config_.hit_benefit(entry.target_, entry.bytes)) : 1.0F;
}

// Sets the weight: what is remembered, plus this use, plus half of an expected future use. Without that half,
// data that is read once by many gets would hardly enter a full cache.
void RangeCache::arrive(Entry& entry, bool will_be_used) {
    policy_->arrive(entry);
    if (!will_be_used) return;
    const TouchRule& rule = policy_->touch_rule();
    entry.weight = std::midpoint(entry.weight, entry.weight * rule.keep + rule.add);
}

Admission RangeCache::admit(const Newcomer& newcomer) {
    const auto& [target, range, stamp, store, skew, will_be_used] = newcomer;
    NF_EXPECT(!range.empty() && is_target(target));
    Admission result;
    Entry* entry = nullptr;
    try {
        if (store) regrow_buffer(range.size());
        adapt_if_due();
        if (occupied(target, range.begin, range.size()) || (entry = pool_.acquire()) == nullptr)
            return result;
        describe(*entry, newcomer);
        if (store) arrive(*entry, will_be_used);
        by_range_.reserve();
        result.type = try_admission(*entry);
    } catch (const std::bad_alloc&) {
        result.type = AccessType::failing;
    }
    if (result.type != AccessType::failing) {
        result.entry = entry;
    } else if (entry != nullptr) {
        if (store) policy_->rejected(*entry);
        give_back(*entry);
    }
    interval_.conflicting += result.type == AccessType::conflicting;
    interval_.capacity += result.type == AccessType::capacity;
    interval_.failing += result.type == AccessType::failing;
    touch_rule_ = policy_->touch_rule();
    return result;
}

AccessType RangeCache::try_admission(Entry& entry) {
    storage_->begin_admission();
    bool room = !entry.store_ || storage_->place(entry);
    double limit = lowest_of_all;
    if (!room) {
        if (entry.bytes > storage_->size_bytes()) return AccessType::failing;
        limit = storage_->eviction_limit(entry);
        if (policy_->weighs_newcomers() && policy_->score(entry) <= limit) return AccessType::failing;
    }
    follow_entries();
    bool way = index_.plan(entry.target_, entry.offset_);
    if (!way && may_be_stale()) {
        reap_stale(most_reaped, entry.bytes);
        way = index_.plan(entry.target_, entry.offset_);
        room = room || storage_->place(entry);
    }
    std::uint32_t slot = CuckooIndex::none;
    Entry* const slot_victim = way ? nullptr : choose_slot(entry, slot);
    if (!way && slot_victim == nullptr) return AccessType::failing;
    AccessType type = AccessType::direct;
    if (slot_victim != nullptr) {
        evict(*slot_victim);
        type = AccessType::conflicting;
        room = room || storage_->place(entry);
    }
    if (!room) {
        const std::uint64_t evictions = counters_.evictions;
        if (!storage_->make_room(entry, limit)) return AccessType::failing;
        if (type == AccessType::direct && counters_.evictions > evictions) type = AccessType::capacity;
    }
    insert_pending(entry, slot);
    return type;
}

void RangeCache::evict(Entry& entry) noexcept {
    if (!lives(entry)) return forget(entry);
    ++counters_.evictions;
    remove(entry, true);
}

// Makes the entry pending, in the slot of its plan or in one that was cleared for it.
void RangeCache::insert_pending(Entry& entry, std::uint32_t slot) noexcept {
    if (slot == CuckooIndex::none)
        index_.place(entry.id_);
    else
        index_.place_through(slot, entry.id_);
    by_range_.insert(entry.target_, entry.offset_, entry.id_, entry.bytes);
    ++pending_;
    largest_entry_bytes_ = std::max(largest_entry_bytes_, entry.bytes);
}

// Removes stale entries before fresh ones; they do not count as evictions. Stops when there is room, or at
// the limit.
void RangeCache::reap_stale(std::uint32_t most, std::uint64_t wanted_bytes) noexcept {
    for (std::uint32_t seen = 0; may_be_stale() && seen < most; ++seen) {
        Entry& entry = pool_[unreaped_++];
        if (unreaped_ >= pool_.end()) unreaped_ = all_reaped;
        if (entry.bytes == 0 || entry.is_pending() || lives(entry)) continue;
        forget(entry);
        if (storage_->fits(wanted_bytes) && index_.used() < index_.slot_count()) return;
    }
}

// Chooses the occupant of the insertion path that is evicted for its slot.
Entry* RangeCache::choose_slot(const Entry& entry, std::uint32_t& slot) {
    if (!entry.store_) return nullptr;
    Entry* lowest = nullptr;
    double lowest_score = 0;
    for (const std::uint32_t candidate : index_.path()) {
        Entry& occupant = pool_[index_.at(candidate)];
        if (occupant.is_pending()) continue;
        const double score = lives(occupant) ? policy_->slot_score(occupant) : lowest_of_all;
        if (lowest != nullptr && score >= lowest_score) continue;
        lowest = &occupant;
        lowest_score = score;
        slot = candidate;
    }
    const bool worth =
        lowest == nullptr || !policy_->weighs_newcomers() || policy_->slot_score(entry) > lowest_score;
    return worth ? lowest : nullptr;
}

Entry* RangeCache::sample_slots() noexcept {
    const SlotSampler::Sample sample =
        slot_sampler_.draw(index_.slot_count(), *policy_, [this](std::uint64_t position) {
            const std::uint32_t id = index_.at(static_cast<std::uint32_t>(position));
            EvictionItem* const item =
                id == CuckooIndex::none || pool_[id].is_pending() ? nullptr : &pool_[id];
            return std::pair(id != CuckooIndex::none, item);
        });
    counters_.evict_visited += sample.visited;
    counters_.evict_nonempty += sample.occupied;
    interval_.visited += sample.visited;
    interval_.nonempty += sample.occupied;
    return static_cast<Entry*>(sample.lowest);
}

}  // namespace nearfetch

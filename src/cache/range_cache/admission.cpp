// SPDX-License-Identifier: Apache-2.0
//
// Admission of misses (001, sections III-B2 and III-D).
//
// The paper evicts one victim and stores the newcomer if that made enough room ("weak caching"). Often it
// does not, and the victim is lost for nothing. The log (log_storage.hpp) makes room of any size from entries
// anywhere: its oldest entries are evicted if they are among the least valuable of all, and kept if not; how
// valuable these are is known from a sample. A newcomer that is worth less than they are on average is not
// admitted. The work of a miss is bounded: who would need more is admitted another time.

#include <algorithm>
#include <limits>
#include <new>
#include <numeric>
#include <utility>

#include "cache/range_cache/newcomer.hpp"
#include "cache/range_cache/range_cache.hpp"

namespace nearfetch {

namespace {

// Limit of possibly stale entries examined per admission when room is needed.
constexpr std::uint32_t most_reaped = 256;
// Limits of the work for a newcomer: entries that the log evicts or keeps, and bytes moved for one of its
// bytes.
constexpr std::uint32_t most_passed = 8;
constexpr std::uint64_t most_moved_per_byte = 2, most_moved_bytes = 8 * 1024;
constexpr std::uint64_t scattered_divisor = 4;
// Entries are drawn so often that a sample is new long before all entries are.
constexpr std::uint64_t draws_per_generation = 1024, most_between_draws = 4 * draws_per_generation;
constexpr double lowest_of_all = -std::numeric_limits<double>::infinity();

}  // namespace

Admission RangeCache::admit(Rank target, std::uint64_t offset, std::uint64_t size, Stamp stamp, bool store) {
    return admit({.target = target, .range = {offset, offset + size}, .stamp = stamp, .store = store});
}

// Fills in the entry, before index and buffer know it.
void RangeCache::describe(Entry& entry, const Newcomer& newcomer) const {
    entry.target_ = newcomer.target;
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
    NF_EXPECT(!range.empty() && target >= 0 && static_cast<std::uint32_t>(target) < sync_.ranks());
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
    switch (result.type) {
        case AccessType::conflicting:
            ++interval_.conflicting;
            break;
        case AccessType::capacity:
            ++interval_.capacity;
            break;
        case AccessType::failing:
            ++interval_.failing;
            break;
        default:
            break;
    }
    touch_rule_ = policy_->touch_rule();
    return result;
}

AccessType RangeCache::try_admission(Entry& entry) {
    sample();
    if (entry.store_ && is_hopeless(entry)) return AccessType::failing;
    follow_entries();
    bool way = index_.plan(entry.target_, entry.offset_);
    bool room = !entry.store_ || storage_->place(entry);
    // The log finds stale entries by itself.
    if (may_be_stale() && (!way || (!room && storage_->log() == nullptr))) {
        reap_stale(most_reaped, entry.bytes);
        way = index_.plan(entry.target_, entry.offset_);
        room = room || storage_->place(entry);
    }
    const double limit = room ? 0 : eviction_limit(entry);
    if (!room && (!storage_->could_fit(entry.bytes) || !is_worth_room(entry, limit)))
        return AccessType::failing;
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
        if (!make_room(entry, limit)) return AccessType::failing;
        if (type == AccessType::direct && counters_.evictions > evictions) type = AccessType::capacity;
    }
    insert_pending(entry, slot);
    return type;
}

void RangeCache::evict(Entry& entry) noexcept {
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
void RangeCache::reap_stale(std::uint32_t most, std::uint64_t newcomer_bytes) noexcept {
    for (std::uint32_t seen = 0; may_be_stale() && seen < most; ++seen) {
        Entry& entry = pool_[unreaped_++];
        if (unreaped_ >= pool_.end()) unreaped_ = all_reaped;
        if (entry.bytes == 0 || entry.is_pending() || fresh(entry)) continue;
        forget(entry);
        if (storage_->fits(newcomer_bytes) && index_.used() < index_.slot_count()) return;
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
        const double score = score_now(occupant);
        if (lowest != nullptr && score >= lowest_score) continue;
        lowest = &occupant;
        lowest_score = score;
        slot = candidate;
    }
    const bool worth =
        lowest == nullptr || !policy_->weighs_newcomers() || policy_->score(entry) > lowest_score;
    return worth ? lowest : nullptr;
}

// Draws an entry of the log.
void RangeCache::sample() noexcept {
    const LogStorage* const log = storage_->log();
    const std::uint64_t entries = by_range_.size();
    if (log == nullptr || ++unsampled_ * draws_per_generation < std::min(entries, most_between_draws)) return;
    unsampled_ = 0;
    const std::uint32_t id = std::exchange(drawn_, log->at_random(random_));
    if (drawn_ != LogStorage::none) __builtin_prefetch(&pool_[drawn_]);
    if (id == LogStorage::none || pool_[id].bytes == 0 || pool_[id].is_pending()) return;
    const Entry& entry = pool_[id];
    scores_.add(score_now(entry), entry.bytes, entries / 4);
}

// Whether there is no room for it, and it is worth less than all that would be evicted.
bool RangeCache::is_hopeless(const Entry& entry) const {
    if (!policy_->weighs_newcomers() || !scores_.is_filled() || storage_->fits(entry.bytes)) return false;
    const LogStorage* const log = storage_->log();
    return log != nullptr && !is_scattered(*log) && policy_->score(entry) <= scores_.limit();
}

// Whether so much of what is free is scattered that it has only to be collected.
bool RangeCache::is_scattered(const LogStorage& log) noexcept {
    return log.scattered_bytes() > log.size_bytes() / scattered_divisor;
}

// Whether it is worth more than the last that would be evicted for it.
bool RangeCache::is_worth_room(const Entry& entry, double limit) const {
    return !policy_->weighs_newcomers() || storage_->log() == nullptr || policy_->score(entry) > limit;
}

bool RangeCache::make_room(Entry& entry, double limit) {
    if (LogStorage* log = storage_->log())
        return widen_gap(*log, limit, entry.bytes, [&] { return storage_->place(entry); });
    Entry* const victim = sample_slots();
    if (victim == nullptr) return false;
    evict(*victim);
    return storage_->place(entry);
}

// The score up to which the log evicts. Before it is known, that of the lowest entry of those that are next.
double RangeCache::eviction_limit(const Entry& newcomer) const {
    const LogStorage* const log = storage_->log();
    if (log == nullptr || is_scattered(*log)) return lowest_of_all;
    const double limit = scores_.is_filled() ? scores_.limit() : lowest_of_all;
    const double most = policy_->score(newcomer);
    double lowest = -lowest_of_all;
    log->for_oldest(most_passed, [&](std::uint32_t id) {
        if (!pool_[id].is_pending()) lowest = std::min(lowest, score_now(pool_[id]));
    });
    return lowest <= most ? std::max(limit, lowest) : limit;
}

// What is stale is worth nothing.
double RangeCache::score_now(const Entry& entry) const {
    return fresh(entry) ? policy_->score(entry) : lowest_of_all;
}

// Evicts or keeps the oldest entries until it is done(), within limits. \return whether it is
template <class Done>
bool RangeCache::widen_gap(LogStorage& log, double limit, std::uint64_t wanted_bytes, Done&& done) {
    const std::uint64_t most_moved = most_moved_bytes + most_moved_per_byte * wanted_bytes;
    std::uint64_t moved = 0;
    bool is_done = false;
    for (std::uint32_t passed = 0; !is_done && passed < most_passed && moved < most_moved; ++passed) {
        const std::uint32_t id = log.oldest();
        if (id == LogStorage::none) return done();
        if (id != LogStorage::ring_end) {
            Entry& oldest = pool_[id];
            if (!oldest.is_pending() && !fresh(oldest)) {
                forget(oldest);
            } else if (!oldest.is_pending() && policy_->score(oldest) <= limit) {
                evict(oldest);
            } else {
                moved += oldest.bytes;
                if (!log.keep_oldest()) return false;
            }
        }
        is_done = done();
    }
    return is_done;
}

void RangeCache::make_gap(std::uint64_t bytes) {
    LogStorage* const log = storage_->log();
    if (log == nullptr || bytes > log->size_bytes() || storage_->fits(bytes)) return;
    Entry none;  // worth less than any
    none.bytes = bytes;
    (void)widen_gap(*log, eviction_limit(none), bytes, [&] { return storage_->fits(bytes); });
}

// The victim of 001.
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

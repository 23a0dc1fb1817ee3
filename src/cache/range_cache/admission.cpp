// SPDX-License-Identifier: Apache-2.0
//
// Admission of misses (001, sections III-B2 and III-D).
//
// The paper evicts one victim and stores the newcomer if that made enough room ("weak caching"). Often it
// does not, and the victim is lost for nothing. Here an admission is planned first: an index slot, and a
// window of adjacent regions, free ones and victims, that is large enough. Only a complete plan is executed.

#include <algorithm>
#include <new>
#include <numeric>

#include "cache/range_cache/plan.hpp"
#include "cache/range_cache/range_cache.hpp"

namespace nearfetch {

namespace {

// Limit of a window's regions on each side of its centre: a longer one is hardly the cheapest.
constexpr std::size_t most_weighed = 64;
// Centres around which windows are searched, in rounds.
constexpr std::size_t window_centers[] = {2, 4, 6};
constexpr double cheap_enough = 0.1;
constexpr double hopeless_share = 0.5;
constexpr std::size_t most_in_order = 4096;
// Limit of possibly stale entries examined per admission when room is needed.
constexpr std::uint32_t most_reaped = 256;

}  // namespace

Admission RangeCache::admit(Rank target, std::uint64_t offset, std::uint64_t size, Stamp stamp, bool store) {
    return admit({target, {offset, offset + size}, stamp, store});
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
    entry.benefit = config_.hit_benefit ? config_.hit_benefit(entry.target_, entry.bytes) : 1;
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
    const std::uint64_t stored = range.size() + skew;
    NF_EXPECT(!range.empty() && target >= 0 && static_cast<std::uint32_t>(target) < sync_.ranks());
    Admission result;
    Entry* entry = nullptr;
    try {
        if (config_.adaptive && gets_ - interval_.gets_at_start >= config_.adapt.interval_gets) adapt();
        if (store) regrow_buffer(stored);
        const bool too_large = store && StorageBuffer::footprint(stored) > buffer_.size_bytes();
        if (too_large) ++interval_.failing;
        if (too_large || occupied(target, range.begin, range.size()) || (entry = pool_.acquire()) == nullptr)
            return result;
        describe(*entry, newcomer);
        if (store) arrive(*entry, will_be_used);
        plan_->clear();
        by_range_.reserve();
        result.type = config_.weak_admission ? admit_weakly(*entry, *plan_) : admit_planned(*entry, *plan_);
    } catch (const std::bad_alloc&) {
        result.type = AccessType::failing;
    }
    if (result.type != AccessType::failing) {
        result.entry = entry;
    } else if (entry != nullptr) {
        if (store) policy_->rejected(*entry);
        pool_.release(entry);
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

AccessType RangeCache::admit_planned(Entry& entry, Plan& plan) {
    bool way = index_.plan(entry.target_, entry.offset_);
    const bool room = !entry.store_ || buffer_.fits(entry.stored_bytes());
    if ((!way || !room) && unreaped_ != nullptr) {
        reap_stale(most_reaped, entry.stored_bytes());
        way = index_.plan(entry.target_, entry.offset_);
    }
    bool good = plan_space(entry, plan);
    for (Entry* victim : plan.victims)
        victim->victim_ = true;
    good = good && (way || plan_slot(entry, plan)) && is_worth_admitting(entry, plan);
    for (Entry* victim : plan.victims)
        victim->victim_ = false;
    if (!good) return AccessType::failing;

    if (entry.store_) buffer_.prepare();
    if (!plan.victims.empty()) policy_->displaced(plan.victims_score, plan.victims_bytes);
    for (Entry* victim : plan.victims)
        evict(*victim);
    if (plan.slot_victim != nullptr) evict(*plan.slot_victim);
    StorageBuffer::Region* region = entry.store_ ? buffer_.allocate(entry.stored_bytes(), &entry) : nullptr;
    NF_ENSURE((region != nullptr) == entry.store_);
    insert_pending(entry, region);
    if (plan.slot_victim != nullptr) return AccessType::conflicting;
    return plan.victims.empty() ? AccessType::direct : AccessType::capacity;
}

// As in the paper: one victim for the index, one for space, which may not suffice.
AccessType RangeCache::admit_weakly(Entry& entry, Plan& plan) {
    bool way = index_.plan(entry.target_, entry.offset_);
    if (!way && unreaped_ != nullptr) {
        reap_stale(most_reaped, entry.stored_bytes());
        way = index_.plan(entry.target_, entry.offset_);
    }
    if (!way && !plan_slot(entry, plan)) return AccessType::failing;
    AccessType type = AccessType::direct;
    if (entry.store_) buffer_.prepare();
    if (plan.slot_victim != nullptr) {
        evict(*plan.slot_victim);
        type = AccessType::conflicting;
    }
    StorageBuffer::Region* region = nullptr;
    if (entry.store_) {
        region = buffer_.allocate(entry.stored_bytes(), &entry);
        if (region == nullptr && unreaped_ != nullptr) {
            reap_stale(most_reaped, entry.stored_bytes());
            region = buffer_.allocate(entry.stored_bytes(), &entry);
        }
        if (region == nullptr) {
            candidates_.clear();
            policy_->candidates(1, candidates_);
            counters_.evict_visited += candidates_.visited;
            counters_.evict_nonempty += candidates_.nonempty;
            interval_.visited += candidates_.visited;
            interval_.nonempty += candidates_.nonempty;
            if (candidates_.items.empty()) return AccessType::failing;
            evict(static_cast<Entry&>(*candidates_.items.front()));
            buffer_.prepare();
            region = buffer_.allocate(entry.stored_bytes(), &entry);
            if (region == nullptr) return AccessType::failing;
            if (type == AccessType::direct) type = AccessType::capacity;
        }
    }
    insert_pending(entry, region);
    return type;
}

void RangeCache::evict(Entry& entry) noexcept {
    ++counters_.evictions;
    remove(entry, true);
}

// Makes the entry pending, in its planned slot.
void RangeCache::insert_pending(Entry& entry, StorageBuffer::Region* region) noexcept {
    if (plan_->slot == CuckooIndex::none)
        index_.place(entry.id_);
    else
        index_.place_through(plan_->slot, entry.id_);
    if (region != nullptr) {
        entry.region_ = region;
        entry.storage_ = buffer_.data(region) + entry.skew_;
    }
    by_range_.insert(entry.target_, entry.offset_, entry.id_);
    by_age_.push_back(entry);
    ++pending_;
    largest_entry_bytes_ = std::max(largest_entry_bytes_, entry.bytes);
}

Entry* RangeCache::cached_at(std::uint32_t slot) noexcept {
    Entry& entry = pool_[index_.at(slot)];
    return entry.is_pending() ? nullptr : &entry;
}

// Removes stale entries before fresh ones; they do not count as evictions. Stops when there is room, or at
// the limit.
void RangeCache::reap_stale(std::uint32_t most, std::uint64_t payload_bytes) noexcept {
    for (std::uint32_t seen = 0; unreaped_ != nullptr && seen < most; ++seen) {
        Entry& entry = *unreaped_;
        auto after = std::next(by_age_.iterator_to(entry));
        unreaped_ = after == by_age_.end() ? nullptr : &*after;
        if (entry.is_pending() || fresh(entry)) continue;
        forget(entry);
        if (buffer_.fits(payload_bytes) && index_.used() < index_.slot_count()) return;
    }
}

// Chooses the occupant of the insertion path that is evicted for its slot.
bool RangeCache::plan_slot(const Entry& entry, Plan& plan) {
    if (!entry.store_) return false;
    double lowest = 0;
    for (const std::uint32_t slot : index_.path()) {
        Entry* occupant = cached_at(slot);
        if (occupant == nullptr) continue;
        if (occupant->victim_) {  // evicted for its space anyway
            plan.slot = slot;
            plan.slot_victim = nullptr;
            return true;
        }
        const double score = fresh(*occupant) ? policy_->score(*occupant) : -1.0;
        if (plan.slot_victim == nullptr || score < lowest) {
            lowest = score;
            plan.slot_victim = occupant;
            plan.slot = slot;
        }
    }
    return plan.slot_victim != nullptr;
}

bool RangeCache::plan_space(const Entry& entry, Plan& plan) {
    if (!entry.store_ || buffer_.fits(entry.stored_bytes())) return true;
    const std::uint64_t needed = StorageBuffer::footprint(entry.stored_bytes());
    const bool found =
        policy_->weighs_newcomers() ? cheapest_run(entry, needed, plan) : first_run(needed, plan);
    counters_.evict_visited += candidates_.visited;
    counters_.evict_nonempty += candidates_.nonempty;
    interval_.visited += candidates_.visited;
    interval_.nonempty += candidates_.nonempty;
    return found;
}

// Compares the newcomer's score with that of what it displaces, both beyond their space.
bool RangeCache::is_worth_admitting(const Entry& entry, const Plan& plan) const {
    if (!policy_->weighs_newcomers() || (plan.victims.empty() && plan.slot_victim == nullptr)) return true;
    const double per_byte = policy_->score_per_byte();
    double lost = plan.victims_score;
    double freed = static_cast<double>(plan.victims_bytes);
    if (plan.slot_victim != nullptr) {
        lost += policy_->score(*plan.slot_victim);
        freed += static_cast<double>(plan.slot_victim->footprint_bytes());
    }
    // For an index slot alone, space does not count.
    const double space = plan.victims.empty() ? 0.0 : freed - static_cast<double>(entry.footprint_bytes());
    return policy_->score(entry) + per_byte * space > lost;
}

// The cheapest window that covers `center`: for each start the first end that makes it large enough.
template <class Passable, class Cost>
void RangeCache::best_window(StorageBuffer::Region* center, std::uint64_t needed, std::size_t most_neighbours,
                             Window& best, Passable&& passable, Cost&& cost) const {
    auto& left = plan_->left;
    auto& right = plan_->right;
    left.assign(1, center);
    right.clear();
    std::uint64_t bytes = 0;
    for (StorageBuffer::Region* region = center->previous;
         region != nullptr && bytes < needed && left.size() < most_neighbours && passable(region);
         region = region->previous) {
        left.push_back(region);
        bytes += region->bytes;
    }
    bytes = 0;
    for (StorageBuffer::Region* region = center->next;
         region != nullptr && bytes < needed && right.size() < most_neighbours && passable(region);
         region = region->next) {
        right.push_back(region);
        bytes += region->bytes;
    }
    // Two pointers: as the start moves right, so does the end.
    std::uint64_t sum = 0;
    double sum_cost = 0;
    for (StorageBuffer::Region* region : left) {
        sum += region->bytes;
        sum_cost += cost(region);
    }
    std::size_t ends = 0;
    for (std::size_t start = left.size(); start-- > 0;) {
        while (sum < needed && ends < right.size()) {
            sum += right[ends]->bytes;
            sum_cost += cost(right[ends++]);
        }
        if (sum < needed) return;
        if (best.first == nullptr || sum_cost < best.cost)
            best = {left[start], ends == 0 ? center : right[ends - 1], sum_cost};
        sum -= left[start]->bytes;
        sum_cost -= cost(left[start]);
    }
}

// For additive scores: the cheapest window around the lowest-scored items.
bool RangeCache::cheapest_run(const Entry& entry, std::uint64_t needed, Plan& plan) {
    const double per_byte = policy_->score_per_byte();
    const auto passable = [](const StorageBuffer::Region* region) {
        return region->is_free() || !static_cast<const Entry*>(region->owner)->is_pending();
    };
    const auto cost = [&](const StorageBuffer::Region* region) {
        if (region->is_free()) return 0.0;
        return policy_->score(*static_cast<const Entry*>(region->owner)) -
               per_byte * static_cast<double>(region->bytes);
    };
    // Searches further while the best window costs more than usual, and the newcomer may be worth it.
    const double usual = per_byte * static_cast<double>(needed);
    const double cheap = cheap_enough * usual;
    const bool hopeless = policy_->score(entry) < hopeless_share * usual;
    Window best;
    for (const std::size_t centers : window_centers) {
        candidates_.clear();
        policy_->candidates(centers, candidates_);
        for (EvictionItem* item : candidates_.items)
            best_window(static_cast<Entry*>(item)->region_, needed, most_weighed, best, passable, cost);
        if (best.first != nullptr && (best.cost <= cheap || hopeless)) break;
    }
    if (best.first == nullptr) return false;
    for (StorageBuffer::Region* region = best.first;; region = region->next) {
        if (!region->is_free()) {
            auto* victim = static_cast<Entry*>(region->owner);
            plan.victims.push_back(victim);
            plan.victims_score += policy_->score(*victim);
            plan.victims_bytes += region->bytes;
        }
        if (region == best.last) break;
    }
    return true;
}

// For policies that only order: marks entries in eviction order until adjacent marked and free regions are
// large enough.
bool RangeCache::first_run(std::uint64_t needed, Plan& plan) {
    const auto passable = [](const StorageBuffer::Region* region) {
        return region->is_free() || static_cast<const Entry*>(region->owner)->victim_;
    };
    const auto cost = [](const StorageBuffer::Region* region) {
        return region->is_free() ? 0.0 : static_cast<double>(region->bytes);
    };
    Window best;
    plan.marked.clear();
    struct Unmark {
        std::vector<Entry*>& marked;
        ~Unmark() {
            for (Entry* entry : marked)
                entry->victim_ = false;
        }
    } unmark{plan.marked};
    for (std::size_t count = 8; best.first == nullptr && count <= most_in_order; count *= 8) {
        candidates_.clear();
        policy_->candidates(count, candidates_);
        for (EvictionItem* item : candidates_.items) {
            auto* candidate = static_cast<Entry*>(item);
            if (candidate->victim_) continue;
            plan.marked.push_back(candidate);
            candidate->victim_ = true;
            best_window(candidate->region_, needed, most_in_order, best, passable, cost);
            if (best.first != nullptr) break;
        }
        if (candidates_.items.size() < count) break;
    }
    if (best.first == nullptr) return false;
    for (StorageBuffer::Region* region = best.first;; region = region->next) {
        if (!region->is_free()) {
            plan.victims.push_back(static_cast<Entry*>(region->owner));
            plan.victims_bytes += region->bytes;
        }
        if (region == best.last) break;
    }
    return true;
}

}  // namespace nearfetch

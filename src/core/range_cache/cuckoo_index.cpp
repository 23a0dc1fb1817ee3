// SPDX-License-Identifier: Apache-2.0
#include "core/range_cache/cuckoo_index.hpp"

#include <algorithm>

#include "base/assert.hpp"

namespace nearfetch {

namespace {

// A table that is nearly full seldom has a way; then a short walk is enough to find a good victim on it.
constexpr std::uint32_t long_walk = 256;
constexpr std::uint32_t short_walk = 16;
constexpr double hopeless_load = 0.98;

}  // namespace

CuckooIndex::CuckooIndex(std::uint32_t slots, std::uint64_t seed)
    : slots_(slots), reached_from_(slots), visited_in_(slots, 0), random_state_(seed * 2 + 1) {
    NF_EXPECT(slots > 0 && slots != none);
    path_.reserve(functions * (long_walk + 1));
}

std::array<std::uint32_t, CuckooIndex::functions> CuckooIndex::positions(
    Rank target, std::uint64_t offset) const noexcept {
    const std::uint64_t hash = mix(target, offset);
    const std::uint64_t second = second_mix(hash);
    return {reduce(static_cast<std::uint32_t>(hash >> 32)), reduce(static_cast<std::uint32_t>(hash)),
            reduce(static_cast<std::uint32_t>(second >> 32)), reduce(static_cast<std::uint32_t>(second))};
}

std::uint32_t CuckooIndex::random(std::uint32_t bound) noexcept {
    random_state_ ^= random_state_ << 13;
    random_state_ ^= random_state_ >> 7;
    random_state_ ^= random_state_ << 17;
    return static_cast<std::uint32_t>(((random_state_ >> 32) * bound) >> 32);
}

// Notes a slot of the walk. \return true when it is empty
bool CuckooIndex::visit(std::uint32_t slot, std::uint32_t from) {
    if (visited_in_[slot] == plan_number_) return false;
    visited_in_[slot] = plan_number_;
    reached_from_[slot] = from;
    if (slots_[slot].id == none) return true;
    path_.push_back(slot);
    return false;
}

bool CuckooIndex::plan(Rank target, std::uint64_t offset) {
    NF_EXPECT(find(target, offset) == none);
    newcomer_ = {offset, target, none};
    path_.clear();
    planned_ = none;
    if (++plan_number_ == 0) {
        std::fill(visited_in_.begin(), visited_in_.end(), 0);
        plan_number_ = 1;
    }
    const auto firsts = positions(target, offset);
    for (const std::uint32_t slot : firsts)
        if (visit(slot, none)) {
            planned_ = slot;
            return true;
        }
    const bool hopeless = used_ >= hopeless_load * static_cast<double>(slots_.size());
    std::uint32_t current = firsts[random(functions)];
    for (std::uint32_t step = 0; step < (hopeless ? short_walk : long_walk); ++step) {
        const Slot& occupant = slots_[current];
        const auto others = positions(occupant.target, occupant.offset);
        for (const std::uint32_t slot : others)
            if (visit(slot, current)) {
                planned_ = slot;
                return true;
            }
        // Some other position of the occupant; where the hash functions agree it stays for a step.
        const auto self =
            static_cast<std::uint32_t>(std::find(others.begin(), others.end(), current) - others.begin());
        current = others[(self + 1 + random(functions - 1)) % functions];
    }
    return false;
}

void CuckooIndex::place_through(std::uint32_t slot, std::uint32_t id) noexcept {
    NF_EXPECT(slot != none && slots_[slot].id == none && visited_in_[slot] == plan_number_);
    while (reached_from_[slot] != none) {
        const std::uint32_t from = reached_from_[slot];
        slots_[slot] = slots_[from];
        slot = from;
    }
    slots_[slot] = newcomer_;
    slots_[slot].id = id;
    ++used_;
    planned_ = none;
}

bool CuckooIndex::insert(Rank target, std::uint64_t offset, std::uint32_t id) {
    if (!plan(target, offset)) return false;
    place(id);
    return true;
}

bool CuckooIndex::erase(Rank target, std::uint64_t offset) noexcept {
    for (const std::uint32_t position : positions(target, offset)) {
        Slot& slot = slots_[position];
        if (slot.offset == offset && slot.target == target) {
            slot = Slot{};
            --used_;
            return true;
        }
    }
    return false;
}

void CuckooIndex::clear() noexcept {
    std::fill(slots_.begin(), slots_.end(), Slot{});
    used_ = 0;
    planned_ = none;
}

}  // namespace nearfetch

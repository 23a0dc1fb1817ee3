// SPDX-License-Identifier: Apache-2.0
#include "cache/range_cache/cuckoo_index.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "base/assert.hpp"

namespace nearfetch {

namespace {

constexpr std::uint32_t walk_steps = 64;
// Bounds of the slots that the breadth-first search starts from.
constexpr std::uint32_t most_searched = 1024;
constexpr std::uint32_t least_searched = 8;

}  // namespace

CuckooIndex::CuckooIndex(std::uint32_t slots, std::uint64_t seed)
    : CuckooIndex(std::min(slots, first_slots), slots, seed) {}

CuckooIndex::CuckooIndex(std::uint32_t slots, std::uint32_t most_slots, std::uint64_t seed)
    : slots_(slots),
      most_slots_(most_slots),
      reached_from_(slots),
      visited_in_(slots, 0),
      searched_(most_searched),
      random_(seed) {
    NF_EXPECT(slots > 0 && most_slots != none);
    path_.reserve(functions * (walk_steps + most_searched + 1));
}

void CuckooIndex::take_all() {
    if (slots_.size() < most_slots_) take(most_slots_);
}

// If keys find no slot, which is very unlikely, the smaller table stays.
void CuckooIndex::take(std::uint32_t slots) {
    CuckooIndex larger(slots, most_slots_, random_.seed());
    for (const Slot& slot : slots_)
        if (slot.id != none && !larger.insert(slot.target, slot.offset, slot.id)) return;
    *this = std::move(larger);
}

// When memory is exhausted the present slots have to suffice.
void CuckooIndex::grow() noexcept try {
    take(most_slots_ / growth < slots_.size() ? most_slots_ : slots_taken() * growth);
} catch (const std::bad_alloc&) {
}

std::array<std::uint32_t, CuckooIndex::functions> CuckooIndex::positions(
    Rank target, std::uint64_t offset) const noexcept {
    const std::uint64_t hash = mix(target, offset);
    const std::uint64_t second = second_mix(hash);
    return {reduce(static_cast<std::uint32_t>(hash >> 32)), reduce(static_cast<std::uint32_t>(hash)),
            reduce(static_cast<std::uint32_t>(second >> 32)), reduce(static_cast<std::uint32_t>(second))};
}

// Records a slot of the walk. \return true if it is empty
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
    if (used_ >= slots_.size() / 2 && slots_.size() < most_slots_) [[unlikely]]
        grow();
    newcomer_ = {offset, target, none};
    path_.clear();
    planned_ = none;
    const auto firsts = positions(target, offset);
    for (const std::uint32_t slot : firsts)
        if (slots_[slot].id == none) {
            planned_ = slot;
            return true;
        }
    if (++plan_number_ == 0) {
        std::fill(visited_in_.begin(), visited_in_.end(), 0);
        plan_number_ = 1;
    }
    for (const std::uint32_t slot : firsts)
        (void)visit(slot, none);
    planned_ = walk(firsts[random_.below(functions)]);
    if (planned_ == none) planned_ = search();
    return planned_ != none;
}

// Moves to another position of each occupant, until one of the positions is empty.
std::uint32_t CuckooIndex::walk(std::uint32_t current) {
    for (std::uint32_t step = 0; step < std::min(walk_steps, searched_); ++step) {
        const Slot& occupant = slots_[current];
        const auto others = positions(occupant.target, occupant.offset);
        for (const std::uint32_t slot : others)
            if (visit(slot, current)) return slot;
        const auto self =
            static_cast<std::uint32_t>(std::find(others.begin(), others.end(), current) - others.begin());
        current = others[(self + 1 + random_.below(functions - 1)) % functions];
    }
    return none;
}

// Breadth-first from all slots that the walk has visited. After a failure the next search is likely to fail
// too, so it is shorter until one succeeds.
std::uint32_t CuckooIndex::search() {
    for (std::size_t next = 0; next < path_.size() && next < searched_; ++next) {
        const std::uint32_t current = path_[next];
        const Slot& occupant = slots_[current];
        for (const std::uint32_t slot : positions(occupant.target, occupant.offset))
            if (visit(slot, current)) {
                searched_ = std::min(searched_ * 2, most_searched);
                return slot;
            }
    }
    searched_ = std::max(searched_ / 2, least_searched);
    return none;
}

void CuckooIndex::place_through(std::uint32_t slot, std::uint32_t id) noexcept {
    NF_EXPECT(slot != none && slots_[slot].id == none &&
              (path_.empty() || visited_in_[slot] == plan_number_));
    while (!path_.empty() && reached_from_[slot] != none) {
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
    searched_ = most_searched;
}

}  // namespace nearfetch

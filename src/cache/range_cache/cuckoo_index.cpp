// SPDX-License-Identifier: Apache-2.0
#include "cache/range_cache/cuckoo_index.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "base/assert.hpp"
#include "base/error.hpp"

namespace nearfetch {

namespace {

constexpr std::uint32_t walk_steps = 64;
// Bounds of the slots that the breadth-first search starts from.
constexpr std::uint32_t most_searched = 1024;
constexpr std::uint32_t least_searched = 8;
// Limits of the work of move_some(): slots looked at, and keys moved.
constexpr std::uint32_t most_passed = 32, most_moved = 8;

}  // namespace

CuckooIndex::CuckooIndex(std::uint32_t slots, std::uint64_t seed) : searched_(most_searched), random_(seed) {
    path_.reserve(functions * (walk_steps + most_searched + 1));
    if (!restart(slots)) throw std::bad_alloc();
}

std::unique_ptr<CuckooIndex::Table> CuckooIndex::new_table(std::uint32_t slots) noexcept try {
    NF_EXPECT(slots > 0 && slots != none);
    auto table = std::make_unique<Table>(slots);
    return table->slots.resize(slots) && table->visits.resize(slots) ? std::move(table) : nullptr;
} catch (const std::bad_alloc&) {
    return nullptr;
} catch (const Error&) {
    return nullptr;
}

void CuckooIndex::use(std::unique_ptr<Table> table, std::uint32_t slots) noexcept {
    table_ = std::move(table);
    slots_ = table_->slots.data();
    slot_count_ = slots;
    planned_ = none;
    plan_number_ = 0;
    searched_ = most_searched;
}

bool CuckooIndex::begin_resize(std::uint32_t slots) noexcept {
    NF_EXPECT(!is_moving());
    std::unique_ptr<Table> table = new_table(slots);
    if (table == nullptr) return false;
    table_before_ = std::move(table_);
    before_ = slots_;
    before_count_ = unmoved_ = slot_count_;
    use(std::move(table), slots);
    return true;
}

// From the last slot to the first, so that memory is returned on the way. A key that finds no slot, which is
// very unlikely, stays until there is one.
void CuckooIndex::move_some() {
    NF_EXPECT(is_moving());
    const std::uint32_t last = unmoved_ - std::min(unmoved_, most_passed);
    for (std::uint32_t moved = 0; unmoved_ > last && moved < most_moved; --unmoved_) {
        const Slot key = before_[unmoved_ - 1];
        if (key.is_empty()) continue;
        if (!plan(key)) return;
        before_[unmoved_ - 1] = Slot{};
        --used_;
        place(~key.not_id);
        ++moved;
    }
    table_before_->slots.resize(unmoved_);
    table_before_->visits.resize(unmoved_);
    if (unmoved_ > 0) return;
    table_before_.reset();
    before_ = nullptr;
    before_count_ = 0;
}

bool CuckooIndex::restart(std::uint32_t slots) noexcept {
    std::unique_ptr<Table> table = new_table(slots);
    if (table == nullptr) return false;
    table_before_.reset();
    before_ = nullptr;
    before_count_ = unmoved_ = 0;
    use(std::move(table), slots);
    used_ = 0;
    return true;
}

CuckooIndex::Positions CuckooIndex::positions_in(std::uint32_t count, Rank target,
                                                 std::uint64_t offset) noexcept {
    const std::uint64_t hash = mix(target, offset), second = second_mix(hash);
    return {reduce(hash >> 32, count), reduce(hash, count), reduce(second >> 32, count),
            reduce(second, count)};
}

// Records a slot of the walk. \return true if it is empty
bool CuckooIndex::visit(std::uint32_t slot, std::uint32_t from) {
    Visit& visit = table_->visits[slot];
    if (visit.plan == plan_number_) return false;
    visit = {from, plan_number_};
    if (slots_[slot].is_empty()) return true;
    path_.push_back(slot);
    return false;
}

bool CuckooIndex::plan(Rank target, std::uint64_t offset) {
    NF_EXPECT(find(target, offset) == none);
    return plan(Slot{offset, ~target, 0});
}

bool CuckooIndex::plan(const Slot& newcomer) {
    newcomer_ = newcomer;
    path_.clear();
    planned_ = none;
    const Positions firsts = positions(newcomer);
    for (const std::uint32_t slot : firsts)
        if (slots_[slot].is_empty()) {
            planned_ = slot;
            return true;
        }
    if (++plan_number_ == 0) {
        std::fill_n(table_->visits.data(), slot_count_, Visit{});
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
        const Positions others = positions(slots_[current]);
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
        for (const std::uint32_t slot : positions(slots_[current]))
            if (visit(slot, current)) {
                searched_ = std::min(searched_ * 2, most_searched);
                return slot;
            }
    }
    searched_ = std::max(searched_ / 2, least_searched);
    return none;
}

void CuckooIndex::place_through(std::uint32_t slot, std::uint32_t id) noexcept {
    const GrowingArray<Visit>& visits = table_->visits;
    NF_EXPECT(slot != none && slots_[slot].is_empty() &&
              (path_.empty() || visits[slot].plan == plan_number_));
    while (!path_.empty() && visits[slot].from != none) {
        const std::uint32_t from = visits[slot].from;
        slots_[slot] = slots_[from];
        slot = from;
    }
    slots_[slot] = newcomer_;
    slots_[slot].not_id = ~id;
    ++used_;
    planned_ = none;
}

bool CuckooIndex::insert(Rank target, std::uint64_t offset, std::uint32_t id) {
    if (!plan(target, offset)) return false;
    place(id);
    return true;
}

CuckooIndex::Slot* CuckooIndex::slot_before(Rank target, std::uint64_t offset) const noexcept {
    for (const std::uint32_t slot : positions_in(before_count_, target, offset))
        if (slot < unmoved_ && before_[slot].is(target, offset)) return &before_[slot];
    return nullptr;
}

std::uint32_t CuckooIndex::find_before(Rank target, std::uint64_t offset) const noexcept {
    const Slot* const slot = slot_before(target, offset);
    return slot == nullptr ? none : ~slot->not_id;
}

bool CuckooIndex::erase(Rank target, std::uint64_t offset) noexcept {
    Slot* found = nullptr;
    for (const std::uint32_t slot : positions_in(slot_count_, target, offset))
        if (slots_[slot].is(target, offset)) found = &slots_[slot];
    if (found == nullptr && is_moving()) found = slot_before(target, offset);
    if (found == nullptr) return false;
    *found = Slot{};
    --used_;
    return true;
}

}  // namespace nearfetch

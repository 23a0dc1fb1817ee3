// SPDX-License-Identifier: Apache-2.0
#include "rma/target_table.hpp"

#include <algorithm>
#include <utility>

#include "base/assert.hpp"

namespace nearfetch {

namespace {

template <class T>
void keep_room(std::vector<T>& list, std::size_t size) {
    if (list.capacity() < size) list.reserve(std::max(size, 2 * list.capacity()));
}

}  // namespace

TargetTable::TargetTable(Rank ranks)
    : ranks_(ranks), leaves_((static_cast<std::size_t>(ranks) + per_leaf - 1) / per_leaf) {
    Leaf* const empty = make_leaf();
    for (std::atomic<Leaf*>& leaf : leaves_)
        leaf.store(empty, std::memory_order_relaxed);
}

/// One of targets that were not accessed.
TargetTable::Leaf* TargetTable::make_leaf() {
    own_leaves_.push_back(std::make_unique<Leaf>());
    for (std::atomic<TargetState*>& state : *own_leaves_.back())
        state.store(&others_, std::memory_order_relaxed);
    return own_leaves_.back().get();
}

TargetState& TargetTable::add(Rank target) {
    NF_EXPECT(target >= 0 && target < ranks_);
    const auto i = static_cast<std::size_t>(target);
    // All that may fail comes first.
    auto made = std::make_unique<TargetState>(others_);
    const std::size_t count = accessed_.size() + 1;
    keep_room(accessed_, count);
    keep_room(states_, count);
    for (std::vector<Rank>* list : lists_)
        keep_room(*list, count);
    std::atomic<Leaf*>& leaf = leaves_[i / per_leaf];
    if (leaf.load(std::memory_order_relaxed) == own_leaves_.front().get())
        leaf.store(make_leaf(), std::memory_order_release);
    TargetState& state = *made;
    states_.push_back(std::move(made));
    accessed_.push_back(target);
    (*leaf.load(std::memory_order_relaxed))[i % per_leaf].store(&state, std::memory_order_release);
    if (made_) made_(target, state);
    return state;
}

}  // namespace nearfetch

// SPDX-License-Identifier: Apache-2.0
#include "rma/target_table.hpp"

#include <algorithm>
#include <utility>

#include "base/assert.hpp"
#include "base/grow.hpp"

namespace nearfetch {

TargetState& TargetTable::add(Rank target) {
    // All that may fail comes first.
    auto made = std::make_unique<TargetState>(others_);
    grow(accessed_, 1);
    grow(states_, 1);
    for (std::vector<Rank>* list : lists_)
        grow(*list, accessed_.size() + 1 - list->size());
    Published& published = of_.make(target);
    TargetState& state = *made;
    states_.push_back(std::move(made));
    accessed_.push_back(target);
    published.set(&state);
    if (made_) made_(target, state);
    return state;
}

void TargetTable::describe_memory(std::span<const TargetMemory> of_each) {
    NF_EXPECT(of_each.size() == static_cast<std::size_t>(ranks()));
    const auto remote = std::ranges::find(of_each, false, &TargetMemory::is_on_this_node);
    const TargetMemory& most = remote == of_each.end() ? of_each.front() : *remote;
    memory_ = PerRank<TargetMemory>(ranks(), most);
    for (Rank target = 0; target < ranks(); ++target)
        if (const TargetMemory& one = of_each[static_cast<std::size_t>(target)]; one != most)
            memory_.make(target) = one;
}

}  // namespace nearfetch

// SPDX-License-Identifier: Apache-2.0
#include "rma/target_table.hpp"

#include <utility>

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

}  // namespace nearfetch

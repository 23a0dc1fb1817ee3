// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <nearfetch/detail/array/observe.hpp>

namespace nearfetch::detail {

void Observer::read(Rank owner, std::int64_t number) {
    const std::lock_guard lock(mutex_);
    auto at = sets_.find(owner);
    if (at == sets_.end()) {
        if (bytes_ + IndexSet().memory() > most_bytes_) {
            ++seen_.left_out;
            return;
        }
        at = sets_.try_emplace(owner).first;
        bytes_ += at->second.memory();
    }
    IndexSet& set = at->second;
    const std::int64_t size = set.size();
    const std::uint64_t memory = set.memory();
    const std::uint64_t left = most_bytes_ - std::min(bytes_, most_bytes_);
    if (!set.insert(number, left + memory)) ++seen_.left_out;
    bytes_ += set.memory() - memory;
    seen_.elements += static_cast<std::uint64_t>(set.size() - size);
}

Observation Observer::seen() const {
    const std::lock_guard lock(mutex_);
    return seen_;
}

SetsByOwner Observer::take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(sets_, {});
}

void Observer::seen(SetsByOwner sets) {
    const std::lock_guard lock(mutex_);
    sets_ = std::move(sets);
    bytes_ = seen_.elements = 0;
    for (const auto& [owner, set] : sets_) {
        bytes_ += set.memory();
        seen_.elements += static_cast<std::uint64_t>(set.size());
    }
}

EncodedSets encode_sets(SetsByOwner& sets) {
    EncodedSets texts;
    for (auto& [owner, set] : sets) {
        set.complete();
        texts[owner].assign(set.encoded().begin(), set.encoded().end());
    }
    return texts;
}

void require_observer(const Observer* observer) {
    if (observer == nullptr)
        throw Error("prefetch_observed: nothing was observed", "it prefetches what was read since observe()",
                    "call observe() before the reads that are to be observed");
}

}  // namespace nearfetch::detail

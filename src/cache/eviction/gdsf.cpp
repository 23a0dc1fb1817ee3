// SPDX-License-Identifier: Apache-2.0
//
// GreedyDual-Size with frequency (Cherkasova 1998):
//     H(x) = L(at its last use) + frequency(x) worth(x) / size(x),
// the least H goes first, and L rises to the H of what was evicted last. Exact: L only rises, so H only rises
// with use, and a hit writes the L of its moment into the item (TouchRule) without reordering anything.

#include <algorithm>

#include "cache/eviction/heap_policy.hpp"
#include "cache/eviction/policies.hpp"

namespace nearfetch {

namespace {

class GdsfPolicy final : public HeapPolicy<GdsfPolicy> {
  public:
    explicit GdsfPolicy(const EvictionView& view) : HeapPolicy(view) { touch_rule_ = {0.0, 0.0}; }
    void arrive(EvictionItem& item) override { item.weight = touch_rule_.add; }
    void erase(EvictionItem& item, bool evicted) noexcept override {
        if (evicted) touch_rule_.add = std::max(touch_rule_.add, rank(item));
        HeapPolicy::erase(item, evicted);
    }
    double rank(const EvictionItem& item) const noexcept {
        return item.weight +
               static_cast<double>(item.frequency) * item.worth / static_cast<double>(item.footprint_bytes());
    }
};

}  // namespace

std::unique_ptr<EvictionPolicy> make_gdsf_policy(const EvictionView& view, const EvictionOptions&) {
    return std::make_unique<GdsfPolicy>(view);
}

}  // namespace nearfetch

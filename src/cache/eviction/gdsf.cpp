// SPDX-License-Identifier: Apache-2.0
//
// GreedyDual-Size with frequency (Cherkasova 1998):
//     H(x) = L(at its last use) + frequency(x) benefit(x) / size(x)
// The lowest H is evicted first, and L rises to the H of the last victim. Exact: L only rises, so H only
// rises with use. A hit writes the present L into the item (TouchRule) without reordering.

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
        return item.weight + static_cast<double>(item.frequency) * item.benefit /
                                 static_cast<double>(item.footprint_bytes());
    }
};

}  // namespace

std::unique_ptr<EvictionPolicy> make_gdsf_policy(const EvictionView& view, const EvictionOptions&) {
    return std::make_unique<GdsfPolicy>(view);
}

}  // namespace nearfetch

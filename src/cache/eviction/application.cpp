// SPDX-License-Identifier: Apache-2.0
//
// The application scores its ranges (001 concludes for graphs: keep vertices of high degree). The score is
// asked for once, at admission.

#include "cache/eviction/heap_policy.hpp"
#include "cache/eviction/policies.hpp"

namespace nearfetch {

namespace {

class ApplicationPolicy final : public HeapPolicy<ApplicationPolicy> {
  public:
    explicit ApplicationPolicy(const EvictionView& view) : HeapPolicy(view) { touch_rule_ = {1.0, 0.0}; }
    void arrive(EvictionItem& item) override { item.weight = view_.application_score(item); }
    double rank(const EvictionItem& item) const noexcept { return item.weight; }
};

}  // namespace

std::unique_ptr<EvictionPolicy> make_application_policy(const EvictionView& view, const EvictionOptions&) {
    return std::make_unique<ApplicationPolicy>(view);
}

}  // namespace nearfetch

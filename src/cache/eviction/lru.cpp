// SPDX-License-Identifier: Apache-2.0
//
// Exact LRU, ordered by `last`. With the lazy heap a hit needs no list operation.

#include "cache/eviction/heap_policy.hpp"
#include "cache/eviction/policies.hpp"

namespace nearfetch {

namespace {

class LruPolicy final : public HeapPolicy<LruPolicy> {
  public:
    explicit LruPolicy(const EvictionView& view) : HeapPolicy(view) {}
    void arrive(EvictionItem&) override {}
    double rank(const EvictionItem& item) const noexcept { return static_cast<double>(item.last); }
};

}  // namespace

std::unique_ptr<EvictionPolicy> make_lru_policy(const EvictionView& view, const EvictionOptions&) {
    return std::make_unique<LruPolicy>(view);
}

}  // namespace nearfetch

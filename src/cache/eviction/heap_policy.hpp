// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cache/eviction/lazy_heap.hpp"

namespace nearfetch {

/// A policy with an exact order by a rank that only rises with use. `Derived` has `double rank(item)`.
template <class Derived>
class HeapPolicy : public EvictionPolicy {
  public:
    void insert(EvictionItem& item) override { heap_.insert(item, derived().rank(item)); }
    void erase(EvictionItem& item, bool) noexcept override { heap_.erase(item); }
    double score(const EvictionItem& item) const override { return derived().rank(item); }
    void candidates(std::size_t count, EvictionCandidates& out) override {
        const std::size_t before = out.items.size();
        heap_.least(count, out.items, [this](const EvictionItem& item) { return derived().rank(item); });
        // Every examined slot holds an item.
        out.visited += out.items.size() - before;
        out.nonempty += out.items.size() - before;
    }

  protected:
    using EvictionPolicy::EvictionPolicy;
    LazyHeap heap_;

  private:
    const Derived& derived() const noexcept { return static_cast<const Derived&>(*this); }
};

}  // namespace nearfetch

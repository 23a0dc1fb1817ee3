// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "core/eviction/ghost_memory.hpp"
#include "core/eviction/heap_policy.hpp"
#include "core/eviction/policies.hpp"

namespace nearfetch {

namespace {

class DensityPolicy final : public HeapPolicy<DensityPolicy> {
  public:
    explicit DensityPolicy(const EvictionView& view) : HeapPolicy(view) { touch_rule_ = {1.0, 1.0}; }

    void arrive(EvictionItem& item) override {
        advance();
        ghosts_.set_capacity(2 * view_.slot_count());
        item.weight = ghosts_.recall(item.key).value_or(0.0) + touch_rule_.add;
    }
    void rejected(const EvictionItem& item) noexcept override { ghosts_.remember(item.key, item.weight); }
    void erase(EvictionItem& item, bool evicted) noexcept override {
        ghosts_.remember(item.key, item.weight);
        HeapPolicy::erase(item, evicted);
    }

    double score(const EvictionItem& item) const override { return item.weight; }
    double rank(const EvictionItem& item) const noexcept {
        return item.weight / static_cast<double>(item.footprint_bytes());
    }
    bool weighs_newcomers() const noexcept override { return true; }
    double score_per_byte() const override { return free_value_ * touch_rule_.add; }
    void displaced(double score, std::uint64_t bytes) override {
        const double now = score / static_cast<double>(bytes) / touch_rule_.add;
        free_value_ += (now - free_value_) * 0.1;
    }

  private:
    void advance() {
        const double horizon = std::max(1000.0, horizon_items * static_cast<double>(heap_.size()));
        exponent_ += static_cast<double>(view_.gets() - counted_) / horizon;
        counted_ = view_.gets();
        if (exponent_ > 200) {
            const double scale = std::exp(-exponent_);
            heap_.transform([scale](EvictionItem& item, double rank) {
                item.weight *= scale;
                return rank * scale;
            });
            ghosts_.transform([scale](double weight) { return weight * scale; });
            exponent_ = 0;
        }
        touch_rule_.add = std::exp(exponent_);
    }

    static constexpr double horizon_items = 16;
    GhostMemory ghosts_;
    double exponent_ = 0;
    double free_value_ = 0;
    std::uint64_t counted_ = 0;
};

}  // namespace

std::unique_ptr<EvictionPolicy> make_density_policy(const EvictionView& view, const EvictionOptions&) {
    return std::make_unique<DensityPolicy>(view);
}

}  // namespace nearfetch

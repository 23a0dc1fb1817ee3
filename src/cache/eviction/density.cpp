// SPDX-License-Identifier: Apache-2.0
//
// The default policy: keep what is used most per byte, and admit only what is worth more than what it
// displaces.
//
// An item's weight is its number of uses, decayed exponentially over `horizon` gets. Instead of decaying old
// uses, new uses count more (a hit adds e^(gets / horizon), see TouchRule). So weights only rise, and the
// lazy heap by weight per byte is exact. A bounded ghost memory keeps the weights of evicted items for their
// return.
//
// Victims are the cheapest window of adjacent entries (admission.cpp), minus the value of the window's
// surplus space. That value is the smoothed weight per byte of recent victims, like GDSF's clock. A newcomer
// is admitted if its weight is higher than this cost.
//
// An item idle for longer than its weight predicts is discounted, so that a working set that has changed
// leaves quickly. The discount grows with time, which a lazy heap cannot follow; so half of the windows are
// searched around random items.

#include <algorithm>
#include <cmath>

#include "cache/eviction/ghost_memory.hpp"
#include "cache/eviction/heap_policy.hpp"
#include "cache/eviction/policies.hpp"

namespace nearfetch {

namespace {

class DensityPolicy final : public HeapPolicy<DensityPolicy> {
  public:
    DensityPolicy(const EvictionView& view, const EvictionOptions& options)
        : HeapPolicy(view), random_state_(options.seed * 2 + 1) {
        touch_rule_ = {1.0, 1.0};
    }

    void arrive(EvictionItem& item) override {
        advance();
        ghosts_.set_capacity(ghosts_per_slot * view_.slot_count());
        item.weight = ghosts_.recall(view_.key(item)).value_or(0.0) + touch_rule_.add;
        item.position = rescalings_;
    }
    void rejected(const EvictionItem& item) noexcept override {
        ghosts_.remember(view_.key(item), item.weight);
    }
    void insert(EvictionItem& item) override {
        // Weights were rescaled while it was in flight.
        if (item.position != rescalings_) item.weight *= std::exp(-largest_exponent);
        HeapPolicy::insert(item);
    }
    void erase(EvictionItem& item, bool evicted) noexcept override {
        ghosts_.remember(view_.key(item), item.weight);
        HeapPolicy::erase(item, evicted);
    }

    void candidates(std::size_t count, EvictionCandidates& out) override {
        const std::size_t random_ones = std::min(count / 2, heap_.size());
        heap_.nearly_least(count - random_ones, out.items,
                           [this](const EvictionItem& item) { return rank(item); });
        for (std::size_t i = 0; i < random_ones; ++i) {
            EvictionItem* item = heap_.at(random(heap_.size()));
            if (std::find(out.items.begin(), out.items.end(), item) == out.items.end())
                out.items.push_back(item);
        }
        out.visited += out.items.size();
        out.nonempty += out.items.size();
    }

    /// Weight times benefit; discounted if it was idle for longer than its weight predicts (a use every
    /// horizon / weight gets).
    double score(const EvictionItem& item) const override {
        const double idle = static_cast<double>(now_ - item.last) * item.weight;
        const double promised = tolerated_idleness * horizon_ * touch_rule_.add;
        return item.benefit * (idle > promised ? item.weight * promised / idle : item.weight);
    }
    double rank(const EvictionItem& item) const noexcept {
        return item.benefit * item.weight / static_cast<double>(item.footprint_bytes());
    }

    bool weighs_newcomers() const noexcept override { return true; }
    double score_per_byte() const override { return uses_per_byte_ * touch_rule_.add; }
    void displaced(double score, std::uint64_t bytes) override {
        uses_per_byte_ += (score / static_cast<double>(bytes) / touch_rule_.add - uses_per_byte_) * smoothing;
    }

  private:
    static constexpr double horizon_items = 16;  ///< gets per cached item after which a use counts 1/e
    static constexpr double shortest_horizon = 1000;
    static constexpr double tolerated_idleness = 0.7;
    static constexpr double smoothing = 0.1;
    static constexpr std::uint64_t ghosts_per_slot = 2;
    static constexpr double largest_exponent = 200;

    void advance() {
        horizon_ = std::max(shortest_horizon, horizon_items * static_cast<double>(heap_.size()));
        exponent_ += static_cast<double>(view_.gets() - now_) / horizon_;
        now_ = view_.gets();
        if (exponent_ > largest_exponent) {
            const double scale = std::exp(-largest_exponent);
            heap_.transform([scale](EvictionItem& item, double rank) {
                item.weight *= scale;
                return rank * scale;
            });
            ghosts_.transform([scale](double weight) { return weight * scale; });
            exponent_ = std::min(exponent_ - largest_exponent, largest_exponent);
            ++rescalings_;
        }
        touch_rule_.add = std::exp(exponent_);
    }

    std::size_t random(std::size_t bound) noexcept {
        random_state_ ^= random_state_ << 13;
        random_state_ ^= random_state_ >> 7;
        random_state_ ^= random_state_ << 17;
        return static_cast<std::size_t>(((random_state_ >> 32) * bound) >> 32);
    }

    GhostMemory ghosts_;
    double exponent_ = 0;  ///< touch_rule_.add = e^exponent_
    double horizon_ = shortest_horizon;
    double uses_per_byte_ = 0;  ///< of recent victims, in present units
    std::uint64_t now_ = 0;
    std::uint32_t rescalings_ = 0;
    std::uint64_t random_state_;
};

}  // namespace

std::unique_ptr<EvictionPolicy> make_density_policy(const EvictionView& view,
                                                    const EvictionOptions& options) {
    return std::make_unique<DensityPolicy>(view, options);
}

}  // namespace nearfetch

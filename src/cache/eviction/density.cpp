// SPDX-License-Identifier: Apache-2.0
//
// The default policy: keep what is used most per byte, and admit only what is worth more than what it
// displaces.
//
// The weight of an item is its number of uses with exponential forgetting over `horizon` gets. Instead of
// letting old uses decay, new ones count more (a hit adds e^(gets / horizon), see TouchRule): so weights only
// rise, and the lazy heap of weight per byte is exact. A bounded memory keeps the weight of what is not
// cached, so what comes back does not begin anew. Victims are the cheapest window of neighbours
// (admission.cpp), counting what the window's surplus space is worth: the smoothed weight per byte of what
// was displaced before, which plays the part of GDSF's clock. The newcomer gets in if its weight is higher
// than that cost.
//
// An item that was not used for longer than its weight promises is discounted, so that a popular set that has
// passed does not have to decay first. The discount grows with time, which a lazy heap cannot follow; half of
// the windows are therefore looked for around random items.
//
// What was tried: hits in percent, mean of 10 seeds, |I_w| = 1500, on the workload of 001 section IV-A
// (paper_trace, tests/core) and on one whose popular set changes every 10000 gets (shifting_trace). An
// infinite cache hits 95.0 and 97.9.
//
//   buffer in KiB (right: popular set changes)                  256    1024    2048    4096 |     512    1024
//   offline GDSF, ideal store (the mark to reach)             64.04   77.57   84.19   90.73 |   82.58   89.11
//   GDSF in this cache                                        56.86   78.09   84.73   90.92 |   84.16   89.92
//   weigh newcomers, no memory of the evicted, space is free  61.76   76.29   83.21   90.32 |   67.06   72.61
//   + memory of the evicted                                   65.35   77.48   83.93   90.87 |   79.39   86.02
//   weigh newcomers and surplus space, no memory              68.60   79.87   85.26   90.97 |   79.61   84.86
//   both                                                      68.92   80.18   85.68   91.25 |   82.65   88.53
//   both, horizon 4 gets per item instead of 16               68.70   80.00   85.54   91.12 |   82.99   88.39
//   both, horizon 32                                          68.94   80.20   85.72   91.27 |   81.88   87.57
//   both, forgetting by misses instead of gets                68.47   79.98   85.56   91.22 |   82.90   88.74
//   both, idle items discounted                               68.91   80.14   85.66   91.20 |   83.76   89.61
//   the same, half of the windows around random items         68.91   80.14   85.68   91.21 |   84.31   89.97
//   the same, but looking on only while windows are dear, and
//   at what is nearly the least: 3.4 times quicker            68.86   80.07   85.60   91.14 |   84.34   90.02
//   the same, around 12 instead of 24, and only for those who
//   may pay for it: half the instructions again (this)        68.82   80.11   85.60   91.13 |   84.14   89.88
//   discounted only when idle for 1.5 times the promise       68.93   80.17   85.69   91.24 |   83.92   89.60

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
        // Weights were scaled while it was in flight.
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

    /// Its weight times what a use is worth, less if it was idle for longer than that weight promises (a use
    /// every horizon / weight gets).
    double score(const EvictionItem& item) const override {
        const double idle = static_cast<double>(now_ - item.last) * item.weight;
        const double promised = tolerated_idleness * horizon_ * touch_rule_.add;
        return item.worth * (idle > promised ? item.weight * promised / idle : item.weight);
    }
    double rank(const EvictionItem& item) const noexcept {
        return item.worth * item.weight / static_cast<double>(item.footprint_bytes());
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
    double uses_per_byte_ = 0;  ///< of what was displaced, in uses of now
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

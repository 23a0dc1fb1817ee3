// SPDX-License-Identifier: Apache-2.0
//
// The default policy: keep what is used most per byte, and admit only what is worth more than what it
// displaces.
//
// An item's weight is its number of uses, decayed exponentially over `horizon` gets. Instead of decaying old
// uses, new uses count more (a hit adds e^(gets / horizon), see TouchRule). A bounded ghost memory keeps the
// weights of items that are not cached for their return.
//
// The score is the logarithm of weight times benefit per byte; so scores of any time compare. An item idle
// for longer than its weight predicts is discounted, so that a working set that has changed leaves quickly.

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>

#include "cache/eviction/ghost_memory.hpp"
#include "cache/eviction/policies.hpp"

namespace nearfetch {

namespace {

class DensityPolicy final : public EvictionPolicy {
  public:
    explicit DensityPolicy(EvictionView& view) : EvictionPolicy(view) { touch_rule_ = {1.0, 1.0}; }

    void expect(std::uint64_t key) noexcept override { ghosts_.prefetch(key); }
    void arrive(EvictionItem& item) override {
        advance();
        ghosts_.set_capacity(ghosts_per_slot * view_.slot_count());
        const std::optional<std::uint32_t> before = ghosts_.recall(view_.key(item));
        item.weight = (before ? weight_of(*before) : 0.0) + touch_rule_.add;
    }
    void rejected(const EvictionItem& item) noexcept override { remember(item); }
    void erase(const EvictionItem& item, bool) noexcept override { remember(item); }

    /// In octaves. Discounted if it was idle for longer than its weight predicts (a use every horizon /
    /// weight gets).
    double score(const EvictionItem& item) const override {
        const auto bytes = static_cast<double>(item.bytes + descriptor_bytes);
        return scaled_octaves_ + octaves(value(item) / bytes);
    }
    double slot_score(const EvictionItem& item) const override {
        return scaled_octaves_ + octaves(value(item));
    }
    bool weighs_newcomers() const noexcept override { return true; }

  private:
    /// What keeping it saves.
    double value(const EvictionItem& item) const noexcept {
        const double idle = item.last < now_ ? static_cast<double>(now_ - item.last) * item.weight : 0;
        const double discounted = idle > promised_ ? item.weight * promised_ / idle : item.weight;
        return discounted * static_cast<double>(item.benefit);
    }

    static constexpr double horizon_items = 16;  ///< gets per cached item after which a use counts 1/e
    static constexpr double shortest_horizon = 1000;
    static constexpr double tolerated_idleness = 0.7;
    static constexpr std::uint64_t descriptor_bytes = 8;  ///< an item's record in the log
    static constexpr std::uint64_t ghosts_per_slot = 2;
    static constexpr int most_octaves = 512;  ///< that new uses may count more before all weights are scaled
    static constexpr int mantissa_bits = 52, ghost_shift = 44;
    /// Of a horizon: so often the weight of a new use is brought up to date.
    static constexpr int fine_steps = 512;

    /// The logarithm, to a twelfth: linear between powers of two.
    static double octaves(double x) noexcept {
        const auto bits = std::bit_cast<std::uint64_t>(x);
        return static_cast<double>(bits) * 0x1.0p-52 - 1023.0;
    }

    void advance() {
        const double horizon =
            std::max(shortest_horizon, horizon_items * static_cast<double>(view_.item_count()));
        if (static_cast<double>(view_.gets() - now_) * fine_steps < horizon) return;
        exponent_ += static_cast<double>(view_.gets() - now_) / horizon;
        now_ = view_.gets();
        while (exponent_ > most_octaves * std::numbers::ln2) {
            view_.scale_weights(most_octaves);
            scaled_octaves_ += most_octaves;
            exponent_ -= most_octaves * std::numbers::ln2;
        }
        touch_rule_.add = std::exp(exponent_);
        promised_ = tolerated_idleness * horizon * touch_rule_.add;
    }
    // A ghost has the leading bits of its weight: the exponent, raised by the octaves scaled since the
    // beginning, and eight bits of the mantissa.
    void remember(const EvictionItem& item) noexcept {
        const std::uint64_t leading =
            (std::bit_cast<std::uint64_t>(item.weight) >> ghost_shift) + scaled_bits();
        ghosts_.remember(view_.key(item), static_cast<std::uint32_t>(leading));
    }
    double weight_of(std::uint32_t ghost) const noexcept {
        const std::uint64_t scaled = scaled_bits();
        return ghost <= scaled ? 0.0 : std::bit_cast<double>((ghost - scaled) << ghost_shift);
    }
    std::uint64_t scaled_bits() const noexcept {
        return static_cast<std::uint64_t>(scaled_octaves_) << (mantissa_bits - ghost_shift);
    }

    GhostMemory ghosts_;
    double exponent_ = 0;        ///< touch_rule_.add = e^exponent_
    double scaled_octaves_ = 0;  ///< by which weights have been scaled
    double promised_ = shortest_horizon;
    std::uint64_t now_ = 0;
};

}  // namespace

std::unique_ptr<EvictionPolicy> make_density_policy(EvictionView& view) {
    return std::make_unique<DensityPolicy>(view);
}

}  // namespace nearfetch

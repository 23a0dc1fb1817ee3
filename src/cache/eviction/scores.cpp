// SPDX-License-Identifier: Apache-2.0
//
// Policies that are a score alone.

#include <algorithm>
#include <array>

#include "cache/eviction/policies.hpp"

namespace nearfetch {

namespace {

/// Those of 001, section III-D1, exactly as printed: R = R_P x R_T, with R_P clamped to 1. So an entry with
/// more than twice the average get size of free space next to it scores like one with none.
class ClampiPolicy : public EvictionPolicy {
  public:
    explicit ClampiPolicy(EvictionView& view) : EvictionPolicy(view) {}
    void arrive(EvictionItem&) override {}
    double score(const EvictionItem& item) const override { return positional(item) * temporal(item); }

  protected:
    /// R_P: min(|ags - d_c| / ags, 1).
    double positional(const EvictionItem& item) const {
        const double average = view_.average_get_bytes();
        const double free = static_cast<double>(view_.adjacent_free_bytes(item));
        return std::min((average > free ? average - free : free - average) / average, 1.0);
    }
    /// R_T: x.last / i.
    double temporal(const EvictionItem& item) const {
        return static_cast<double>(item.last) / static_cast<double>(view_.gets());
    }
};

class TemporalPolicy final : public ClampiPolicy {
  public:
    using ClampiPolicy::ClampiPolicy;
    double score(const EvictionItem& item) const override { return temporal(item); }
};

class PositionalPolicy final : public ClampiPolicy {
  public:
    using ClampiPolicy::ClampiPolicy;
    double score(const EvictionItem& item) const override { return positional(item); }
};

class LruPolicy final : public EvictionPolicy {
  public:
    explicit LruPolicy(EvictionView& view) : EvictionPolicy(view) {}
    void arrive(EvictionItem&) override {}
    double score(const EvictionItem& item) const override { return static_cast<double>(item.last); }
};

/// GreedyDual-Size with frequency (Cherkasova 1998):
///     H(x) = L(at its last use) + frequency(x) benefit(x) / size(x)
/// L rises to the H of the last victim. A hit writes the present L into the item's weight (TouchRule).
class GdsfPolicy final : public EvictionPolicy {
  public:
    explicit GdsfPolicy(EvictionView& view) : EvictionPolicy(view) { touch_rule_ = {0.0, 0.0}; }
    void arrive(EvictionItem& item) override { item.weight = touch_rule_.add; }
    void erase(const EvictionItem& item, bool evicted) noexcept override {
        if (evicted) touch_rule_.add = std::max(touch_rule_.add, score(item));
    }
    double score(const EvictionItem& item) const override {
        return item.weight +
               item.frequency * static_cast<double>(item.benefit) / static_cast<double>(item.bytes);
    }
};

/// The lowest score that the application gave leaves first.
class ApplicationPolicy final : public EvictionPolicy {
  public:
    explicit ApplicationPolicy(EvictionView& view) : EvictionPolicy(view) { touch_rule_ = {1.0, 0.0}; }
    void arrive(EvictionItem& item) override { item.weight = view_.application_score(item); }
    double score(const EvictionItem& item) const override { return item.weight; }
};

template <class Policy>
std::unique_ptr<EvictionPolicy> make(EvictionView& view) {
    return std::make_unique<Policy>(view);
}

}  // namespace

std::span<const PolicyRow> score_policies() noexcept {
    static constexpr std::array rows{PolicyRow{"gdsf", make<GdsfPolicy>},
                                     PolicyRow{"lru", make<LruPolicy>},
                                     PolicyRow{"clampi", make<ClampiPolicy>, true},
                                     PolicyRow{"temporal", make<TemporalPolicy>},
                                     PolicyRow{"positional", make<PositionalPolicy>, true},
                                     PolicyRow{"application", make<ApplicationPolicy>}};
    return rows;
}

}  // namespace nearfetch

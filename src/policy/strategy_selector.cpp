// SPDX-License-Identifier: Apache-2.0
#include "policy/strategy_selector.hpp"

#include <algorithm>

#include "base/assert.hpp"

namespace nearfetch {

StrategySelector::Strategy StrategySelector::better() const {
    return of(Strategy::whole).ns_per_byte < of(Strategy::wanted).ns_per_byte ? Strategy::whole
                                                                              : Strategy::wanted;
}

StrategySelector::Strategy StrategySelector::next() const {
    const std::lock_guard lock(mutex_);
    if (!known_)
        return of(Strategy::whole).times < of(Strategy::wanted).times ? Strategy::whole : Strategy::wanted;
    return left_ > 0 ? better() : other(better());
}

void StrategySelector::took(Strategy strategy, std::uint64_t ns, std::uint64_t bytes) {
    NF_EXPECT(bytes > 0);
    const std::lock_guard lock(mutex_);
    const Strategy before = better();
    Taken& taken = of(strategy);
    const double now = static_cast<double>(std::max<std::uint64_t>(ns, 1)) / static_cast<double>(bytes);
    // Whatever else the machine did meanwhile only made it longer.
    taken.ns_per_byte = taken.times == 0 || now < taken.ns_per_byte ? now : (7 * taken.ns_per_byte + now) / 8;
    ++taken.times;
    if (!known_) {
        known_ = strategy == Strategy::whole && (taken.times == 2 || ratio() > 2);
        if (!known_) return;
    } else if (left_ > 0) {
        --left_;
        return;
    } else if (better() != before) {
        backoff_ = 1;
    }
    const double rest = std::max<double>(least_rest, (ratio() - 1) / most_share);
    left_ = static_cast<std::uint32_t>(std::min<double>(backoff_ * rest, most_rest));
    backoff_ = std::min(2 * backoff_, most_rest);
}

}  // namespace nearfetch

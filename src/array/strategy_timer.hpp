// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "pgas/runtime.hpp"
#include "policy/strategy_selector.hpp"

namespace nearfetch::detail {

/// Applies and times a strategy for slices in the owner's layout: fetch the whole range, or only packed
/// elements. Without owners that answer messages the whole range is fetched.
class StrategyTimer {
  public:
    /// \param selector nullptr: no choice \param bytes wanted bytes
    StrategyTimer(StrategySelector* selector, std::uint64_t bytes, pgas::Context& context)
        : context_(context),
          selector_(context.runtime().job().threads() ? selector : nullptr),
          bytes_(bytes) {
        if (selector_ == nullptr) return;
        strategy_ = selector_->next();
        begin_ns_ = context_.transport().now_ns();
    }
    StrategySelector::Strategy strategy() const { return strategy_; }
    void end() const {
        if (selector_ != nullptr)
            selector_->took(strategy_, context_.transport().now_ns() - begin_ns_, bytes_);
    }

  private:
    pgas::Context& context_;
    StrategySelector* selector_;
    std::uint64_t bytes_;
    StrategySelector::Strategy strategy_ = StrategySelector::Strategy::whole;
    std::uint64_t begin_ns_ = 0;
};

}  // namespace nearfetch::detail

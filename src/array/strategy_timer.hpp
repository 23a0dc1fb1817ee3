// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "pgas/context.hpp"
#include "policy/strategy_selector.hpp"

namespace nearfetch::detail {

/// How sets of which owners have the elements here and there are fetched this time, and how long it takes.
/// Where owners do not answer they pack nothing, and what lies between comes anyway.
class StrategyTimer {
  public:
    /// \param choice nullptr: nothing is to be chosen \param bytes that are wanted
    StrategyTimer(StrategySelector* choice, std::uint64_t bytes, pgas::Context& context)
        : context_(context), choice_(context.answered() ? choice : nullptr), bytes_(bytes) {
        if (choice_ == nullptr) return;
        strategy_ = choice_->next();
        begin_ns_ = context_.transport().now_ns();
    }
    StrategySelector::Strategy strategy() const { return strategy_; }
    void end() const {
        if (choice_ != nullptr) choice_->took(strategy_, context_.transport().now_ns() - begin_ns_, bytes_);
    }

  private:
    pgas::Context& context_;
    StrategySelector* choice_;
    std::uint64_t bytes_;
    StrategySelector::Strategy strategy_ = StrategySelector::Strategy::whole;
    std::uint64_t begin_ns_ = 0;
};

}  // namespace nearfetch::detail

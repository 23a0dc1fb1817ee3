// SPDX-License-Identifier: Apache-2.0
//
// Only the positional half of the paper's score (R_P). A baseline of 001, Fig. 10 and 11.
#include "cache/eviction/policies.hpp"
#include "cache/eviction/sampling.hpp"

namespace nearfetch {

namespace {

class PositionalPolicy final : public SamplingPolicy {
  public:
    PositionalPolicy(const EvictionView& view, const EvictionOptions& options)
        : SamplingPolicy(view, options) {}
    double score(const EvictionItem& item) const override { return positional(item); }
};

}  // namespace

std::unique_ptr<EvictionPolicy> make_positional_policy(const EvictionView& view,
                                                       const EvictionOptions& options) {
    return std::make_unique<PositionalPolicy>(view, options);
}

}  // namespace nearfetch

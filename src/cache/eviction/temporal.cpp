// SPDX-License-Identifier: Apache-2.0
//
// Only the temporal half of the paper's score (R_T): a sampled LRU. A baseline of 001, Fig. 10 and 11.
#include "cache/eviction/policies.hpp"
#include "cache/eviction/sampling.hpp"

namespace nearfetch {

namespace {

class TemporalPolicy final : public SamplingPolicy {
  public:
    TemporalPolicy(const EvictionView& view, const EvictionOptions& options)
        : SamplingPolicy(view, options) {}
    double score(const EvictionItem& item) const override { return temporal(item); }
};

}  // namespace

std::unique_ptr<EvictionPolicy> make_temporal_policy(const EvictionView& view,
                                                     const EvictionOptions& options) {
    return std::make_unique<TemporalPolicy>(view, options);
}

}  // namespace nearfetch

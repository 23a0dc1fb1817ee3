// SPDX-License-Identifier: Apache-2.0
//
// The paper's score (001, section III-D1), exactly as printed: R = R_P x R_T, with R_P clamped to 1. So an
// entry with more than twice the average get size of free space next to it scores like one with none.
#include "cache/eviction/policies.hpp"
#include "cache/eviction/sampling.hpp"

namespace nearfetch {

namespace {

class ClampiPolicy final : public SamplingPolicy {
  public:
    ClampiPolicy(const EvictionView& view, const EvictionOptions& options) : SamplingPolicy(view, options) {}
    double score(const EvictionItem& item) const override { return positional(item) * temporal(item); }
};

}  // namespace

std::unique_ptr<EvictionPolicy> make_clampi_policy(const EvictionView& view, const EvictionOptions& options) {
    return std::make_unique<ClampiPolicy>(view, options);
}

}  // namespace nearfetch

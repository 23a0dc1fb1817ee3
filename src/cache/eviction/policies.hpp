// SPDX-License-Identifier: Apache-2.0
#pragma once

// Factories of the policies, for the registry.

#include <memory>

#include "cache/eviction/eviction_policy.hpp"

namespace nearfetch {

std::unique_ptr<EvictionPolicy> make_density_policy(const EvictionView& view, const EvictionOptions& options);
std::unique_ptr<EvictionPolicy> make_gdsf_policy(const EvictionView& view, const EvictionOptions& options);
std::unique_ptr<EvictionPolicy> make_s3fifo_policy(const EvictionView& view, const EvictionOptions& options);
std::unique_ptr<EvictionPolicy> make_lru_policy(const EvictionView& view, const EvictionOptions& options);
std::unique_ptr<EvictionPolicy> make_clampi_policy(const EvictionView& view, const EvictionOptions& options);
std::unique_ptr<EvictionPolicy> make_temporal_policy(const EvictionView& view,
                                                     const EvictionOptions& options);
std::unique_ptr<EvictionPolicy> make_positional_policy(const EvictionView& view,
                                                       const EvictionOptions& options);
std::unique_ptr<EvictionPolicy> make_application_policy(const EvictionView& view,
                                                        const EvictionOptions& options);

}  // namespace nearfetch

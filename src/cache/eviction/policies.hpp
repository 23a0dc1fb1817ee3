// SPDX-License-Identifier: Apache-2.0
#pragma once

// What the registry knows of policies.

#include <memory>
#include <span>
#include <string_view>

#include "cache/eviction/eviction_policy.hpp"

namespace nearfetch {

struct PolicyRow {
    std::string_view name;
    std::unique_ptr<EvictionPolicy> (*make)(EvictionView&);
    bool scores_free_space = false;
};

std::unique_ptr<EvictionPolicy> make_density_policy(EvictionView& view);
std::span<const PolicyRow> score_policies() noexcept;

}  // namespace nearfetch

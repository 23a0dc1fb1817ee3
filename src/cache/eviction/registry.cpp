// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/error.hpp"
#include "cache/eviction/policies.hpp"

namespace nearfetch {

namespace {

std::vector<PolicyRow> all_policies() {
    std::vector<PolicyRow> rows{{"density", make_density_policy}};
    const auto others = score_policies();
    rows.insert(rows.end(), others.begin(), others.end());
    return rows;
}

}  // namespace

std::unique_ptr<EvictionPolicy> make_eviction_policy(std::string_view name, EvictionView& view) {
    std::string allowed;
    for (const PolicyRow& row : all_policies()) {
        if (row.name == name) return row.make(view);
        if (!allowed.empty()) allowed += ' ';
        allowed += row.name;
    }
    throw Error(std::string("policy = ").append(name), "there is no eviction policy of that name",
                "choose one of: " + allowed);
}

bool scores_free_space(std::string_view name) {
    const auto rows = all_policies();
    return std::any_of(rows.begin(), rows.end(),
                       [name](const PolicyRow& row) { return row.name == name && row.scores_free_space; });
}

std::vector<std::string_view> eviction_policy_names() {
    std::vector<std::string_view> names;
    for (const PolicyRow& row : all_policies())
        names.push_back(row.name);
    return names;
}

}  // namespace nearfetch

// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "base/error.hpp"
#include "cache/eviction/policies.hpp"

namespace nearfetch {

namespace {

struct Row {
    std::string_view name;
    std::unique_ptr<EvictionPolicy> (*make)(const EvictionView&, const EvictionOptions&);
};

constexpr std::array rows{
    Row{"density", make_density_policy},       Row{"gdsf", make_gdsf_policy},
    Row{"s3fifo", make_s3fifo_policy},         Row{"lru", make_lru_policy},
    Row{"clampi", make_clampi_policy},         Row{"temporal", make_temporal_policy},
    Row{"positional", make_positional_policy}, Row{"application", make_application_policy},
};

}  // namespace

std::unique_ptr<EvictionPolicy> make_eviction_policy(std::string_view name, const EvictionView& view,
                                                     const EvictionOptions& options) {
    for (const Row& row : rows)
        if (row.name == name) return row.make(view, options);
    std::string allowed;
    for (const Row& row : rows) {
        if (!allowed.empty()) allowed += ' ';
        allowed += row.name;
    }
    throw Error(std::string("policy = ").append(name), "there is no eviction policy of that name",
                "choose one of: " + allowed);
}

std::vector<std::string_view> eviction_policy_names() {
    std::vector<std::string_view> names;
    for (const Row& row : rows)
        names.push_back(row.name);
    return names;
}

}  // namespace nearfetch

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "arguments.hpp"

namespace nearfetch::bench {

/// The values of a trace's keys; only those with a default are known.
class Keys {
  public:
    Keys(const Config& chosen, std::map<std::string, std::string> values) : values_(std::move(values)) {
        for (const auto& [key, value] : chosen.settings) {
            if (values_.find(key) == values_.end())
                give_up("the trace " + chosen.name + " knows no '" + key +
                        "' (see bench/traces.hpp): correct it");
            values_[key] = value;
        }
    }
    const std::string& text(const std::string& key) const { return values_.at(key); }
    std::uint64_t number(const std::string& key) const { return to_number(text(key)); }
    std::uint32_t size(const std::string& key) const { return static_cast<std::uint32_t>(number(key)); }
    double real(const std::string& key) const { return to_real(text(key)); }

  private:
    std::map<std::string, std::string> values_;
};

}  // namespace nearfetch::bench

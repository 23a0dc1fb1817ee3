// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "common/command_line.hpp"

namespace nearfetch::hash_table {

struct Options {
    apps::CommonOptions common;
    std::uint64_t keys = 20000;
    double load = 0.5;  ///< keys / slots
    double skew = 0.99;
    double absent = 0.1;  ///< share of look-ups of keys that are not in the table
    std::uint64_t lookups = 10000;
    std::uint64_t rounds = 1;
    std::uint64_t changes = 0;
    std::uint64_t counter_every = 0;  ///< 0: never
    bool lock_free = false;
    std::uint64_t seed = 1;
};

apps::Parsed parse_options(int argc, const char* const* argv, Options& options);

}  // namespace nearfetch::hash_table

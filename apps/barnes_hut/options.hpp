// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "barnes_hut/walk.hpp"
#include "common/command_line.hpp"

namespace nearfetch::barnes_hut {

/// The program's own block cache.
struct CacheOptions {
    bool enabled = false;
    std::uint64_t capacity_bytes = 1U << 20;
    std::uint64_t block_bytes = 1024;
};

struct Options {
    apps::CommonOptions common;
    std::int64_t bodies = 4000;
    int steps = 1;
    double time_step = usual_time_step;
    std::uint64_t seed = 1;
    ForceOptions force{0.5, usual_softening, false};
    CacheOptions cache;
    bool check = false;
    std::optional<std::uint64_t> max_bodies;  ///< per rank
    bool first_gets = false;                  ///< report the time of the first gets of each node
};

apps::Parsed parse_options(int argc, const char* const* argv, Options& options);

}  // namespace nearfetch::barnes_hut

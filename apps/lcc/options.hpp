// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "common/command_line.hpp"
#include "graph/edge_reader.hpp"

namespace nearfetch::lcc {

struct Options {
    apps::CommonOptions common;
    std::string file;  ///< empty: make an R-MAT graph
    graph::ReadOptions reading;
    int rmat_scale = 0;
    std::uint64_t edge_factor = 16;
    std::uint64_t seed = 1;
    bool shuffle = false;  ///< number the vertices at random, from the seed
    std::string per_vertex_path;
    std::optional<std::uint64_t> max_vertices;  ///< per rank
    std::optional<std::uint64_t> max_ranks;     ///< that process vertices; the others serve
    int repeat = 1;
    bool lock_each = false;  ///< a lock and unlock per get, instead of one lock_all with flushes
};

apps::Parsed parse_options(int argc, const char* const* argv, Options& options);

}  // namespace nearfetch::lcc

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>

#include "graph/edge_list.hpp"
#include "graph/line_reader.hpp"

namespace nearfetch::graph {

/// Whether a file's first line is that of a Matrix Market file.
bool is_matrix_market_banner(std::string_view line);

/// Reads the rest of a Matrix Market file whose first line is `banner`.
/// @param vertices when set, has to be the declared size
EdgeList read_matrix_market(LineReader& reader, std::string_view banner,
                            std::optional<std::uint64_t> vertices);

}  // namespace nearfetch::graph

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "graph/edge_list.hpp"

namespace nearfetch::graph {

/// A recursive random graph: 2^scale vertices and edge_factor * 2^scale drawn edges, without loops and
/// duplicates. The same graph for the same arguments on every platform.
///
/// Each edge halves the adjacency matrix `scale` times and enters a quadrant with probability 0.57, 0.19,
/// 0.19, 0.05. Vertices are not shuffled, so small ids have large degrees. Source: D. Chakrabarti, Y. Zhan,
/// C. Faloutsos, *R-MAT: A recursive model for graph mining*, 2004; probabilities of the Graph 500. @pre 1 <=
/// scale <= 31
EdgeList make_rmat(int scale, std::uint64_t edge_factor, std::uint64_t seed);

}  // namespace nearfetch::graph

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "graph/edge_list.hpp"

namespace nearfetch::graph {

/// Compressed sparse rows: the sorted adjacency lists of all vertices, concatenated.
struct Csr {
    std::vector<std::uint64_t> offsets;  ///< start of each vertex's list, and the end of the last
    std::vector<Vertex> targets;         ///< the lists

    std::uint64_t vertices() const { return offsets.size() - 1; }
    std::span<const Vertex> neighbours(Vertex v) const {
        return {targets.data() + offsets[v], static_cast<std::size_t>(offsets[v + 1] - offsets[v])};
    }
};

/// Both directions of every edge.
Csr build_csr(const EdgeList& graph);

/// The number of common vertices of two sorted lists.
std::uint64_t count_common(std::span<const Vertex> a, std::span<const Vertex> b);

/// Local clustering coefficient of a vertex of that degree: 0 below degree 2. @param closed_pairs ordered
/// pairs of neighbours joined by an edge (twice the triangles at the vertex) Source: D. Watts and S.
/// Strogatz, *Collective dynamics of small-world networks*, 1998.
double clustering_coefficient(std::uint64_t closed_pairs, std::uint64_t degree);

}  // namespace nearfetch::graph

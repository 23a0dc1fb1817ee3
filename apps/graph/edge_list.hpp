// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace nearfetch::graph {

/// Vertex number: 0 up to vertices - 1.
using Vertex = std::uint32_t;

/// Most vertices a graph may have; the largest id in a file is one less.
inline constexpr std::uint64_t kMostVertices = 0xffffffffU;

/// An undirected edge with `low < high`.
struct Edge {
    Vertex low;
    Vertex high;
    friend auto operator<=>(const Edge&, const Edge&) = default;
};

/// A simple undirected graph as its edges.
struct EdgeList {
    std::uint64_t vertices = 0;
    std::vector<Edge> edges;            ///< sorted, each once, no self-loop
    std::vector<std::uint32_t> labels;  ///< id in the file of each vertex; empty if vertex v has id v
    std::uint64_t self_loops = 0;       ///< removed: edges from a vertex to itself
    std::uint64_t duplicates = 0;       ///< removed: edges seen before, in either direction
    std::uint64_t columns_ignored = 0;  ///< most columns of a row in the file beside the two ids
};

/// The same graph, its vertices numbered at random: blocks of vertices then have about as many edges each.
/// `labels` has the number that each had before. The same for the same seed on every platform.
EdgeList shuffled(const EdgeList& graph, std::uint64_t seed);

/// Collects edges in any order and direction and makes the simple graph of them.
class EdgeCollector {
  public:
    void add(std::uint32_t a, std::uint32_t b) { packed_.push_back(pack(a, b)); }
    bool empty() const { return packed_.empty(); }

    /// Sorts, removes self-loops and duplicates.
    ///
    /// With `vertices` the graph has the vertices from 0 to vertices - 1, and every id has to be below.
    /// Without it the vertices are the ids that occur (also only in a self-loop), numbered in ascending
    /// order.
    EdgeList finish(std::optional<std::uint64_t> vertices);

  private:
    static std::uint64_t pack(std::uint32_t a, std::uint32_t b) {
        return a < b ? std::uint64_t{a} << 32 | b : std::uint64_t{b} << 32 | a;
    }
    std::vector<std::uint64_t> packed_;
};

}  // namespace nearfetch::graph

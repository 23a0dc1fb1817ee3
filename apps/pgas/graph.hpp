// SPDX-License-Identifier: Apache-2.0
#pragma once

// The graph of SSCA2, and the result of its kernel 4: directed edges drawn by R-MAT with the specification's
// probabilities. The kernel ignores edges whose weight is a multiple of 8.

#include <cstdint>
#include <span>
#include <vector>

namespace nearfetch::programs {

class Graph {
  public:
    /// 2^scale vertices, edge_factor * 2^scale drawn edges; the same for the same arguments on every
    /// platform.
    Graph(int scale, std::int64_t edge_factor, std::uint64_t seed);

    std::int64_t vertices() const { return static_cast<std::int64_t>(first_.size()) - 1; }
    std::int64_t edges() const { return static_cast<std::int64_t>(targets_.size()); }
    std::span<const std::int64_t> neighbours(std::int64_t v) const {
        const auto begin = static_cast<std::size_t>(first_[static_cast<std::size_t>(v)]);
        return {targets_.data() + begin, static_cast<std::size_t>(degree(v))};
    }
    std::int64_t degree(std::int64_t v) const {
        return first_[static_cast<std::size_t>(v) + 1] - first_[static_cast<std::size_t>(v)];
    }
    /// The largest number of edges that leave a block of so many vertices.
    std::int64_t most_edges(std::int64_t block) const;

  private:
    std::vector<std::int64_t> first_;
    std::vector<std::int64_t> targets_;
};

/// Betweenness centrality by the shortest paths from the first `sources` vertices (U. Brandes, *A faster
/// algorithm for betweenness centrality*, 2001), sequentially.
std::vector<double> betweenness(const Graph& graph, std::int64_t sources);

}  // namespace nearfetch::programs

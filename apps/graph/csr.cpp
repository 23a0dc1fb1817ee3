// SPDX-License-Identifier: Apache-2.0
#include "graph/csr.hpp"

#include <algorithm>
#include <utility>

namespace nearfetch::graph {

Csr build_csr(const EdgeList& graph) {
    Csr csr;
    csr.offsets.assign(graph.vertices + 1, 0);
    for (const Edge& edge : graph.edges) {
        ++csr.offsets[edge.low + std::size_t{1}];
        ++csr.offsets[edge.high + std::size_t{1}];
    }
    for (std::size_t v = 1; v < csr.offsets.size(); ++v)
        csr.offsets[v] += csr.offsets[v - 1];
    csr.targets.resize(graph.edges.size() * 2);
    std::vector<std::uint64_t> next(csr.offsets.begin(), csr.offsets.end() - 1);
    // Edges are sorted, so a vertex gets its smaller neighbours first, then the larger ones, both ascending.
    for (const Edge& edge : graph.edges) {
        csr.targets[next[edge.low]++] = edge.high;
        csr.targets[next[edge.high]++] = edge.low;
    }
    return csr;
}

std::uint64_t count_common(std::span<const Vertex> a, std::span<const Vertex> b) {
    if (a.size() > b.size()) std::swap(a, b);
    std::uint64_t common = 0;
    constexpr std::size_t kSearchFrom = 32;
    if (a.size() * kSearchFrom < b.size()) {
        auto from = b.begin();
        for (const Vertex v : a) {
            from = std::lower_bound(from, b.end(), v);
            if (from == b.end()) break;
            common += *from == v ? 1 : 0;
        }
        return common;
    }
    std::size_t i = 0;
    std::size_t j = 0;
    while (i < a.size() && j < b.size()) {
        const Vertex x = a[i];
        const Vertex y = b[j];
        common += x == y ? 1 : 0;
        i += x <= y ? 1 : 0;
        j += y <= x ? 1 : 0;
    }
    return common;
}

double clustering_coefficient(std::uint64_t closed_pairs, std::uint64_t degree) {
    if (degree < 2) return 0;
    return static_cast<double>(closed_pairs) /
           (static_cast<double>(degree) * static_cast<double>(degree - 1));
}

}  // namespace nearfetch::graph

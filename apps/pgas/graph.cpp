// SPDX-License-Identifier: Apache-2.0
#include "pgas/graph.hpp"

#include <algorithm>
#include <utility>

#include "common/random.hpp"

namespace nearfetch::programs {

Graph::Graph(int scale, std::int64_t edge_factor, std::uint64_t seed) {
    // a, b and c of the specification, in percent; d is the remainder.
    constexpr std::uint64_t a = 55, b = 10, c = 10;
    const std::int64_t vertices = std::int64_t{1} << scale;
    apps::Random random(seed);
    std::vector<std::pair<std::int64_t, std::int64_t>> drawn;
    for (std::int64_t i = 0; i < edge_factor * vertices; ++i) {
        std::int64_t from = 0, to = 0;
        for (int level = 0; level < scale; ++level) {
            const std::uint64_t draw = random.next() % 100;
            from = from << 1 | (draw >= a + b ? 1 : 0);
            to = to << 1 | ((draw >= a && draw < a + b) || draw >= a + b + c ? 1 : 0);
        }
        const std::int64_t weight =
            1 + static_cast<std::int64_t>(random.next() % static_cast<std::uint64_t>(vertices));
        if (from != to && weight % 8 != 0) drawn.emplace_back(from, to);
    }
    std::sort(drawn.begin(), drawn.end());
    drawn.erase(std::unique(drawn.begin(), drawn.end()), drawn.end());
    first_.assign(static_cast<std::size_t>(vertices) + 1, 0);
    for (const auto& [from, to] : drawn) {
        ++first_[static_cast<std::size_t>(from) + 1];
        targets_.push_back(to);
    }
    for (std::size_t v = 1; v < first_.size(); ++v)
        first_[v] += first_[v - 1];
}

std::int64_t Graph::most_edges(std::int64_t block) const {
    std::int64_t most = 1;
    for (std::int64_t begin = 0; begin < vertices(); begin += block)
        most = std::max(most, first_[static_cast<std::size_t>(std::min(begin + block, vertices()))] -
                                  first_[static_cast<std::size_t>(begin)]);
    return most;
}

std::vector<double> betweenness(const Graph& graph, std::int64_t sources) {
    const auto vertices = static_cast<std::size_t>(graph.vertices());
    std::vector<double> centrality(vertices), dependency(vertices);
    std::vector<std::int64_t> depth(vertices), paths(vertices), queue(vertices);
    for (std::int64_t source = 0; source < sources; ++source) {
        std::fill(depth.begin(), depth.end(), -1);
        std::fill(paths.begin(), paths.end(), 0);
        std::fill(dependency.begin(), dependency.end(), 0);
        const auto s = static_cast<std::size_t>(source);
        depth[s] = 0;
        paths[s] = 1;
        queue[0] = source;
        std::size_t end = 1;
        for (std::size_t next = 0; next < end; ++next) {
            const auto v = static_cast<std::size_t>(queue[next]);
            for (const std::int64_t to : graph.neighbours(queue[next])) {
                const auto w = static_cast<std::size_t>(to);
                if (depth[w] < 0) {
                    depth[w] = depth[v] + 1;
                    queue[end++] = to;
                }
                if (depth[w] == depth[v] + 1) paths[w] += paths[v];
            }
        }
        while (end-- > 0) {
            const auto v = static_cast<std::size_t>(queue[end]);
            for (const std::int64_t to : graph.neighbours(queue[end])) {
                const auto w = static_cast<std::size_t>(to);
                if (depth[w] != depth[v] + 1) continue;
                dependency[v] +=
                    static_cast<double>(paths[v]) / static_cast<double>(paths[w]) * (1 + dependency[w]);
            }
            if (v != s) centrality[v] += dependency[v];
        }
    }
    return centrality;
}

}  // namespace nearfetch::programs

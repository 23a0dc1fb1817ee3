// SPDX-License-Identifier: Apache-2.0
#include "graph/edge_list.hpp"

#include <algorithm>
#include <numeric>

#include "common/random.hpp"

namespace nearfetch::graph {

namespace {

std::uint32_t low_of(std::uint64_t packed) { return static_cast<std::uint32_t>(packed >> 32); }
std::uint32_t high_of(std::uint64_t packed) { return static_cast<std::uint32_t>(packed); }

std::vector<std::uint32_t> distinct_ids(const std::vector<std::uint64_t>& packed) {
    std::vector<std::uint32_t> ids;
    ids.reserve(packed.size() * 2);
    for (const std::uint64_t edge : packed) {
        ids.push_back(low_of(edge));
        ids.push_back(high_of(edge));
    }
    std::sort(ids.begin(), ids.end());
    ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
    return ids;
}

}  // namespace

EdgeList shuffled(const EdgeList& graph, std::uint64_t seed) {
    std::vector<Vertex> number(graph.vertices);
    std::iota(number.begin(), number.end(), Vertex{0});
    apps::Random random(seed);
    for (std::uint64_t left = graph.vertices; left > 1; --left)
        std::swap(number[left - 1], number[random.next() % left]);
    EdgeList result = {.vertices = graph.vertices,
                       .edges = {},
                       .labels = std::vector<std::uint32_t>(graph.vertices),
                       .self_loops = graph.self_loops,
                       .duplicates = graph.duplicates,
                       .columns_ignored = graph.columns_ignored};
    for (std::uint64_t v = 0; v < graph.vertices; ++v)
        result.labels[number[v]] = graph.labels.empty() ? static_cast<Vertex>(v) : graph.labels[v];
    result.edges.reserve(graph.edges.size());
    for (const auto& [low, high] : graph.edges) {
        const auto [first, second] = std::minmax(number[low], number[high]);
        result.edges.push_back({first, second});
    }
    std::sort(result.edges.begin(), result.edges.end());
    return result;
}

EdgeList EdgeCollector::finish(std::optional<std::uint64_t> vertices) {
    EdgeList result;
    if (vertices) {
        result.vertices = *vertices;
    } else {
        result.labels = distinct_ids(packed_);
        result.vertices = result.labels.size();
        const bool dense =
            result.labels.empty() || result.labels.back() + std::uint64_t{1} == result.labels.size();
        if (dense) result.labels.clear();
    }
    const auto number = [&labels = result.labels](std::uint32_t id) {
        if (labels.empty()) return id;
        return static_cast<Vertex>(std::lower_bound(labels.begin(), labels.end(), id) - labels.begin());
    };
    const std::size_t all = packed_.size();
    std::erase_if(packed_, [](std::uint64_t edge) { return low_of(edge) == high_of(edge); });
    result.self_loops = all - packed_.size();
    std::sort(packed_.begin(), packed_.end());
    const std::size_t loopless = packed_.size();
    packed_.erase(std::unique(packed_.begin(), packed_.end()), packed_.end());
    result.duplicates = loopless - packed_.size();
    result.edges.reserve(packed_.size());
    for (const std::uint64_t edge : packed_)
        result.edges.push_back({number(low_of(edge)), number(high_of(edge))});
    packed_.clear();
    return result;
}

}  // namespace nearfetch::graph

// SPDX-License-Identifier: Apache-2.0
//
// Any bytes are either a graph or a clear error: no crash, no hang, no memory beyond what the input itself
// asks for. The first byte chooses the format and the options, so that each reader is reached without
// guessing its first line.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include "graph/byte_source.hpp"
#include "graph/csr.hpp"
#include "graph/edge_reader.hpp"
#include "graph/graph_error.hpp"

namespace {

using namespace nearfetch::graph;

void require(bool condition) {
    if (!condition) std::abort();
}

void check(const EdgeList& graph) {
    require(graph.vertices >= 1 && graph.vertices <= kMostVertices);
    require(graph.labels.empty() || graph.labels.size() == graph.vertices);
    for (std::size_t i = 0; i < graph.edges.size(); ++i) {
        require(graph.edges[i].low < graph.edges[i].high && graph.edges[i].high < graph.vertices);
        require(i == 0 || graph.edges[i - 1] < graph.edges[i]);
    }
    // A Matrix Market file may declare billions of vertices in a few bytes.
    constexpr std::uint64_t kMostForRows = 1U << 16;
    if (graph.vertices > kMostForRows) return;
    const Csr csr = build_csr(graph);
    require(csr.targets.size() == 2 * graph.edges.size());
    for (std::uint64_t v = 0; v < csr.vertices(); ++v) {
        const auto list = csr.neighbours(static_cast<Vertex>(v));
        for (std::size_t i = 1; i < list.size(); ++i)
            require(list[i - 1] < list[i]);
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    const std::string_view content(reinterpret_cast<const char*>(data) + 1, size - 1);
    ReadOptions options;
    options.format = static_cast<Format>(data[0] % 4);
    if ((data[0] & 4U) != 0) {
        options.vertices = data[0] >> 3;
    } else {
        options.ignore_columns = (data[0] & 8U) != 0;
    }
    try {
        check(read_edges(std::make_unique<MemorySource>(content), "input", options));
    } catch (const GraphError& error) {
        const std::string_view text = error.what();
        require(text.starts_with("input:") && text.find(" (") != text.npos && text.find("): ") != text.npos);
    }
    return 0;
}

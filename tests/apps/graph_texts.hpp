// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "graph/byte_source.hpp"
#include "graph/edge_reader.hpp"
#include "graph/graph_error.hpp"

namespace nearfetch::graph {

/// Reads a file called "graph" with these bytes.
inline EdgeList read(const std::string& bytes, const ReadOptions& options = {}) {
    return read_edges(std::make_unique<MemorySource>(bytes), "graph", options);
}

inline std::string error_of(const std::string& bytes, const ReadOptions& options = {}) {
    try {
        read(bytes, options);
    } catch (const GraphError& error) {
        return error.what();
    }
    return "no error";
}

}  // namespace nearfetch::graph

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "graph/byte_source.hpp"
#include "graph/edge_list.hpp"

namespace nearfetch::graph {

/// Format of an edge list.
///
/// - `csv`: two ids with a comma per line; the first line may be a header such as `id_1,id_2`.
/// - `snap`: two ids with white space per line, as in the Stanford collection.
/// - `matrix_market`: coordinate format; pattern, real or integer; general or symmetric; ids from 1. Each
/// stored entry is an edge, whatever its value. All declared rows are vertices. Source: NIST, *The Matrix
/// Market Exchange Formats*, 1996.
///
/// The first two skip blank lines and lines that begin with # or %.
enum class Format { automatic, csv, snap, matrix_market };

struct ReadOptions {
    Format format = Format::automatic;  ///< automatic: decided by the first lines
    std::optional<std::uint64_t>
        vertices;  ///< number of vertices; unset: see EdgeCollector::finish and Format
};

/// Reads an edge list, plain or gzip, from `source`; messages call it `name`.
/// @throws GraphError `NAME:LINE: problem (why): what to do`
EdgeList read_edges(std::unique_ptr<ByteSource> source, const std::string& name,
                    const ReadOptions& options = {});

/// The same from a file.
EdgeList read_edge_file(const std::string& path, const ReadOptions& options = {});

}  // namespace nearfetch::graph

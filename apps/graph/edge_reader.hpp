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
/// - `csv`: a row per edge, cut at commas or semicolons; fields may stand in quotes.
/// - `snap`: a row per edge, cut at white space, as in the Stanford and the KONECT collections.
/// - `matrix_market`: coordinate format, of any field and symmetry; ids from 1. Each stored entry is an edge,
///   whatever its value. All declared rows are vertices. Source: NIST, *The Matrix Market Exchange Formats*,
///   1996.
///
/// The first two skip blank lines and lines that begin with # or %, and may have a header of names. What
/// other columns than the ids they may have says Columns.
enum class Format { automatic, csv, snap, matrix_market };

struct ReadOptions {
    Format format = Format::automatic;  ///< automatic: decided by the first lines
    /// Number of vertices; unset: see EdgeCollector::finish and Format.
    std::optional<std::uint64_t> vertices = {};
    bool ignore_columns = false;  ///< take rows with more columns than the ids, whatever they are
    std::string member = {};      ///< which file of an archive; empty: see choose_member
};

/// Reads an edge list from `source`, plain, compressed or in an archive; messages call it `name`.
/// @throws GraphError `NAME:LINE: problem (why): what to do`
EdgeList read_edges(std::unique_ptr<ByteSource> source, const std::string& name,
                    const ReadOptions& options = {});

/// The same from a file.
EdgeList read_edge_file(const std::string& path, const ReadOptions& options = {});

}  // namespace nearfetch::graph

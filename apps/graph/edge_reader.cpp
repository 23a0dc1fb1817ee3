// SPDX-License-Identifier: Apache-2.0
#include "graph/edge_reader.hpp"

#include <utility>

#include "graph/columns.hpp"
#include "graph/fields.hpp"
#include "graph/graph_error.hpp"
#include "graph/line_reader.hpp"
#include "graph/matrix_market.hpp"
#include "graph/unpack.hpp"

namespace nearfetch::graph {

namespace {

bool is_comment(std::string_view line) { return line.empty() || line.front() == '#' || line.front() == '%'; }

void add_edge(const LineReader& reader, const Columns::Ids& ids, std::uint64_t largest_id,
              EdgeCollector& edges) {
    const std::uint64_t first = parse_number(reader, ids.first, largest_id, "vertex id");
    const std::uint64_t second = parse_number(reader, ids.second, largest_id, "vertex id");
    edges.add(static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(second));
}

EdgeList read_rows(LineReader& reader, const ReadOptions& options) {
    const std::uint64_t largest_id = options.vertices.value_or(kMostVertices) - 1;
    Columns columns(options.format, options.ignore_columns);
    EdgeCollector edges;
    bool before_rows = true;
    std::string_view line;
    while (reader.next(line)) {
        if (reader.line_number() == 1 && options.format != Format::csv && options.format != Format::snap) {
            const std::string banner(trimmed(line));
            if (is_matrix_market_banner(banner)) return read_matrix_market(reader, banner, options.vertices);
            if (options.format == Format::matrix_market) {
                reader.fail("the first line is not that of a Matrix Market file",
                            "it has to begin with %%MatrixMarket", "name the right format by --format");
            }
        }
        const std::string_view row = trimmed(line);
        if (is_comment(row)) {
            if (before_rows) columns.read_comment(reader, row);
            continue;
        }
        const bool header = before_rows && columns.read_first_row(reader, line);
        before_rows = false;
        if (!header) add_edge(reader, columns.ids(reader, line), largest_id, edges);
    }
    if (edges.empty()) {
        reader.fail("there is no edge in the file",
                    reader.line_number() == 0 ? "it is empty" : "it ends without one", "give an edge list");
    }
    EdgeList graph = edges.finish(options.vertices);
    graph.columns_ignored = columns.ignored();
    return graph;
}

}  // namespace

EdgeList read_edges(std::unique_ptr<ByteSource> source, const std::string& name, const ReadOptions& options) {
    if (options.vertices && (*options.vertices == 0 || *options.vertices > kMostVertices)) {
        throw GraphError(name + ": " +
                         complaint("a graph of " + std::to_string(*options.vertices) + " vertices",
                                   "1 to " + std::to_string(kMostVertices) + " are possible",
                                   "give another number"));
    }
    Content content = unpacked(std::move(source), name, options.member);
    LineReader reader(std::move(content.bytes), content.name);
    return read_rows(reader, options);
}

EdgeList read_edge_file(const std::string& path, const ReadOptions& options) {
    std::unique_ptr<ByteSource> file;
    try {
        file = std::make_unique<FileSource>(path);
    } catch (const GraphError& error) {
        throw GraphError(path + ": " + error.what());
    }
    return read_edges(std::move(file), path, options);
}

}  // namespace nearfetch::graph

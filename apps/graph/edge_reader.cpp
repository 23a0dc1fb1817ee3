// SPDX-License-Identifier: Apache-2.0
#include "graph/edge_reader.hpp"

#include <cctype>
#include <utility>

#include "graph/fields.hpp"
#include "graph/graph_error.hpp"
#include "graph/line_reader.hpp"
#include "graph/matrix_market.hpp"

namespace nearfetch::graph {

namespace {

bool is_comment(std::string_view line) { return line.empty() || line.front() == '#' || line.front() == '%'; }

/// A first line such as `id_1,id_2`: a name in each of the two columns.
bool is_header(std::string_view line) {
    const auto is_name = [](std::string_view field) {
        field = trimmed(field);
        if (!field.empty() && field.front() == '"') field.remove_prefix(1);
        return !field.empty() &&
               (std::isalpha(static_cast<unsigned char>(field.front())) != 0 || field.front() == '_');
    };
    const std::size_t comma = line.find(',');
    return comma != std::string_view::npos && is_name(line.substr(0, comma)) &&
           is_name(line.substr(comma + 1));
}

struct Fields {
    std::string_view first;
    std::string_view second;
    std::string_view rest;
};

Fields split(std::string_view line, Format format) {
    Fields fields;
    if (format == Format::snap) {
        fields.rest = line;
        fields.first = take_word(fields.rest);
        fields.second = take_word(fields.rest);
        return fields;
    }
    const std::size_t comma = line.find(',');
    fields.first = trimmed(line.substr(0, comma));
    if (comma == std::string_view::npos) return fields;
    line.remove_prefix(comma + 1);
    const std::size_t end = line.find(',');
    fields.second = trimmed(line.substr(0, end));
    if (end != std::string_view::npos) fields.rest = line.substr(end);
    return fields;
}

void add_edge(const LineReader& reader, std::string_view line, Format format, std::uint64_t largest_id,
              EdgeCollector& edges) {
    const Fields fields = split(line, format);
    if (fields.first.empty() || fields.second.empty()) {
        reader.fail("a vertex id is missing", "an edge needs two columns",
                    format == Format::csv ? "write it as id,id or remove the line"
                                          : "write it as two ids or remove the line");
    }
    const std::uint64_t first = parse_number(reader, fields.first, largest_id, "vertex id");
    const std::uint64_t second = parse_number(reader, fields.second, largest_id, "vertex id");
    expect_end(reader, fields.rest, "the second id");
    edges.add(static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(second));
}

EdgeList read_rows(LineReader& reader, const ReadOptions& options) {
    const std::uint64_t largest_id = options.vertices.value_or(kMostVertices) - 1;
    Format format = options.format;
    EdgeCollector edges;
    bool first_row = true;
    std::string_view line;
    while (reader.next(line)) {
        const std::string_view row = trimmed(line);
        if (reader.line_number() == 1 && format == Format::automatic && is_matrix_market_banner(row)) {
            format = Format::matrix_market;
        }
        if (format == Format::matrix_market) {
            if (!is_matrix_market_banner(row)) {
                reader.fail("the first line is not that of a Matrix Market file",
                            "it has to begin with %%MatrixMarket", "name the right format by --format");
            }
            const std::string banner(row);
            return read_matrix_market(reader, banner, options.vertices);
        }
        if (is_comment(row)) continue;
        if (format == Format::automatic)
            format = row.find(',') != std::string_view::npos ? Format::csv : Format::snap;
        const bool header = first_row && format == Format::csv && is_header(row);
        first_row = false;
        if (!header) add_edge(reader, row, format, largest_id, edges);
    }
    if (edges.empty()) {
        reader.fail("there is no edge in the file",
                    reader.line_number() == 0 ? "it is empty" : "it ends without one", "give an edge list");
    }
    return edges.finish(options.vertices);
}

}  // namespace

EdgeList read_edges(std::unique_ptr<ByteSource> source, const std::string& name, const ReadOptions& options) {
    if (options.vertices && (*options.vertices == 0 || *options.vertices > kMostVertices)) {
        throw GraphError(name + ": " +
                         complaint("a graph of " + std::to_string(*options.vertices) + " vertices",
                                   "1 to " + std::to_string(kMostVertices) + " are possible",
                                   "give another number"));
    }
    std::unique_ptr<ByteSource> content;
    try {
        content = decompressed(std::move(source));
    } catch (const GraphError& error) {
        throw GraphError(name + ": " + error.what());
    }
    LineReader reader(std::move(content), name);
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

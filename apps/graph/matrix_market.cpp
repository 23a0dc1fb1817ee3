// SPDX-License-Identifier: Apache-2.0
#include "graph/matrix_market.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <limits>
#include <string>
#include <system_error>

#include "graph/fields.hpp"
#include "graph/graph_error.hpp"

namespace nearfetch::graph {

namespace {

constexpr std::string_view kBanner = "%%matrixmarket";

std::string lower(std::string_view text) {
    std::string result(text);
    std::transform(result.begin(), result.end(), result.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return result;
}

struct Header {
    int values = 0;  ///< numbers after the indices of an entry
    bool integers = false;
};

Header parse_banner(const LineReader& reader, std::string_view rest) {
    take_word(rest);
    const std::string object = lower(take_word(rest));
    const std::string layout = lower(take_word(rest));
    const std::string field = lower(take_word(rest));
    const std::string symmetry = lower(take_word(rest));
    if (symmetry.empty()) {
        reader.fail("the first line has too few words",
                    "it reads %%MatrixMarket matrix coordinate FIELD SYMMETRY", "complete it");
    }
    if (object != "matrix" || layout != "coordinate") {
        reader.fail("unsupported Matrix Market kind " + quoted(object + " " + layout),
                    "an edge list is a matrix coordinate file",
                    "convert it, such as by scipy.io.mmwrite of a sparse matrix");
    }
    if (field != "pattern" && field != "real" && field != "integer" && field != "complex") {
        reader.fail("unsupported Matrix Market field " + quoted(field),
                    "pattern, real, integer and complex are read", "correct the first line");
    }
    const bool known = symmetry == "general" || symmetry == "symmetric" ||
                       (symmetry == "skew-symmetric" && field != "pattern") ||
                       (symmetry == "hermitian" && field == "complex");
    if (!known) {
        reader.fail(
            "unsupported Matrix Market symmetry " + quoted(symmetry) + " of field " + quoted(field),
            "general and symmetric are read, skew-symmetric of numbers, and Hermitian of complex ones",
            "correct the first line");
    }
    expect_end(reader, rest, "the first line's fields");
    return {field == "pattern" ? 0 : field == "complex" ? 2 : 1, field == "integer"};
}

void check_value(const LineReader& reader, std::string_view field, bool integer) {
    std::string_view digits = field;
    if (digits.size() > 1 && digits.front() == '+' && digits[1] != '-') digits.remove_prefix(1);
    const char* last = digits.data() + digits.size();
    const char* stop = nullptr;
    std::errc status{};
    if (integer) {
        std::int64_t value = 0;
        const auto result = std::from_chars(digits.data(), last, value);
        stop = result.ptr;
        status = result.ec;
    } else {
        double value = 0;
        const auto result = std::from_chars(digits.data(), last, value);
        stop = result.ptr;
        status = result.ec;
    }
    if (status != std::errc::invalid_argument && stop == last) return;
    if (field.empty())
        reader.fail("a value is missing",
                    "the first line declares one for each entry, or two of a complex one",
                    "add it, or declare the file pattern");
    reader.fail("value " + quoted(field) + " is not a number",
                integer ? "the first line declares integers" : "the first line declares decimals",
                "correct it");
}

bool next_content(LineReader& reader, std::string_view& line) {
    while (reader.next(line)) {
        line = trimmed(line);
        if (!line.empty() && line.front() != '%') return true;
    }
    return false;
}

std::uint32_t parse_index(const LineReader& reader, std::string_view field, std::uint64_t size) {
    if (field.empty())
        reader.fail("an index is missing", "an entry needs a row and a column", "add it or remove the line");
    const std::uint64_t index =
        parse_number(reader, field, std::numeric_limits<std::uint64_t>::max(), "index");
    if (index == 0 || index > size) {
        reader.fail("index " + std::to_string(index) + " is outside of the matrix",
                    "the declared size is " + std::to_string(size) + " and counting starts at 1",
                    "correct the index or the size");
    }
    return static_cast<std::uint32_t>(index - 1);
}

}  // namespace

bool is_matrix_market_banner(std::string_view line) {
    return lower(line.substr(0, kBanner.size())) == kBanner;
}

EdgeList read_matrix_market(LineReader& reader, std::string_view banner,
                            std::optional<std::uint64_t> vertices) {
    const Header header = parse_banner(reader, banner);
    std::string_view line;
    if (!next_content(reader, line))
        reader.fail("the size line is missing", "the file ends before it", "fetch the file again");
    const auto size = [&reader, &line](std::uint64_t largest, std::string_view role) {
        return parse_number(reader, take_word(line), largest, role, "correct the size line");
    };
    const std::uint64_t rows = size(kMostVertices, "number of rows");
    const std::uint64_t columns = size(kMostVertices, "number of columns");
    const std::uint64_t declared = size(std::numeric_limits<std::uint64_t>::max(), "number of entries");
    expect_end(reader, line, "the number of entries");
    if (rows != columns) {
        reader.fail("the matrix is not square",
                    std::to_string(rows) + " rows, " + std::to_string(columns) + " columns",
                    "give the adjacency matrix of a graph");
    }
    if (rows == 0) reader.fail("the matrix is empty", "it declares no vertex", "give a graph with vertices");
    if (vertices && *vertices != rows) {
        reader.fail("the file declares " + std::to_string(rows) + " vertices",
                    "--vertices says " + std::to_string(*vertices), "leave --vertices out");
    }
    EdgeCollector edges;
    std::uint64_t entries = 0;
    while (next_content(reader, line)) {
        if (entries == declared) {
            reader.fail("more entries than declared", "the size line declares " + std::to_string(declared),
                        "correct the size line");
        }
        const std::uint32_t row = parse_index(reader, take_word(line), rows);
        const std::uint32_t column = parse_index(reader, take_word(line), rows);
        for (int value = 0; value < header.values; ++value)
            check_value(reader, take_word(line), header.integers);
        expect_end(reader, line, "the entry");
        edges.add(row, column);
        ++entries;
    }
    if (entries != declared) {
        reader.fail("only " + std::to_string(entries) + (entries == 1 ? " entry" : " entries"),
                    "the size line declares " + std::to_string(declared),
                    "fetch the file again or correct the size line");
    }
    EdgeList graph = edges.finish(rows);
    graph.columns_ignored = static_cast<std::uint64_t>(header.values);
    return graph;
}

}  // namespace nearfetch::graph

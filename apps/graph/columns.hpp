// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "graph/edge_reader.hpp"
#include "graph/line_reader.hpp"

namespace nearfetch::graph {

/// The columns of an edge list: how its rows are cut, which two columns are the ids, and how many more there
/// may be.
///
/// More columns than two are weights, signs, times or texts if the file says so, in one of three ways:
///
/// - a header with names, such as Gephi's `Source,Target,Type,Weight`: the ids are the columns with the names
///   of a pair that is known;
/// - a comment that begins with such a pair, such as SNAP's `# FromNodeId ToNodeId Sign`;
/// - KONECT's first line, such as `% asym positive`: its files have up to four columns. Source: J. Kunegis,
///   *Handbook of Network Analysis: The KONECT Project*.
///
/// Otherwise they are refused: a row of three numbers may as well be a vertex with two neighbours.
class Columns {
  public:
    /// @param format `csv` or `snap`, or `automatic`: decided by the first row
    /// @param ignore take rows with any columns beside the ids
    Columns(Format format, bool ignore) : format_(format), ignore_(ignore) {}

    /// Takes a comment that stands before the first row. @throws GraphError where KONECT's first line names a
    /// kind of network that is no simple graph
    void read_comment(const LineReader& reader, std::string_view line);

    /// Takes the first row. Whether it is a header, that is has names in place of ids. @throws GraphError
    /// where it names more than two columns, and not the two with the ids
    bool read_first_row(const LineReader& reader, std::string_view line);

    struct Ids {
        std::string_view first;
        std::string_view second;
    };

    /// The two ids of a row, valid as long as `line`. @throws GraphError where one is missing, or where there
    /// are more columns than there may be
    Ids ids(const LineReader& reader, std::string_view line);

    /// Most columns of a row beside the ids.
    std::size_t ignored() const { return ignored_; }

  private:
    void read_names(const LineReader& reader);

    Format format_;
    bool ignore_;
    char separator_ = ',';
    std::size_t first_ = 0;
    std::size_t second_ = 1;
    std::size_t most_ = 2;
    std::string why_most_ = "an edge has two ids, and no header names more columns";
    std::size_t ignored_ = 0;
    std::vector<std::string_view> fields_;  ///< of the last row that was cut
};

}  // namespace nearfetch::graph

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "graph/line_reader.hpp"

namespace nearfetch::graph {

/// Without white space at both ends.
std::string_view trimmed(std::string_view text);

/// Takes the next word off the front of `rest`; empty if there is none.
std::string_view take_word(std::string_view& rest);

/// Separates fields by any white space, in place of one character.
inline constexpr char kWhiteSpace = ' ';

/// Cuts a row at each `separator` into `fields`, without white space at their ends. A field may stand in
/// quotes, as in RFC 4180, but has to end in the same row; fails otherwise. Quotes within it stay doubled.
void split_row(const LineReader& reader, std::string_view row, char separator,
               std::vector<std::string_view>& fields);

/// Parses an integer from 0 to `largest`. Otherwise fails at the reader's line, with `role` as the number's
/// name. `remedy` is the advice for a number out of range; by default to renumber.
std::uint64_t parse_number(const LineReader& reader, std::string_view field, std::uint64_t largest,
                           std::string_view role, std::string_view remedy = {});

/// Fails if anything but white space is left in a line.
void expect_end(const LineReader& reader, std::string_view rest, std::string_view after);

}  // namespace nearfetch::graph

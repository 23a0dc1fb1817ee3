// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include "graph/line_reader.hpp"

namespace nearfetch::graph {

/// Without white space at both ends.
std::string_view trimmed(std::string_view text);

/// Takes the next field that white space ends off the front of `rest`; empty when there is none.
std::string_view take_word(std::string_view& rest);

/// A whole number from 0 to `largest`; fails at the reader's line, calling the number `role`, otherwise. What
/// to do about one that is out of range is `remedy`, where that is not to renumber.
std::uint64_t parse_number(const LineReader& reader, std::string_view field, std::uint64_t largest,
                           std::string_view role, std::string_view remedy = {});

/// Fails when anything but white space is left of a line.
void expect_end(const LineReader& reader, std::string_view rest, std::string_view after);

}  // namespace nearfetch::graph

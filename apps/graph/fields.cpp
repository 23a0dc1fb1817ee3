// SPDX-License-Identifier: Apache-2.0
#include "graph/fields.hpp"

#include <charconv>
#include <string>
#include <system_error>

#include "graph/graph_error.hpp"

namespace nearfetch::graph {

namespace {

constexpr std::string_view kSpace = " \t\r\v\f";
constexpr std::string_view kSpaceOfTabbed = " \r\v\f";

/// Without characters of `space` at both ends.
std::string_view trimmed(std::string_view text, std::string_view space) {
    const std::size_t first = text.find_first_not_of(space);
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(space) - first + 1);
}

/// Takes a field in quotes off the front of `rest`: what stands between them.
std::string_view take_quoted(const LineReader& reader, std::string_view& rest) {
    std::size_t close = rest.find('"', 1);
    while (close != std::string_view::npos && rest.substr(close + 1).starts_with('"'))
        close = rest.find('"', close + 2);
    if (close == std::string_view::npos) {
        reader.fail("a quote is not closed", "a field ends in the line in which it begins",
                    "close it, or write the field without a line break");
    }
    const std::string_view field = rest.substr(1, close - 1);
    rest.remove_prefix(close + 1);
    return field;
}

}  // namespace

std::string_view trimmed(std::string_view text) { return trimmed(text, kSpace); }

std::string_view take_word(std::string_view& rest) {
    rest = trimmed(rest);
    const std::string_view word = rest.substr(0, rest.find_first_of(kSpace));
    rest.remove_prefix(word.size());
    return word;
}

void split_row(const LineReader& reader, std::string_view row, char separator,
               std::vector<std::string_view>& fields) {
    const std::string_view ends = separator == kWhiteSpace ? kSpace : std::string_view(&separator, 1);
    // A tab that separates is no white space: there may be nothing before it.
    const std::string_view space = separator == '\t' ? kSpaceOfTabbed : kSpace;
    fields.clear();
    for (std::string_view rest = trimmed(row, space);; rest = trimmed(rest, space)) {
        const bool in_quotes = rest.starts_with('"');
        const std::string_view inside = in_quotes ? take_quoted(reader, rest) : std::string_view();
        const std::size_t end = rest.find_first_of(ends);
        const std::string_view outside = trimmed(rest.substr(0, end), space);
        if (in_quotes && !outside.empty()) {
            reader.fail("text " + quoted(outside) + " after a closing quote", "a separator has to follow it",
                        "double the quotes within a field");
        }
        fields.push_back(in_quotes ? trimmed(inside) : outside);
        if (end == std::string_view::npos) return;
        rest.remove_prefix(end + 1);
    }
}

std::uint64_t parse_number(const LineReader& reader, std::string_view field, std::uint64_t largest,
                           std::string_view role, std::string_view remedy) {
    std::uint64_t value = 0;
    const auto [stop, status] = std::from_chars(field.data(), field.data() + field.size(), value);
    const bool whole = stop == field.data() + field.size() && status != std::errc::invalid_argument;
    if (whole && status == std::errc() && value <= largest) return value;
    const std::string called = std::string(role) + " " + quoted(field);
    if (field.size() > 1 && field[0] == '-' && field[1] >= '0' && field[1] <= '9') {
        reader.fail(called + " is negative", "counting starts at 0", remedy.empty() ? "renumber it" : remedy);
    }
    if (!whole) {
        reader.fail(called + " is not a whole number", "only digits are allowed",
                    "correct the line, or name the format by --format");
    }
    reader.fail(called + " is too large", "the largest allowed is " + std::to_string(largest),
                remedy.empty() ? "renumber the vertices" : remedy);
}

void expect_end(const LineReader& reader, std::string_view rest, std::string_view after) {
    rest = trimmed(rest);
    if (rest.empty()) return;
    reader.fail("unexpected text " + quoted(rest) + " after " + std::string(after),
                "nothing may follow it there", "remove it, or name the format by --format");
}

}  // namespace nearfetch::graph

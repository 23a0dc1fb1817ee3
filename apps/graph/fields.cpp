// SPDX-License-Identifier: Apache-2.0
#include "graph/fields.hpp"

#include <charconv>
#include <string>
#include <system_error>

#include "graph/graph_error.hpp"

namespace nearfetch::graph {

namespace {
constexpr std::string_view kSpace = " \t\r\v\f";
}

std::string_view trimmed(std::string_view text) {
    const std::size_t first = text.find_first_not_of(kSpace);
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

std::string_view take_word(std::string_view& rest) {
    rest = trimmed(rest);
    const std::string_view word = rest.substr(0, rest.find_first_of(kSpace));
    rest.remove_prefix(word.size());
    return word;
}

std::uint64_t parse_number(const LineReader& reader, std::string_view field, std::uint64_t largest,
                           std::string_view role, std::string_view remedy) {
    const std::string called = std::string(role) + " " + quoted(field);
    if (field.size() > 1 && field[0] == '-' && field[1] >= '0' && field[1] <= '9') {
        reader.fail(called + " is negative", "counting starts at 0", remedy.empty() ? "renumber it" : remedy);
    }
    std::uint64_t value = 0;
    const auto [stop, status] = std::from_chars(field.data(), field.data() + field.size(), value);
    if (status == std::errc::invalid_argument || stop != field.data() + field.size()) {
        reader.fail(called + " is not a whole number", "only digits are allowed",
                    "correct the line, or name the format by --format");
    }
    if (status == std::errc::result_out_of_range || value > largest) {
        reader.fail(called + " is too large", "the largest allowed is " + std::to_string(largest),
                    remedy.empty() ? "renumber the vertices" : remedy);
    }
    return value;
}

void expect_end(const LineReader& reader, std::string_view rest, std::string_view after) {
    rest = trimmed(rest);
    if (rest.empty()) return;
    reader.fail("unexpected text " + quoted(rest) + " after " + std::string(after),
                "nothing may follow it there", "remove it, or name the format by --format");
}

}  // namespace nearfetch::graph

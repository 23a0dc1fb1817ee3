// SPDX-License-Identifier: Apache-2.0
#include "graph/columns.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <iterator>
#include <utility>

#include "graph/fields.hpp"
#include "graph/graph_error.hpp"

namespace nearfetch::graph {

namespace {

/// Names of the two columns with the ids, as `plain` makes them.
constexpr std::array<std::pair<std::string_view, std::string_view>, 16> kPairs = {{
    {"source", "target"},
    {"src", "dst"},
    {"from", "to"},
    {"fromnodeid", "tonodeid"},
    {"fromid", "toid"},
    {"fromnode", "tonode"},
    {"sourceid", "targetid"},
    {"srcid", "dstid"},
    {"sourcenode", "targetnode"},
    {"sourcenodeid", "targetnodeid"},
    {"id1", "id2"},
    {"node1", "node2"},
    {"nodeid1", "nodeid2"},
    {"vertex1", "vertex2"},
    {"u", "v"},
    {"i", "j"},
}};

constexpr std::array<std::string_view, 3> kKonectFormats = {"sym", "asym", "bip"};
constexpr std::array<std::string_view, 9> kKonectWeights = {
    "unweighted", "positive",      "posweighted", "signed",          "multisigned",
    "weighted",   "multiweighted", "dynamic",     "multiposweighted"};
constexpr std::size_t kKonectColumns = 4;

/// A name in small letters, without all that is no letter or digit: `Id_1` and `id 1` are the same.
std::string plain(std::string_view name) {
    std::string result;
    for (const unsigned char c : name)
        if (std::isalnum(c) != 0) result.push_back(static_cast<char>(std::tolower(c)));
    return result;
}

bool is_name(std::string_view field) {
    return !field.empty() &&
           (std::isalpha(static_cast<unsigned char>(field.front())) != 0 || field.front() == '_');
}

bool is_whole_number(std::string_view field) {
    return !field.empty() &&
           std::all_of(field.begin(), field.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
}

/// Where the two names of a known pair stand.
bool find_pair(const std::vector<std::string_view>& names, std::size_t& first, std::size_t& second) {
    std::vector<std::string> all;
    std::transform(names.begin(), names.end(), std::back_inserter(all), plain);
    for (const auto& [one, other] : kPairs) {
        const auto a = std::find(all.begin(), all.end(), one);
        const auto b = std::find(all.begin(), all.end(), other);
        if (a == all.end() || b == all.end()) continue;
        first = static_cast<std::size_t>(a - all.begin());
        second = static_cast<std::size_t>(b - all.begin());
        return true;
    }
    return false;
}

char separator_of(std::string_view line, Format format) {
    const std::size_t at = line.find_first_of(",;");
    if (format == Format::snap || (format == Format::automatic && at == std::string_view::npos)) {
        return kWhiteSpace;
    }
    return at == std::string_view::npos ? ',' : line[at];
}

void check_konect_kind(const LineReader& reader, std::string_view format, std::string_view weights,
                       bool ignore) {
    if (format == "bip") {
        reader.fail("the network is bipartite",
                    "KONECT numbers its left and its right vertices apart, so that an id means two vertices",
                    "tell them apart: awk '!/^%/ {print $1, $2 + N}' FILE, with N left vertices");
    }
    if (weights == "dynamic" && !ignore) {
        reader.fail("the network is dynamic", "a row of it adds an edge or removes it again",
                    "write the edges of one moment to a file, or take all by --ignore-columns");
    }
}

}  // namespace

void Columns::read_comment(const LineReader& reader, std::string_view line) {
    const std::size_t marks = std::min(line.find_first_not_of("#%"), line.size());
    const std::string_view text = line.substr(marks);
    std::string_view rest = text;
    const std::string_view format = take_word(rest);
    const std::string_view weights = take_word(rest);
    const auto among = [](const auto& words, std::string_view word) {
        return std::find(words.begin(), words.end(), word) != words.end();
    };
    if (line.starts_with('%') && among(kKonectFormats, format) && among(kKonectWeights, weights) &&
        trimmed(rest).empty()) {
        check_konect_kind(reader, format, weights, ignore_);
        most_ = kKonectColumns;
        why_most_ = "a file of KONECT has up to " + std::to_string(kKonectColumns);
        return;
    }
    // Prose may have the words of a pair anywhere, and quotes as it likes.
    if (text.find('"') != std::string_view::npos) return;
    split_row(reader, text, separator_of(text, Format::automatic), fields_);
    std::size_t first = 0;
    std::size_t second = 0;
    if (!find_pair(fields_, first, second) || first + second != 1) return;
    most_ = fields_.size();
    why_most_ = "a comment names " + std::to_string(most_);
}

bool Columns::read_first_row(const LineReader& reader, std::string_view line) {
    separator_ = separator_of(line, format_);
    split_row(reader, line, separator_, fields_);
    const auto names = std::count_if(fields_.begin(), fields_.end(), is_name);
    if (names < 2 || std::any_of(fields_.begin(), fields_.end(), is_whole_number)) return false;
    if (separator_ == kWhiteSpace && line.find('\t') != std::string_view::npos) {
        separator_ = '\t';
        split_row(reader, line, separator_, fields_);
    }
    read_names(reader);
    return true;
}

void Columns::read_names(const LineReader& reader) {
    most_ = fields_.size();
    why_most_ = "the header names " + std::to_string(most_);
    if (find_pair(fields_, first_, second_) || most_ == 2 || ignore_) return;
    reader.fail("the header names " + std::to_string(most_) + " columns, and not which two have the ids",
                "known are source and target, from and to, id_1 and id_2, and the like",
                "name them so, or give --ignore-columns if they are the first two");
}

Columns::Ids Columns::ids(const LineReader& reader, std::string_view line) {
    split_row(reader, line, separator_, fields_);
    while (fields_.size() > 2 && fields_.back().empty())
        fields_.pop_back();
    if (fields_.size() <= std::max(first_, second_) || fields_[first_].empty() || fields_[second_].empty()) {
        const bool csv = separator_ == ',' || separator_ == ';';
        reader.fail("a vertex id is missing", "an edge needs two columns",
                    csv ? "write it as id" + std::string(1, separator_) + "id or remove the line"
                        : "write it as two ids or remove the line");
    }
    if (fields_.size() > most_ && !ignore_) {
        reader.fail("unexpected text " + quoted(fields_[most_]) + " in column " + std::to_string(most_ + 1),
                    why_most_, "give --ignore-columns if it is a weight, a sign or a time");
    }
    ignored_ = std::max(ignored_, fields_.size() - 2);
    return {fields_[first_], fields_[second_]};
}

}  // namespace nearfetch::graph

// SPDX-License-Identifier: Apache-2.0
#include "transport/collective.hpp"

#include <algorithm>
#include <cstddef>

namespace nearfetch {

namespace {

/// "rank 1", "ranks 0 and 2", "ranks 0, 2 and 4 to 7"; sorted.
std::string names_of(const std::vector<Rank>& ranks) {
    std::vector<std::string> runs;
    for (std::size_t first = 0, end = 1; first < ranks.size(); first = end++) {
        while (end < ranks.size() && ranks[end] == ranks[end - 1] + 1)
            ++end;
        runs.push_back(std::to_string(ranks[first]));
        if (end - first > 2) runs.back() += " to " + std::to_string(ranks[end - 1]);
        if (end - first == 2) runs.push_back(std::to_string(ranks[end - 1]));
    }
    std::string names = ranks.size() == 1 ? "rank " : "ranks ";
    for (std::size_t n = 0; n < runs.size(); ++n)
        names += (n == 0 ? "" : n + 1 == runs.size() ? " and " : ", ") + runs[n];
    return names;
}

/// Limit of groups of ranks in a message, to keep it readable.
constexpr std::size_t most_groups = 8;

}  // namespace

CollectiveError collective_error(std::vector<CollectiveArrival> arrivals, Rank ranks) {
    std::sort(arrivals.begin(), arrivals.end(),
              [](const auto& left, const auto& right) { return left.rank < right.rank; });
    std::vector<bool> told(arrivals.size());
    std::vector<std::string> texts;
    std::string all;
    for (std::size_t n = 0; n < arrivals.size(); ++n) {
        if (told[n]) continue;
        std::vector<Rank> same;
        for (std::size_t m = n; m < arrivals.size(); ++m) {
            if (arrivals[m].id != arrivals[n].id || arrivals[m].text != arrivals[n].text) continue;
            told[m] = true;
            same.push_back(arrivals[m].rank);
        }
        if (texts.size() == most_groups) {
            all += "; and others";
            break;
        }
        const bool again = std::find(texts.begin(), texts.end(), arrivals[n].text) != texts.end();
        texts.push_back(arrivals[n].text);
        all += (all.empty() ? "" : "; ") + names_of(same) + " in " + arrivals[n].text +
               (again ? " with other arguments, or of another array" : "");
    }
    std::vector<Rank> missing;
    for (Rank rank = 0; rank < ranks; ++rank)
        if (std::none_of(arrivals.begin(), arrivals.end(),
                         [&](const CollectiveArrival& one) { return one.rank == rank; }))
            missing.push_back(rank);
    if (!missing.empty()) all += "; nowhere yet: " + names_of(missing);
    return {"ranks meet in different collective functions: " + all,
            "what is collective is called by all ranks in the same order, with the same arguments",
            "let all ranks call the same"};
}

}  // namespace nearfetch

// SPDX-License-Identifier: Apache-2.0

// nearfetch-report: reads the files of statistics that are named (rank-<N>.json), and prints as JSON what
// they say together: the verdict, its page, and the windows. `nearfetch report` makes its reports of that.
// Without files it prints the table of counters.

#include <cstdio>
#include <exception>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "report/page.hpp"
#include "report/verdict.hpp"

namespace {

using namespace nearfetch;
using Json = nlohmann::ordered_json;

Json json_of(const WindowGroup& group) {
    Json json{{"name", group.name},
              {"mode", group.mode},
              {"site", group.site},
              {"bytes", group.bytes},
              {"windows", group.windows},
              {"ranks", group.ranks},
              {"forgotten_by", group.forgotten_by}};
    for (const CounterInfo& row : range_cache_counter_table)
        json["counters"][std::string(row.name)] = group.counters.*row.member;
    return json;
}

int print_counters() {
    Json table = Json::array();
    for (const CounterInfo& row : range_cache_counter_table)
        table.push_back({{"name", row.name}, {"meaning", row.meaning}});
    std::puts(table.dump(2).c_str());
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc == 1) return print_counters();
    RunSummary summary;
    for (int i = 1; i < argc; ++i) {
        try {
            std::ifstream file(argv[i]);
            summary.add(summary_of_rank(Json::parse(file)));
        } catch (const std::exception& error) {
            std::fprintf(stderr,
                         "nearfetch: cannot read '%s' (%s): name a folder that nearfetch run --stats has "
                         "written\n",
                         argv[i], error.what());
            return 1;
        }
    }
    summary.sort();
    const Verdict verdict = verdict_of(summary);
    const std::string title = std::to_string(summary.ranks) + (summary.ranks == 1 ? " rank" : " ranks");
    Json document{{"situation", situation_name(verdict.situation)},
                  {"verdict", verdict.text},
                  {"advice", verdict.advice},
                  {"page", page_of(summary, title)},
                  {"ranks", summary.ranks},
                  {"elapsed_s", summary.elapsed_s},
                  {"groups", Json::array()}};
    for (const WindowGroup& group : summary.groups)
        document["groups"].push_back(json_of(group));
    std::puts(document.dump(2).c_str());
    return 0;
}

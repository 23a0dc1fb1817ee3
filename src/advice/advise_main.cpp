// SPDX-License-Identifier: Apache-2.0

// nearfetch-advise: reads the recordings that are named (rank-<N>.events) and prints as JSON what they show,
// and what other settings would have made of the run. `nearfetch advise` makes its text of that. While it
// works it says on standard error which replay it is at: a line "replay 3 of 20" for each.

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "advice/advice.hpp"
#include "base/error.hpp"
#include "report/run_summary.hpp"

namespace {

using namespace nearfetch;
using Json = nlohmann::ordered_json;

Json json_of(const SettingWords& words) {
    Json json = Json::object();
    for (const auto& [name, value] : words)
        json[name] = value;
    return json;
}

Json json_of(const Prospect& prospect) {
    return {{"settings", json_of(prospect.settings)},
            {"remote_gets", remote_gets(prospect.counters)},
            {"hit_ratio", prospect.hit_ratio()},
            {"locks_elided", prospect.counters.locks_elided},
            {"saved_s", prospect.saved_s},
            {"saved_margin_s", prospect.saved_margin_s},
            {"saved_least_s", prospect.least_saved_s},
            {"saved_most_s", prospect.most_saved_s},
            {"memory_bytes", prospect.memory_bytes},
            {"safe", prospect.is_safe},
            {"why", prospect.why}};
}

Json json_of(const std::vector<Prospect>& prospects) {
    Json list = Json::array();
    for (const Prospect& one : prospects)
        list.push_back(json_of(one));
    return list;
}

/// What was recorded.
Json json_of(const std::vector<RecordedProcess>& processes) {
    double elapsed_s = 0, share = 1;
    std::uint64_t gets = 0, bytes = 0, locks = 0, updates = 0, whole = 0;
    for (const RecordedProcess& process : processes) {
        elapsed_s = std::max(elapsed_s, static_cast<double>(process.elapsed_ns) * 1e-9);
        share = std::min(share, process.share());
        gets += process.gets;
        bytes += process.get_bytes;
        locks += process.shared_locks;
        updates += process.updates;
        whole += process.is_whole ? 1 : 0;
    }
    const Rereads seen = rereading_of(processes).all;
    return {{"ranks", processes.size()},
            {"ranks_to_the_end", whole},
            {"elapsed_s", elapsed_s},
            {"share", share},
            {"remote_gets", gets},
            {"get_bytes", bytes},
            {"shared_locks", locks},
            {"updates", updates},
            {"rereads",
             {{"same", seen.same},
              {"changed_unordered", seen.changed_unordered},
              {"changed_by_locks", seen.changed_by_locks},
              {"changed", seen.changed}}}};
}

}  // namespace

int main(int argc, char** argv) {
    if (argc == 1) {
        std::fputs("nearfetch: no recordings (nothing to read): name the files rank-<N>.events\n", stderr);
        return 2;
    }
    try {
        std::vector<RecordedProcess> processes;
        for (int i = 1; i < argc; ++i)
            processes.push_back(read_process(argv[i]));
        const auto step = [](std::size_t done, std::size_t all) {
            std::fprintf(stderr, "replay %zu of %zu\n", done + 1, all);
        };
        const Advice advice = advise(processes, step);
        const Json document{{"recorded", json_of(processes)},
                            {"choices", json_of(advice.choices)},
                            {"best", advice.best},
                            {"curve", json_of(advice.curve)},
                            {"policies", json_of(advice.policies)},
                            {"memory_bytes", advice.memory_bytes}};
        std::puts(document.dump(2).c_str());
        return 0;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "nearfetch: %s\n", error.what());
        return 1;
    }
}

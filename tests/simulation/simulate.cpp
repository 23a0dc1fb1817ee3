// SPDX-License-Identifier: Apache-2.0
//
// simulate: random programs on nearfetch's caches against a reference model, for a given time. The exit
// status is 0 without a failure, and 1 with one: then the seed and the shrunken history are printed.

#include <CLI/CLI.hpp>
#include <cstdio>
#include <string>

#include "campaign.hpp"

int main(int argc, char** argv) {
    using namespace nearfetch::simulation;
    CLI::App app(
        "Random programs on the caches, over networks that delay and reorder, against a reference "
        "model of what the consistency rules allow.");
    Options options;
    std::string cache = "all", fault;
    app.add_option("--cache", cache,
                   "which cache: the page cache, the interposer's range cache, the same under locks, or all")
        ->check(CLI::IsMember({"pages", "ranges", "locks", "all"}))
        ->capture_default_str();
    auto* const operations =
        app.add_option("--operations", options.operations, "operations to run on each cache")
            ->check(CLI::PositiveNumber);
    app.add_option("--seconds", options.seconds, "time to take (default: 10)")
        ->check(CLI::PositiveNumber)
        ->excludes(operations);
    app.add_option("--seed", options.seed, "the same seed gives the same programs")->capture_default_str();
    app.add_option("--program", options.program, "run just one program, by the number that a failure prints");
    app.add_flag("!--quiet", options.progress, "no progress");
    std::string faults = "break something, to see that it is found:";
    for (const FaultInfo& info : fault_table)
        faults += "\n  " + std::string(info.name) + " (" + std::string(name_of(info.cache)) +
                  "): " + std::string(info.meaning);
    app.add_option("--fault", fault, faults);
    CLI11_PARSE(app, argc, argv);

    for (const CacheKind kind : all_caches)
        if (cache == "all" || cache == name_of(kind)) options.caches.push_back(kind);
    if (!fault.empty()) {
        for (const FaultInfo& info : fault_table) {
            if (info.name != fault) continue;
            options.fault = info.fault;
            if (cache == "all") options.caches = {info.cache};
        }
        if (options.fault == Fault::none) {
            std::fprintf(stderr, "simulate: no fault '%s' (--help lists them): name one of these\n",
                         fault.c_str());
            return 2;
        }
    }
    if (options.program && options.caches.size() != 1) {
        std::fprintf(stderr, "simulate: --program alone (each cache has its own programs): add --cache\n");
        return 2;
    }
    if (options.operations == 0 && options.seconds == 0) options.seconds = 10;
    return campaign(options);
}

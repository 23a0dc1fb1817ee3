// SPDX-License-Identifier: Apache-2.0
#include "barnes_hut/options.hpp"

#include <CLI/CLI.hpp>
#include <string>

#include "common/validators.hpp"

namespace nearfetch::barnes_hut {

apps::Parsed parse_options(int argc, const char* const* argv, Options& options) {
    CLI::App app("Gravity of many bodies by the method of Barnes and Hut, by MPI one-sided communication.",
                 "barnes_hut");
    app.add_option("--bodies", options.bodies, "number of bodies (default 4000)")
        ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 30))
        ->type_name("N");
    app.add_option("--steps", options.steps, "number of time steps, with one force phase each (default 1)")
        ->check(CLI::Range(1, 1000000))
        ->type_name("K");
    app.add_option("--theta", options.force.theta,
                   "a cell of side s at distance d pulls as one point when s < T*d (default 0.5; 0: never)")
        ->check(apps::number_within(0, 2))
        ->type_name("T");
    app.add_option("--dt", options.time_step, "time step (default 1/64)")
        ->check(apps::number_within(0, 1))
        ->type_name("T");
    app.add_option("--softening", options.force.softening, "softening length (default 0.025)")
        ->check(apps::number_within(0, 1))
        ->type_name("L");
    app.add_option("--seed", options.seed, "seed of the initial Plummer model (default 1)")
        ->check(apps::whole_number())
        ->type_name("X");
    app.add_flag("--check", options.check,
                 "compare the forces with direct summation and with the bound of their error");
    app.add_option("--max-bodies", options.max_bodies,
                   "forces on the first M bodies of each rank only; the others fly straight on")
        ->check(apps::whole_number())
        ->type_name("M");
    app.add_flag("--first-gets", options.first_gets,
                 "report the force time without repeated gets of a node, too: what a cache without limit "
                 "would leave");
    app.add_option_function<std::string>(
           "--cache", [&options](const std::string& kind) { options.cache.enabled = kind == "block"; },
           "cache built into the program: none (default), or direct-mapped blocks of the other ranks' trees")
        ->check(CLI::IsMember({"none", "block"}))
        ->type_name("none|block");
    app.add_option("--cache-bytes", options.cache.capacity_bytes, "its size (default 1MiB)")
        ->transform(CLI::AsSizeValue(false))
        ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 40))
        ->type_name("SIZE");
    app.add_option("--block-bytes", options.cache.block_bytes, "size of its blocks (default 1KiB)")
        ->transform(CLI::AsSizeValue(false))
        ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 30))
        ->type_name("SIZE");
    apps::add_common_options(app, options.common);
    apps::Parsed parsed = apps::parse(app, argc, argv);
    if (parsed.run && options.cache.capacity_bytes < options.cache.block_bytes) {
        parsed = {false, apps::kBadUse,
                  "barnes_hut: --cache-bytes is smaller than --block-bytes (the cache could not hold one "
                  "block): enlarge it\n"};
    }
    if (parsed.run && options.first_gets && options.cache.enabled) {
        parsed = {false, apps::kBadUse,
                  "barnes_hut: --first-gets goes with --cache none (the built-in cache gets blocks, not "
                  "nodes): leave one of them out\n"};
    }
    options.force.bounds = options.check;
    return parsed;
}

}  // namespace nearfetch::barnes_hut

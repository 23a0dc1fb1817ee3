// SPDX-License-Identifier: Apache-2.0
#include "hash_table/options.hpp"

#include <CLI/CLI.hpp>

#include "common/validators.hpp"

namespace nearfetch::hash_table {

apps::Parsed parse_options(int argc, const char* const* argv, Options& options) {
    CLI::App app("Builds a hash table over all ranks and looks keys up, by MPI one-sided communication.",
                 "hash_table");
    constexpr std::uint64_t most = std::uint64_t{1} << 30;
    apps::add_number(app, "--keys", options.keys, 1, most, "in the table");
    app.add_option("--load", options.load, "keys over slots")
        ->check(apps::number_within(0.01, 0.95))
        ->capture_default_str();
    app.add_option("--skew", options.skew,
                   "a key is looked up in proportion to its place in popularity to minus this; 0: all alike")
        ->check(apps::number_within(0, 4))
        ->capture_default_str();
    app.add_option("--absent", options.absent,
                   "this many keys that are not in the table, over those that are, are looked up, too")
        ->check(apps::number_within(0, 1))
        ->capture_default_str();
    apps::add_number(app, "--lookups", options.lookups, 0, most, "of each rank in a round");
    apps::add_number(app, "--rounds", options.rounds, 1, most, "of look-ups");
    apps::add_number(app, "--changes", options.changes, 0, most,
                     "of values between two rounds, by all ranks together");
    apps::add_number(app, "--counter-every", options.counter_every, 0, most,
                     "look-ups of a rank add one to a counter that all share; 0: there is none");
    app.add_flag("--lock-free", options.lock_free,
                 "ranks store what they do not find while others look up, without any synchronisation; "
                 "--rounds, --changes and --counter-every mean nothing");
    app.add_option("--seed", options.seed, "of all that is left to chance")
        ->check(apps::whole_number())
        ->capture_default_str();
    apps::add_common_options(app, options.common);
    return apps::parse(app, argc, argv);
}

}  // namespace nearfetch::hash_table

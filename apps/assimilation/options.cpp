// SPDX-License-Identifier: Apache-2.0
#include "assimilation/options.hpp"

#include <CLI/CLI.hpp>

#include "common/validators.hpp"

namespace nearfetch::assimilation {

namespace {

/// A problem that no option has alone; empty if there is none.
std::string conflict(const Options& options) {
    // A rank's values and messages are counted in int.
    constexpr double most = 1 << 28;
    const std::string elements = "--elements " + std::to_string(options.elements);
    if (static_cast<double>(options.elements) * options.members > most)
        return elements + " is too many (members times elements are at most 2^28): give fewer of either";
    if (static_cast<double>(options.observations) * options.members > most)
        return "--observations " + std::to_string(options.observations) +
               " is too many (members times observations are at most 2^28): give fewer of either";
    if (options.span > options.elements)
        return "--span " + std::to_string(options.span) + " is too long (there are " +
               std::to_string(options.elements) + " elements): give at most as many";
    if (4 * options.cutoff > options.elements)
        return "--cutoff is too large (an observation would reach around the ring of " +
               std::to_string(options.elements) + " elements): give at most a quarter of them";
    return "";
}

}  // namespace

apps::Parsed parse_options(int argc, const char* const* argv, Options& options) {
    CLI::App app("Assimilates observations into an ensemble of model states, by MPI one-sided communication.",
                 "assimilation");
    apps::add_number(app, "--elements", options.elements, 4, 10'000'000, "of the state");
    apps::add_number(app, "--members", options.members, 2, 1000, "of the ensemble");
    apps::add_number(app, "--observations", options.observations, 1, 1'000'000, "in each cycle");
    apps::add_number(app, "--span", options.span, 1, 10'000'000,
                     "elements that an observation is the mean of");
    apps::add_number(app, "--cycles", options.cycles, 1, 1'000'000, "of model and observations");
    apps::add_number(app, "--steps", options.steps, 1, 1'000'000, "of the model in a cycle");
    app.add_option("--cutoff", options.cutoff,
                   "half the distance, in elements, from which on an observation changes nothing")
        ->check(apps::number_within(0.5, 1e6))
        ->capture_default_str();
    app.add_option("--error", options.error, "standard deviation of the observations' errors")
        ->check(apps::number_within(1e-3, 1e3))
        ->capture_default_str();
    app.add_option("--inflation", options.inflation,
                   "the ensembles' variances are multiplied by this before a cycle's observations")
        ->check(apps::number_within(1, 4))
        ->capture_default_str();
    apps::add_number(app, "--seed", options.seed, 0, 1'000'000, "of all that is left to chance");
    app.add_flag("!--no-check", options.check,
                 "leave out the serial run on rank 0 that the result is compared with");
    apps::add_common_options(app, options.common);
    apps::Parsed parsed = apps::parse(app, argc, argv);
    if (parsed.run) {
        const std::string problem = conflict(options);
        if (!problem.empty()) parsed = {false, apps::kBadUse, "assimilation: " + problem + "\n"};
    }
    return parsed;
}

}  // namespace nearfetch::assimilation

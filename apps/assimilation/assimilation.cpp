// SPDX-License-Identifier: Apache-2.0
//
// Ensemble data assimilation with the accesses of NCAR's Data Assimilation Research Testbed (DART). A model
// state is dealt out over ranks, element by element. In each cycle the model advances all members of an
// ensemble of states. Then each rank computes what its observations would be in each member, from elements
// all over the ranks: by a lock, a get and an unlock for each element. Then a filter takes the observations
// one after the other. All ranks hear of it, and move what they have nearby.
//
// Source: J. L. Anderson and N. Collins, *Scalable implementations of ensemble filter algorithms for data
// assimilation*, 2007. assimilation.f90 is the same program in Fortran. The results do not depend on the
// number of ranks, bit for bit. Rank 0 computes them again without communication, and compares.

#include <mpi.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <fstream>
#include <string>
#include <vector>

#include "assimilation/dealing.hpp"
#include "assimilation/filter.hpp"
#include "assimilation/model.hpp"
#include "assimilation/options.hpp"
#include "assimilation/reference.hpp"
#include "assimilation/shared_ensembles.hpp"
#include "common/mpi_support.hpp"
#include "common/progress.hpp"
#include "common/stopwatch.hpp"

namespace nearfetch::assimilation {
namespace {

/// The ensemble of item `i` in an order of ensembles.
std::span<double> part(std::vector<double>& ensembles, std::size_t i, int members) {
    const auto count = static_cast<std::size_t>(members);
    return {ensembles.data() + i * count, count};
}

/// The own members, advanced to the next cycle, in the order of members.
void advance_members(const Options& options, std::vector<double>& members) {
    const auto elements = static_cast<std::ptrdiff_t>(options.elements);
    for (auto begin = members.begin(); begin != members.end(); begin += elements) {
        std::vector<double> state(begin, begin + elements);
        advance(state, options.steps);
        std::copy(state.begin(), state.end(), begin);
    }
}

/// What this rank's observations would be in each member.
std::vector<double> observe_members(const Options& options, const Dealing& dealing,
                                    const std::vector<Observation>& observations, SharedEnsembles& shared) {
    const int own = dealing.own_count(options.observations);
    std::vector<double> priors(static_cast<std::size_t>(own) * static_cast<std::size_t>(options.members));
    for (std::size_t j = 0; j < observations.size(); ++j) {
        if (dealing.owner(static_cast<int>(j)) != dealing.rank()) continue;
        const std::span<double> prior = part(priors, dealing.local(static_cast<int>(j)), options.members);
        for (int i = 0; i < options.span; ++i) {
            const auto ensemble = shared.read((observations[j].first + i) % options.elements);
            for (std::size_t m = 0; m < prior.size(); ++m)
                prior[m] += ensemble[m];
        }
        for (double& value : prior)
            value /= options.span;
    }
    return priors;
}

/// The filter: one observation after the other, each by its owner. It moves elements and later observations.
void assimilate(const Options& options, const Dealing& dealing, const std::vector<Observation>& observations,
                std::vector<double>& priors, std::vector<double>& ensembles) {
    const Ring ring(options);
    Update update(options.members);
    for (int j = 0; j < options.observations; ++j) {
        const Observation& observation = observations[static_cast<std::size_t>(j)];
        const int owner = dealing.owner(j);
        if (owner == dealing.rank())
            update.compute(part(priors, dealing.local(j), options.members), observation.value,
                           options.error * options.error);
        MPI_Bcast(update.data().data(), static_cast<int>(update.data().size()), MPI_DOUBLE, owner,
                  MPI_COMM_WORLD);
        const double centre = ring.centre(observation);
        ring.for_each_in_reach(centre, [&](int element, double weight) {
            if (dealing.owner(element) == dealing.rank())
                update.regress(part(ensembles, dealing.local(element), options.members), weight);
        });
        for (int later = j + 1; later < options.observations; ++later) {
            if (dealing.owner(later) != dealing.rank()) continue;
            const double weight =
                ring.weight(centre, ring.centre(observations[static_cast<std::size_t>(later)]));
            if (weight > 0) update.regress(part(priors, dealing.local(later), options.members), weight);
        }
    }
}

/// What the program arrives at.
struct Outcome {
    std::vector<double> ensembles;  ///< of all elements; on rank 0
    double error = 0;               ///< of the ensemble's mean; on rank 0
    std::uint64_t remote_gets = 0;
    double communication_seconds = 0;  ///< of this rank's gets
    double total_seconds = 0;
};

Outcome run(const apps::MpiSession& mpi, const Options& options) {
    const Dealing dealing(mpi, options);
    Nature nature(options);
    std::vector<double> members;
    for (int m = mpi.rank(); m < options.members; m += mpi.ranks()) {
        const std::vector<double> state = first_member(options, m);
        members.insert(members.end(), state.begin(), state.end());
    }
    SharedEnsembles shared(dealing, options);
    std::vector<double> ensembles;
    apps::ProgressBar bar(options.common.progress && mpi.is_root(), "cycles",
                          static_cast<std::uint64_t>(options.cycles));
    apps::Stopwatch watch;
    MPI_Barrier(MPI_COMM_WORLD);
    watch.start();
    for (int cycle = 0; cycle < options.cycles; ++cycle) {
        nature.advance();
        const std::vector<Observation> observations = nature.observe(cycle);
        advance_members(options, members);
        ensembles = dealing.to_ensembles(members);
        for (int i = 0; i < dealing.own_count(options.elements); ++i)
            inflate(part(ensembles, static_cast<std::size_t>(i), options.members), options.inflation);
        shared.publish(ensembles);
        std::vector<double> priors = observe_members(options, dealing, observations, shared);
        assimilate(options, dealing, observations, priors, ensembles);
        members = dealing.to_members(ensembles);
        bar.advance();
    }
    watch.stop();
    Outcome outcome{dealing.gather(mpi, ensembles), 0, shared.remote_gets(), shared.seconds(),
                    watch.seconds()};
    if (mpi.is_root()) outcome.error = nature.error(outcome.ensembles);
    return outcome;
}

/// Compares rank 0's outcome with the serial run. Returns the program's exit status.
int check(const apps::MpiSession& mpi, const Options& options, const Outcome& outcome, apps::Report& report) {
    const Reference reference = run_serially(options);
    std::uint64_t wrong = 0;
    for (std::size_t i = 0; i < outcome.ensembles.size(); ++i)
        wrong += outcome.ensembles[i] != reference.ensembles[i];
    report.add("wrong", wrong);
    report.add("error_without_assimilation", reference.error_without);
    if (!std::isfinite(outcome.error)) {
        apps::complain(mpi, "assimilation",
                       "the filter diverged (its values are not finite): give less inflation or more "
                       "observations");
        return 1;
    }
    if (wrong != 0) {
        apps::complain(mpi, "assimilation",
                       std::to_string(wrong) + " values are wrong (the serial run has others): report it");
        return 1;
    }
    if (!(outcome.error < reference.error_without)) {
        apps::complain(mpi, "assimilation",
                       "the observations did not help (the mean's error is not below that without "
                       "assimilation): give more observations, members or inflation");
        return 1;
    }
    return 0;
}

int compute(const apps::MpiSession& mpi, const Options& options) {
    apps::check_infos(options.common.window.infos);
    std::ofstream json;
    if (!apps::root_succeeds(mpi, "assimilation", [&] { apps::open_output(json, options.common.json_path); }))
        return apps::kBadUse;
    const Outcome outcome = run(mpi, options);
    const std::uint64_t gets = apps::sum_over_ranks(outcome.remote_gets);
    const auto per_rank = apps::gather_at_root(mpi, std::vector{outcome.remote_gets});
    const double communication_seconds = apps::max_over_ranks(outcome.communication_seconds);
    const double total_seconds = apps::max_over_ranks(outcome.total_seconds);
    int code = 0;
    if (mpi.is_root()) {
        apps::Report report;
        report.add("ranks", mpi.ranks());
        report.add("elements", options.elements);
        report.add("members", options.members);
        report.add("observations", options.observations);
        report.add("cycles", options.cycles);
        report.add("digest", digest(outcome.ensembles));
        report.add("error", outcome.error);
        if (options.check) code = check(mpi, options, outcome, report);
        report.add("remote_gets", gets);
        report.add("remote_gets_per_rank", per_rank);
        report.add("communication_seconds", communication_seconds);
        report.add("total_seconds", total_seconds);
        code = std::max(code, apps::deliver("assimilation", report, json));
    }
    MPI_Bcast(&code, 1, MPI_INT, 0, MPI_COMM_WORLD);
    return code;
}

}  // namespace
}  // namespace nearfetch::assimilation

int main(int argc, char** argv) {
    using namespace nearfetch;
    return apps::run_program<assimilation::Options>(argc, argv, "assimilation", assimilation::parse_options,
                                                    assimilation::compute);
}

// SPDX-License-Identifier: Apache-2.0
//
// Gravity of many bodies by the method of Barnes and Hut, after paper 001, section IV-B. The octree is
// distributed over the ranks. In the force phase each rank walks it from the root for each of its bodies, and
// reads remote nodes by one-sided communication. Bodies close to each other visit almost the same nodes, so
// nodes are read repeatedly. The tree does not change in the force phase and is rebuilt in each step.
//
// A plain MPI program. Its only call to nearfetch, if that is loaded, invalidates the cache once per step.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <utility>

#include "barnes_hut/distributed_tree.hpp"
#include "barnes_hut/options.hpp"
#include "barnes_hut/plummer.hpp"
#include "common/compensated_sum.hpp"
#include "common/ideal_cache.hpp"
#include "common/mpi_support.hpp"
#include "common/progress.hpp"
#include "common/report.hpp"
#include "common/simulated_work.hpp"
#include "common/stopwatch.hpp"
#include "nearfetch/mpi.h"

namespace nearfetch::barnes_hut {
namespace {

/// Properties of a body after a force phase.
struct Sample {
    std::int64_t id;
    Vector acceleration;
    double energy;          ///< kinetic plus half of the potential
    double relative_error;  ///< of the acceleration; with --check
    double bound_share;     ///< error as a share of its bound; with --check
};

/// This rank's totals over all steps.
struct Account {
    double force_seconds = 0;
    std::uint64_t forces = 0;
    std::uint64_t visited_nodes = 0;
    std::uint64_t tree_nodes = 0;
};

/// Rank 0's totals over all steps.
class Results {
  public:
    /// Adds the samples of one step, of all ranks.
    void add_step(std::vector<Sample> samples) {
        std::sort(samples.begin(), samples.end(),
                  [](const Sample& a, const Sample& b) { return a.id < b.id; });
        apps::CompensatedSum energy;
        for (const Sample& sample : samples) {
            hash(&sample.id, sizeof sample.id);
            hash(sample.acceleration.data(), sizeof sample.acceleration);
            energy.add(sample.energy);
            squares_.add(sample.relative_error * sample.relative_error);
            worst_error = std::max(worst_error, sample.relative_error);
            worst_share = std::max(worst_share, sample.bound_share);
            // NaN counts too.
            if (!(sample.bound_share <= 1)) ++over_bound;
        }
        samples_ += samples.size();
        if (++steps_ == 1) first_energy = energy.value();
        last_energy = energy.value();
    }

    double rms_error() const {
        return std::sqrt(squares_.value() / static_cast<double>(std::max<std::uint64_t>(samples_, 1)));
    }
    std::string checksum() const {
        char text[17];
        std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(hash_));
        return text;
    }

    double first_energy = 0;
    double last_energy = 0;
    double worst_error = 0;
    double worst_share = 0;
    std::uint64_t over_bound = 0;

  private:
    /// FNV-1a, 64 bit.
    void hash(const void* data, std::size_t bytes) {
        for (const auto* byte = static_cast<const unsigned char*>(data); bytes-- != 0; ++byte) {
            hash_ = (hash_ ^ *byte) * 0x100000001b3U;
        }
    }

    std::uint64_t hash_ = 0xcbf29ce484222325U;
    apps::CompensatedSum squares_;
    std::uint64_t samples_ = 0;
    int steps_ = 0;
};

std::vector<Body> initial_bodies(const apps::MpiSession& mpi, const Options& options) {
    const std::int64_t first = options.bodies * mpi.rank() / mpi.ranks();
    const std::int64_t last = options.bodies * (mpi.rank() + 1) / mpi.ranks();
    std::vector<Body> bodies;
    for (std::int64_t id = first; id < last; ++id)
        bodies.push_back(plummer_body(options.seed, id, options.bodies));
    return bodies;
}

constexpr double node_ns = 40;  ///< what the walk takes for a node that is there, measured

/// Forces on the first `count` of this rank's bodies.
std::vector<Force> compute_forces(DistributedTree& tree, const std::vector<Body>& bodies, std::size_t count,
                                  const Options& options, bool progress, Account& account) {
    std::vector<Force> forces;
    forces.reserve(count);
    apps::ProgressBar bar(progress, "bodies of rank 0", count);
    TreeWalk walk(tree.reader(), tree.cube(), tree.root(), options.force);
    apps::Stopwatch watch;
    watch.start();
    MPI_Win_lock_all(0, tree.window().handle());
    for (std::size_t i = 0; i < count; ++i) {
        forces.push_back(walk.force_on(bodies[i].position, bodies[i].id));
        account.visited_nodes += forces.back().visited_nodes;
        apps::pass_simulated_time(node_ns * static_cast<double>(forces.back().visited_nodes));
        bar.advance();
    }
    MPI_Win_unlock_all(tree.window().handle());
    watch.stop();
    account.force_seconds += watch.seconds();
    account.forces += count;
    account.tree_nodes += tree.nodes();
    NEARFETCH_CALL(nearfetch_win_invalidate, (tree.window().handle()));
    // The tree is rebuilt in place: nobody may still read it.
    MPI_Barrier(MPI_COMM_WORLD);
    return forces;
}

/// Computes the error of a force against the sum over all bodies.
void check_force(const Body& body, const Force& force, const std::vector<Body>& all, double softening,
                 Sample& sample) {
    Force direct;
    double pulls = 0;
    for (const Body& other : all) {
        if (other.id == body.id) continue;
        add_pull(direct, body.position, other.position, other.mass, softening);
        double square = softening * softening;
        for (std::size_t k = 0; k < 3; ++k) {
            square += (other.position[k] - body.position[k]) * (other.position[k] - body.position[k]);
        }
        if (square > 0) pulls += other.mass / square;
    }
    double error = 0;
    double size = 0;
    for (std::size_t k = 0; k < 3; ++k) {
        error += std::pow(force.acceleration[k] - direct.acceleration[k], 2);
        size += std::pow(direct.acceleration[k], 2);
    }
    // Sums of doubles in different orders differ by rounding, by far less than this share of the summands.
    constexpr double kRounding = 1e-12;
    const double bound = force.error_bound + kRounding * pulls;
    sample.relative_error = size > 0 ? std::sqrt(error / size) : std::sqrt(error);
    sample.bound_share = error > 0 ? std::sqrt(error) / bound : 0;
}

double kinetic_energy(const Body& body, const Vector& velocity) {
    return body.mass / 2 *
           (velocity[0] * velocity[0] + velocity[1] * velocity[1] + velocity[2] * velocity[2]);
}

std::vector<Sample> advance(std::vector<Body>& bodies, const std::vector<Force>& forces, double time_step,
                            bool first) {
    std::vector<Sample> samples;
    const double catch_up = first ? 0 : time_step / 2;
    for (std::size_t i = 0; i < bodies.size(); ++i) {
        Body& body = bodies[i];
        if (i < forces.size()) {
            const Force& force = forces[i];
            const Vector now = moved(body.velocity, force.acceleration, catch_up);
            const double energy = kinetic_energy(body, now) + body.mass * force.potential / 2;
            samples.push_back({body.id, force.acceleration, energy, 0, 0});
            body.velocity = moved(now, force.acceleration, time_step / 2);
        }
        body.position = moved(body.position, body.velocity, time_step);
    }
    return samples;
}

void run_step(const apps::MpiSession& mpi, const Options& options, bool first, DistributedTree& tree,
              std::vector<Body>& bodies, Account& account, Results& results) {
    tree.rebuild(bodies);
    const std::size_t count =
        std::min<std::uint64_t>(bodies.size(), options.max_bodies.value_or(bodies.size()));
    const auto forces =
        compute_forces(tree, bodies, count, options, options.common.progress && mpi.is_root(), account);
    const std::vector<Body> before = options.check ? bodies : std::vector<Body>{};
    std::vector<Sample> samples = advance(bodies, forces, options.time_step, first);
    if (options.check) {
        const std::vector<Body> all = tree.gather_bodies(before);
        for (std::size_t i = 0; i < count; ++i) {
            check_force(before[i], forces[i], all, options.force.softening, samples[i]);
        }
    }
    samples = apps::gather_at_root(mpi, samples);
    if (mpi.is_root()) results.add_step(std::move(samples));
}

/// Sums over the ranks; collective.
apps::Report make_report(const apps::MpiSession& mpi, const Options& options, const Account& account,
                         const NodeReader& reader, const Results& results) {
    const ReadCounts& counts = reader.counts();
    const double seconds = apps::sum_over_ranks(account.force_seconds);
    const std::uint64_t forces = apps::sum_over_ranks(account.forces);
    apps::Report report;
    report.add("ranks", mpi.ranks());
    report.add("bodies", static_cast<std::uint64_t>(options.bodies));
    report.add("steps", options.steps);
    report.add("theta", options.force.theta);
    report.add("forces", forces);
    report.add("forces_per_rank", apps::gather_at_root(mpi, std::vector{account.forces}));
    report.add("remote_gets_per_rank", apps::gather_at_root(mpi, std::vector{counts.remote_gets}));
    report.add("tree_nodes", apps::sum_over_ranks(account.tree_nodes));
    report.add("visited_nodes", apps::sum_over_ranks(account.visited_nodes));
    report.add("remote_reads", apps::sum_over_ranks(counts.remote_reads));
    report.add("remote_gets", apps::sum_over_ranks(counts.remote_gets));
    report.add("remote_bytes", apps::sum_over_ranks(counts.remote_bytes));
    report.add("block_hits", apps::sum_over_ranks(counts.block_hits));
    report.add("block_misses", apps::sum_over_ranks(counts.block_misses));
    const bool complete =
        forces == static_cast<std::uint64_t>(options.bodies) * static_cast<std::uint64_t>(options.steps);
    if (complete) {
        report.add("energy", results.last_energy);
        const double change = results.last_energy - results.first_energy;
        report.add("energy_change",
                   results.first_energy != 0 ? change / std::abs(results.first_energy) : change);
    }
    report.add("checksum", results.checksum());
    if (options.check) {
        report.add("check_max_relative_error", results.worst_error);
        report.add("check_rms_relative_error", results.rms_error());
        report.add("check_max_share_of_bound", results.worst_share);
        report.add("check_over_bound", results.over_bound);
    }
    const auto of_body = [forces](double all) { return forces != 0 ? all / static_cast<double>(forces) : 0; };
    report.add("force_seconds_per_body", of_body(seconds));
    if (options.first_gets) {
        const std::uint64_t first_gets = apps::sum_over_ranks(counts.first_gets);
        report.add("first_gets", first_gets);
        report.add("first_get_bytes", first_gets * sizeof(Node));
        // Without nearfetch: what a cache without limit would leave, if its hits took no time.
        const double repeated = apps::sum_over_ranks(reader.repeated_seconds());
        report.add("first_get_seconds_per_body", of_body(seconds - repeated));
        const double saved = apps::sum_over_ranks(reader.ideal_saved_seconds());
        if (apps::IdealCache::is_known) report.add("ideal_cache_seconds_per_body", of_body(seconds - saved));
    }
    report.add("force_seconds", apps::max_over_ranks(account.force_seconds));
    report.add("communication_seconds", apps::max_over_ranks(reader.communication_seconds()));
    return report;
}

int simulate(const apps::MpiSession& mpi, const Options& options) {
    apps::check_infos(options.common.window.infos);
    std::ofstream json;
    if (!apps::root_succeeds(mpi, "barnes_hut", [&] { apps::open_output(json, options.common.json_path); })) {
        return apps::kBadUse;
    }
    apps::Stopwatch total;
    total.start();
    std::vector<Body> bodies = initial_bodies(mpi, options);
    DistributedTree tree(mpi, options.common.window, options.cache, options.first_gets);
    Account account;
    Results results;
    for (int step = 0; step < options.steps; ++step) {
        run_step(mpi, options, step == 0, tree, bodies, account, results);
    }
    total.stop();
    apps::Report report = make_report(mpi, options, account, tree.reader(), results);
    report.add("total_seconds", apps::max_over_ranks(total.seconds()));
    return mpi.is_root() ? apps::deliver("barnes_hut", report, json) : 0;
}

}  // namespace
}  // namespace nearfetch::barnes_hut

int main(int argc, char** argv) {
    using namespace nearfetch;
    return apps::run_program<barnes_hut::Options>(argc, argv, "barnes_hut", barnes_hut::parse_options,
                                                  barnes_hut::simulate);
}

// SPDX-License-Identifier: Apache-2.0
//
// miniMD (Mantevo's proxy application of molecular dynamics; Ferguson and Buettner 2015, section V-B): atoms
// with a Lennard-Jones potential in a periodic cube. Bins of atoms are distributed in blocks. In each step a
// rank computes the forces on its own atoms, and reads the positions of their neighbours, wherever they are.
// Every 20 steps atoms go to the bins where they are now, and neighbour lists are made again.
//
// The set-up is that of miniMD and of LAMMPS's benchmark: fcc crystal, density 0.8442, temperature 1.44,
// cutoff 2.5, lists up to 2.8, velocity Verlet (J. Chem. Phys. 76, 637, 1982).

#include <CLI/CLI.hpp>
#include <algorithm>
#include <bit>
#include <set>

#include "common/random.hpp"
#include "common/validators.hpp"
#include "pgas/minimd/data_file.hpp"
#include "pgas/minimd/thermodynamics.hpp"
#include "pgas/program.hpp"
#include "pgas/versions.hpp"

using namespace nearfetch;
using nearfetch::programs::Vector;
using namespace nearfetch::programs::minimd;

namespace {

constexpr int steps_per_list = 20;
/// Per atom, of a perfect crystal: LAMMPS prints these digits for any number of unit cells.
constexpr double crystal_potential = -6.7733681;
/// The most that the conserved energy per atom may change. Velocity Verlet with a time step of 0.005 changes
/// it by 0.0004, in 100 and in 1000 steps (docs/minimd.md).
constexpr double energy_tolerance = 0.002;

struct Options {
    std::int64_t cells = 10;
    int steps = 100;
    double timestep = 0.005;
    programs::Version version;
};

class Simulation {
  public:
    /// Collective. Ends with the forces and the state at the beginning.
    Simulation(const Options& options, const Crystal& crystal, const Bins& bins)
        : atoms(crystal, bins), forces(bins), thermodynamics(crystal, bins), options_(options) {
        prefetch();
        forces.list_neighbours(atoms);
        forces.compute(atoms);
        thermodynamics.measure(atoms, forces);
    }

    void run(const programs::Run& run) {
        for (int step = 1; step <= options_.steps; ++step) {
            accelerate();
            move();
            barrier();
            if (options_.version.is_manual()) atoms.position.update_prefetch();
            if (step % steps_per_list == 0) change_lists();
            forces.compute(atoms);
            options_.version.worked(run, std::ssize(forces.neighbours()));
            accelerate();
            if (step % steps_per_list == 0 || step == options_.steps) thermodynamics.measure(atoms, forces);
            barrier();  // all have read the positions
        }
    }

    Atoms atoms;
    Forces forces;
    Thermodynamics thermodynamics;

  private:
    void prefetch() {
        if (!options_.version.is_prefetched()) return;
        const Stencil halo{.depth = atoms.bins().depth(), .periodic = true};
        atoms.count.prefetch_stencil(halo, options_.version.prefetch());
        atoms.position.prefetch_stencil(halo, options_.version.prefetch());
    }
    void change_lists() {
        atoms.migrate();
        if (options_.version.is_manual()) {
            atoms.count.update_prefetch();
            atoms.position.update_prefetch();
        }
        forces.list_neighbours(atoms);
    }
    /// By half a step.
    void accelerate() {
        const Vector* force = forces.on_atoms().data();
        atoms.for_each_own(
            [&](const Index<4>& slot) { *atoms.velocity.own(slot) += 0.5 * options_.timestep * *force++; });
    }
    void move() {
        atoms.for_each_own([&](const Index<4>& slot) {
            *atoms.position.own(slot) += options_.timestep * atoms.velocity.read(slot);
        });
    }

    const Options& options_;
};

/// Of the own atoms.
std::uint64_t checksum(const Atoms& atoms) {
    std::uint64_t sum = 0;
    atoms.for_each_own([&](const Index<4>& slot) {
        auto of_atom = static_cast<std::uint64_t>(atoms.id[slot]);
        for (const Vector& v : {atoms.position[slot], atoms.velocity[slot]})
            for (const double component : {v.x, v.y, v.z})
                of_atom = apps::mixed(of_atom ^ std::bit_cast<std::uint64_t>(component));
        sum += of_atom;
    });
    return sum;
}

double drift(const std::vector<State>& states) {
    double most = 0;
    for (const State& state : states)
        most = std::max(most, std::abs(state.conserved - states.front().conserved));
    return most;
}

bool is_right(const std::vector<State>& states, const Crystal& crystal) {
    const auto atoms = static_cast<double>(crystal.atoms());
    const auto is_whole = [&](const State& state) {
        return state.atoms == atoms && state.momentum < 1e-9 * atoms;
    };
    return std::ranges::all_of(states, is_whole) && drift(states) < energy_tolerance &&
           std::abs(states.front().potential - crystal_potential) < 5e-8 &&
           std::abs(states.front().temperature - Crystal::temperature) < 1e-9;
}

void note(programs::Run& run, const std::string& when, const State& state) {
    run.note(when + "_temperature", state.temperature);
    run.note(when + "_pressure", state.pressure);
    run.note(when + "_potential", state.potential);
    run.note(when + "_total", state.total);
}

/// Remote positions that the last lists have, in one message per owner and step. The lists before have about
/// as many.
programs::LeastTraffic least_traffic(const Simulation& simulation, int steps) {
    const auto& positions = simulation.atoms.position;
    std::set<Index<4>> remote;
    std::set<Rank> owners;
    for (const Neighbour& neighbour : simulation.forces.neighbours()) {
        if (positions.own(neighbour.slot) != nullptr || !remote.insert(neighbour.slot).second) continue;
        owners.insert(positions.owner(neighbour.slot));
    }
    const auto times = static_cast<std::uint64_t>(steps);
    return {.get_messages = times * owners.size(), .get_bytes = times * sizeof(Vector) * remote.size()};
}

void add_options(CLI::App& app, Options& options, std::string& data_path) {
    apps::add_number(app, "--size", options.cells, 1, 500, "of the cube, in unit cells of 4 atoms");
    apps::add_number(app, "--steps", options.steps, 1, 1'000'000, "of time");
    app.add_option("--timestep", options.timestep, "in units of the potential")
        ->check(apps::number_within(1e-6, 0.02))
        ->capture_default_str();
    app.add_option("--write-data", data_path, "write the first state to this file, which LAMMPS reads")
        ->type_name("FILE");
    options.version.add_options(app, {.by_hand = false});
}

}  // namespace

int main(int argc, char** argv) {
    programs::Program program("minimd", "Simulates atoms with a Lennard-Jones potential.");
    Options options;
    std::string data_path;
    add_options(program.options(), options, data_path);
    return program.run(argc, argv, [&](programs::Run& run) {
        const Crystal crystal(options.cells);
        if (rank() == 0 && !data_path.empty()) write_data(crystal, data_path);
        Simulation simulation(options, crystal, Bins(crystal, options.cells));

        run.begin();
        simulation.run(run);
        run.end();

        const std::vector<State>& states = simulation.thermodynamics.states();
        run.result(checksum(simulation.atoms), rank() != 0 || is_right(states, crystal));
        options.version.note(run);
        run.least(least_traffic(simulation, options.steps));
        if (rank() != 0) return;
        run.note("atoms", static_cast<std::uint64_t>(crystal.atoms()));
        note(run, "first", states.front());
        note(run, "last", states.back());
        run.note("energy_drift", drift(states));
    });
}

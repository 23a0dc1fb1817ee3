// SPDX-License-Identifier: Apache-2.0
//
// LULESH 2.0, the Livermore unstructured Lagrangian explicit shock hydrodynamics benchmark (LLNL-TR-641973;
// Ferguson and Buettner 2015, section V-B): a blast at the corner of a cube of gas (Sedov's problem). A mesh
// of hexahedra moves with the gas. Its arrays are distributed in blocks, and found by indices that are data:
// an element's nodes and neighbours, and the nodes on planes of symmetry. A rank loops over the elements or
// nodes that it owns, and reads and writes other ranks' element by element, as Chapel's LULESH does. Barriers
// stand where a loop needs what other ranks have written.

#include <CLI/CLI.hpp>
#include <set>

#include "common/validators.hpp"
#include "pgas/arrays.hpp"
#include "pgas/lulesh/checks.hpp"
#include "pgas/lulesh/forces.hpp"
#include "pgas/lulesh/motion.hpp"
#include "pgas/lulesh/time_step.hpp"
#include "pgas/program.hpp"

using namespace nearfetch;

namespace {

void add_options(CLI::App& app, lulesh::Options& options) {
    auto* const size = app.add_option("--size", options.size, "elements along each edge of the cube")
                           ->check(CLI::Range(std::int64_t{2}, std::int64_t{200}))
                           ->capture_default_str();
    app.add_option("--mesh", options.mesh, "the mesh, as Chapel's LULESH reads it; default: a cube")
        ->type_name("FILE")
        ->excludes(size);
    apps::add_number(app, "--cycles", options.cycles, 0, std::int64_t{1} << 30,
                     "end after so many; 0: at LULESH's stop time");
    app.add_option("--forces", options.forces,
                   "elements add to nodes twice (atomic) or once (combine), or nodes read elements (gather)")
        ->check(CLI::IsMember({"atomic", "combine", "gather"}))
        ->capture_default_str();
    options.atomics.add_option(app);
    app.add_option("--energy", options.energy, "of the origin; 0: 3.948746e7, for a cube times (size / 45)^3")
        ->check(apps::number_within(0, 1e12))
        ->capture_default_str();
    app.add_option("--first-step", options.first_step, "in time; 0: by energy and volume, for a file 1e-7")
        ->check(apps::number_within(0, 1e-2))
        ->capture_default_str();
    apps::add_number(app, "--work-ns", options.work_ns, 0, std::uint64_t{1'000'000},
                     "what a cycle computes for an element takes, in virtual time");
}

/// Positions and velocities of the remote nodes of own elements change in each cycle.
programs::LeastTraffic least_traffic(const lulesh::Domain& domain, const lulesh::Mesh& mesh,
                                     std::int64_t cycles) {
    std::set<std::int64_t> nodes;
    std::set<Rank> owners;
    lulesh::for_each_own(domain.nodes, [&](std::int64_t e) {
        for (const std::int64_t node : mesh.nodes[static_cast<std::size_t>(e)]) {
            if (domain.node_mass.own({node}) != nullptr) continue;
            nodes.insert(node);
            owners.insert(domain.node_mass.owner({node}));
        }
    });
    const auto times = static_cast<std::uint64_t>(cycles);
    return {.get_messages = times * owners.size(), .get_bytes = times * nodes.size() * 6 * sizeof(double)};
}

lulesh::Clock simulate(lulesh::Domain& domain, const lulesh::Options& options, double first_step,
                       const programs::Run& run) {
    lulesh::Clock clock(first_step);
    const auto own_elements = static_cast<std::uint64_t>(domain.nodes.local().size());
    while (!clock.is_over() && (options.cycles == 0 || clock.cycles() < options.cycles)) {
        clock.advance();
        find_forces(domain, options);
        move_nodes(domain, clock.step());
        find_strains(domain, clock.step());
        find_viscosity(domain);
        find_state(domain);
        clock.find_limits(domain);
        if (run.virtual_time()) compute(options.work_ns * own_elements);
    }
    return clock;
}

/// Reports the results. \return whether they are right
bool report(programs::Run& run, const lulesh::Domain& domain, const lulesh::Options& options,
            std::int64_t cycles) {
    const double energy = domain.energy(domain.origin);
    const lulesh::Asymmetry asymmetry =
        options.mesh.empty() ? lulesh::asymmetry_of(domain.energy, options.size) : lulesh::Asymmetry();
    run.note("forces", options.forces);
    run.note("elements", static_cast<std::uint64_t>(domain.elements));
    run.note("nodes", static_cast<std::uint64_t>(domain.nodes_in_all));
    run.note("cycles", static_cast<std::uint64_t>(cycles));
    run.note("atomics", domain.atomics);
    run.note("origin_energy", lulesh::printed(energy));
    run.note("max_abs_difference", asymmetry.largest);
    run.note("total_abs_difference", asymmetry.sum);
    run.note("max_relative_difference", asymmetry.largest_relative);
    return is_right(options, cycles, energy, asymmetry);
}

}  // namespace

int main(int argc, char** argv) {
    programs::Program program("lulesh",
                              "Shock hydrodynamics of a blast on an unstructured mesh (LULESH 2.0).");
    lulesh::Options options;
    add_options(program.options(), options);
    lulesh::Mesh mesh;
    const auto read = [&] {
        mesh = options.mesh.empty() ? lulesh::cube_mesh(options.size) : lulesh::read_mesh(options.mesh);
    };
    const auto main = [&](programs::Run& run) {
        lulesh::Domain domain(mesh, options);
        const double first_step = options.first_step_for(domain.first_volume(domain.origin));

        run.begin();
        const lulesh::Clock clock = simulate(domain, options, first_step, run);
        run.end();

        const bool right = rank() != 0 || report(run, domain, options, clock.cycles());
        run.result(programs::checksum(domain.energy) + programs::checksum(domain.position.x), right);
        run.least(least_traffic(domain, mesh, clock.cycles()));
    };
    return program.run(argc, argv, main, read);
}

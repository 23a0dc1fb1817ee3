// SPDX-License-Identifier: Apache-2.0
#include "pgas/lulesh/forces.hpp"

namespace nearfetch::lulesh {

namespace {

constexpr std::size_t mode_count = 4;
/// The hourglass modes: velocities of the corners that change no volume (Flanagan and Belytschko, *A uniform
/// strain hexahedron and quadrilateral with orthogonal hourglass control*, 1981, table 1).
constexpr std::array<std::array<double, corner_count>, mode_count> modes{{{1, 1, -1, -1, -1, -1, 1, 1},
                                                                          {1, -1, -1, 1, -1, 1, 1, -1},
                                                                          {1, -1, 1, -1, 1, -1, 1, -1},
                                                                          {-1, 1, -1, 1, 1, -1, 1, -1}}};

/// The forces against an element's hourglass modes.
Corners hourglass_forces(const Corners& at, const Corners& velocities, double volume, double strength) {
    const Corners gradient = volume_gradient_of(at);
    Corners forces{};
    for (const auto& mode : modes) {
        Vector in_positions;
        for (std::size_t corner = 0; corner < corner_count; ++corner)
            in_positions += mode[corner] * at[corner];
        // The mode without what it has of a uniform strain.
        std::array<double, corner_count> pure;
        Vector in_velocities;
        for (std::size_t corner = 0; corner < corner_count; ++corner) {
            pure[corner] = mode[corner] - dot(gradient[corner], in_positions) / volume;
            in_velocities += pure[corner] * velocities[corner];
        }
        for (std::size_t corner = 0; corner < corner_count; ++corner)
            forces[corner] += strength * pure[corner] * in_velocities;
    }
    return forces;
}

void add_to_nodes(Domain& d, const Options& options, std::int64_t element, const Corners& forces) {
    const Nodes nodes = d.nodes(element);
    d.atomics += 3 * corner_count;
    for (std::size_t corner = 0; corner < corner_count; ++corner) {
        const std::int64_t node = nodes[corner];
        options.atomics.add(&d.force.x(node), forces[corner].x);
        options.atomics.add(&d.force.y(node), forces[corner].y);
        options.atomics.add(&d.force.z(node), forces[corner].z);
    }
}

Vector kept_force(const CornerForces& from, std::int64_t element, std::size_t corner) {
    return {from.x(element, corner), from.y(element, corner), from.z(element, corner)};
}

void add_stress(Domain& d, const Options& options) {
    for_each_own(d.nodes, [&](std::int64_t e) {
        const Corners at = corners_of(d.position, d.nodes(e));
        const double volume = shape_gradient(at).volume;
        if (volume <= 0) fail_volume(e, volume);
        const double push = d.pressure(e) + d.viscosity(e);
        Corners forces = corner_normals(at);
        for (Vector& force : forces)
            force = push * force;
        start_element_forces(d, options, e);
        add_corner_forces(d, options, e, forces);
    });
}

void add_hourglass_control(Domain& d, const Options& options) {
    for_each_own(d.nodes, [&](std::int64_t e) {
        const Nodes nodes = d.nodes(e);
        const double volume = d.first_volume(e) * d.volume(e);
        if (volume <= 0) fail_volume(e, d.volume(e));
        const double strength =
            -hourglass_coefficient * 0.01 * d.sound_speed(e) * d.mass(e) / std::cbrt(volume);
        add_corner_forces(
            d, options, e,
            hourglass_forces(corners_of(d.position, nodes), corners_of(d.velocity, nodes), volume, strength));
    });
}

}  // namespace

void start_element_forces(Domain& d, const Options& options, std::int64_t element) {
    if (!options.keeps_corner_forces()) return;
    for (std::size_t corner = 0; corner < corner_count; ++corner) {
        d.corner_forces.x(element, corner) = 0;
        d.corner_forces.y(element, corner) = 0;
        d.corner_forces.z(element, corner) = 0;
    }
}

void add_corner_forces(Domain& d, const Options& options, std::int64_t element, const Corners& forces) {
    if (!options.keeps_corner_forces()) return add_to_nodes(d, options, element, forces);
    for (std::size_t corner = 0; corner < corner_count; ++corner) {
        d.corner_forces.x(element, corner) += forces[corner].x;
        d.corner_forces.y(element, corner) += forces[corner].y;
        d.corner_forces.z(element, corner) += forces[corner].z;
    }
}

void finish_forces(Domain& d, const Options& options) {
    if (options.keeps_corner_forces() && !options.gathers())
        for_each_own(d.nodes, [&](std::int64_t e) {
            Corners forces;
            for (std::size_t corner = 0; corner < corner_count; ++corner)
                forces[corner] = kept_force(d.corner_forces, e, corner);
            add_to_nodes(d, options, e, forces);
        });
    barrier();
    if (!options.gathers()) return;
    const CornerForces& from = d.corner_forces;
    for_each_own(d.node_mass, [&](std::int64_t node) {
        Vector sum;
        for (std::int64_t i = from.first(node); i < from.end(node); ++i) {
            const std::int64_t corner = from.corners(i);
            sum += kept_force(from, corner / 8, static_cast<std::size_t>(corner % 8));
        }
        d.force.set(node, sum);
    });
}

void find_forces(Domain& d, const Options& options) {
    for_each_own(d.node_mass, [&](std::int64_t node) { d.force.set(node, {}); });
    barrier();
    add_stress(d, options);
    add_hourglass_control(d, options);
    finish_forces(d, options);
}

}  // namespace nearfetch::lulesh

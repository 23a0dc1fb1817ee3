// SPDX-License-Identifier: Apache-2.0
#include "pgas/lulesh/motion.hpp"

namespace nearfetch::lulesh {

namespace {

/// Zero, if it is less than what counts.
double without_dust(double speed) { return std::abs(speed) < least_velocity ? 0 : speed; }

/// The nodes of a set do not accelerate in that direction. They may be any rank's.
void hold(const Indices& fixed, Field& acceleration) {
    for_each_own(fixed, [&](std::int64_t i) { acceleration(fixed(i)) = 0; });
}

}  // namespace

void move_nodes(Domain& d, double step) {
    for_each_own(d.node_mass, [&](std::int64_t node) {
        d.acceleration.set(node, {d.force.x(node) / d.node_mass(node), d.force.y(node) / d.node_mass(node),
                                  d.force.z(node) / d.node_mass(node)});
    });
    barrier();
    hold(d.fixed_in_x, d.acceleration.x);
    hold(d.fixed_in_y, d.acceleration.y);
    hold(d.fixed_in_z, d.acceleration.z);
    barrier();
    for_each_own(d.node_mass, [&](std::int64_t node) {
        const Vector faster = d.velocity(node) + step * d.acceleration(node);
        const Vector velocity{without_dust(faster.x), without_dust(faster.y), without_dust(faster.z)};
        d.velocity.set(node, velocity);
        d.position.set(node, d.position(node) + step * velocity);
    });
    barrier();
}

void find_strains(Domain& d, double step) {
    for_each_own(d.nodes, [&](std::int64_t e) {
        const Nodes nodes = d.nodes(e);
        Corners at = corners_of(d.position, nodes);
        const Corners velocities = corners_of(d.velocity, nodes);
        const double size = volume_of(at);
        const double relative = size / d.first_volume(e);
        if (relative <= 0) fail_volume(e, relative);
        d.new_volume(e) = relative;
        d.volume_step(e) = relative - d.volume(e);
        d.length(e) = characteristic_length(at, size);

        for (std::size_t corner = 0; corner < corner_count; ++corner)
            at[corner] = at[corner] - 0.5 * step * velocities[corner];
        const ShapeGradient half_way = shape_gradient(at);
        static constexpr std::array<std::size_t, 4> opposite{6, 7, 4, 5};
        Vector rate;
        for (std::size_t corner = 0; corner < opposite.size(); ++corner) {
            const Vector& gradient = half_way.of[corner];
            const Vector apart = velocities[corner] - velocities[opposite[corner]];
            rate += {gradient.x * apart.x, gradient.y * apart.y, gradient.z * apart.z};
        }
        d.expansion(e) = (rate.x + rate.y + rate.z) / half_way.volume;
    });
}

}  // namespace nearfetch::lulesh

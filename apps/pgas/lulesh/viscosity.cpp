// SPDX-License-Identifier: Apache-2.0
//
// The monotonic artificial viscosity (Christensen, *Godunov methods on a staggered mesh: an improved
// artificial viscosity*, UCRL-JC-105269, 1990): it vanishes where the velocity's gradient is as steep as the
// neighbours'.

#include <algorithm>

#include "pgas/lulesh/motion.hpp"

namespace nearfetch::lulesh {

namespace {

struct Gradient {
    double velocity, size;
};

/// Along the direction across which the other two edges stand.
Gradient gradient_along(const Vector& one, const Vector& other, const Vector& velocity, double volume) {
    const Vector area = cross(one, other);
    return {dot((1 / (volume + tiny)) * area, velocity), volume / std::sqrt(dot(area, area) + tiny)};
}

void find_gradients(Domain& d) {
    for_each_own(d.nodes, [&](std::int64_t e) {
        const Nodes nodes = d.nodes(e);
        const Edges at = edges_of(corners_of(d.position, nodes));
        const Edges velocity = edges_of(corners_of(d.velocity, nodes));
        const double volume = d.first_volume(e) * d.new_volume(e);
        const Gradient xi = gradient_along(at.eta, at.zeta, velocity.xi, volume);
        const Gradient eta = gradient_along(at.zeta, at.xi, velocity.eta, volume);
        const Gradient zeta = gradient_along(at.xi, at.eta, velocity.zeta, volume);
        d.velocity_gradient.set(e, {xi.velocity, eta.velocity, zeta.velocity});
        d.size_along.set(e, {xi.size, eta.size, zeta.size});
    });
}

/// An element's velocity gradient along one direction, and what is on both sides.
class Limiter {
  public:
    Limiter(const Field& gradients, std::int64_t element, const Boundaries& boundaries,
            const std::array<std::int64_t, side_count>& neighbours)
        : gradients_(gradients), own_(gradients(element)), boundaries_(boundaries), neighbours_(neighbours) {}

    /// How smooth it is: 0 to 1.
    double smoothness(Side below, Side above) const {
        const double by_own = 1 / (own_ + tiny);
        const double before = beside(below) * by_own;
        const double behind = beside(above) * by_own;
        const double least =
            std::min({0.5 * (before + behind), limiter_slope * before, limiter_slope * behind});
        return std::clamp(least, 0.0, 1.0);
    }
    double own() const { return own_; }

  private:
    double beside(Side side) const {
        switch (boundaries_[side]) {
            case Boundary::inside:
                return gradients_(neighbours_[side]);
            case Boundary::symmetry:
                return own_;
            default:
                return 0;
        }
    }

    const Field& gradients_;
    double own_;
    const Boundaries& boundaries_;
    const std::array<std::int64_t, side_count>& neighbours_;
};

void find_parts(Domain& d) {
    for_each_own(d.nodes, [&](std::int64_t e) {
        const Boundaries boundaries = d.boundaries(e);
        const std::array<std::int64_t, side_count> neighbours = d.neighbours(e);
        double linear = 0;
        double quadratic = 0;
        const auto add = [&](const Field& gradients, double size, Side below, Side above) {
            const Limiter limiter(gradients, e, boundaries, neighbours);
            const double smooth = limiter.smoothness(below, above);
            const double jump = std::min(limiter.own() * size, 0.0);
            linear += jump * (1 - smooth);
            quadratic += jump * jump * (1 - smooth * smooth);
        };
        add(d.velocity_gradient.x, d.size_along.x(e), xi_minus, xi_plus);
        add(d.velocity_gradient.y, d.size_along.y(e), eta_minus, eta_plus);
        add(d.velocity_gradient.z, d.size_along.z(e), zeta_minus, zeta_plus);
        const bool expands = d.expansion(e) > 0;
        const double density = d.mass(e) / (d.first_volume(e) * d.new_volume(e));
        d.linear_part(e) = expands ? 0 : -linear_viscosity * density * linear;
        d.quadratic_part(e) = expands ? 0 : quadratic_viscosity * density * quadratic;
    });
}

}  // namespace

void find_viscosity(Domain& d) {
    find_gradients(d);
    barrier();
    find_parts(d);
}

}  // namespace nearfetch::lulesh

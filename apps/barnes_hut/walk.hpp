// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "barnes_hut/octree.hpp"

namespace nearfetch::barnes_hut {

/// Parameters of a force computation.
struct ForceOptions {
    double theta = 0.5;      ///< a cell of side s at distance d stands for its bodies when s < theta * d
    double softening = 0.0;  ///< length; keeps close pairs finite
    bool bounds = false;     ///< also compute an error bound
};

/// The attraction of one body by all others.
struct Force {
    Vector acceleration{};
    double potential = 0;
    double error_bound = 0;  ///< of the acceleration, see below; only with ForceOptions::bounds
    std::uint64_t visited_nodes = 0;
};

/// Adds the pull of `mass` at `source` on `target`; Plummer softening.
inline void add_pull(Force& force, const Vector& target, const Vector& source, double mass,
                     double softening) {
    Vector way{};
    double square = softening * softening;
    for (std::size_t k = 0; k < 3; ++k) {
        way[k] = source[k] - target[k];
        square += way[k] * way[k];
    }
    if (square == 0) return;  // unsoftened bodies at one position: no direction
    const double inverse = 1 / std::sqrt(square);
    const double scale = mass * inverse * inverse * inverse;
    for (std::size_t k = 0; k < 3; ++k)
        force.acceleration[k] += scale * way[k];
    force.potential -= mass * inverse;
}

/// Walks the tree from the root (paper 001, section IV-B). A distant cell acts as a point in its centre of
/// mass; any other is opened. Children come in octant order, so the sum does not depend on how nodes are
/// read.
///
/// The error bound of a cell of mass m, whose bodies lie within b of their centre of mass at distance d > b,
/// is m/d^2 (3 x^2 - 2 x^3) / (1 - x)^2 with x = b/d: J. Salmon and M. Warren, *Skeletons from the treecode
/// closet*, 1994, for moments up to the dipole, with all mass at distance b. Here b is the distance to the
/// cell's farthest corner. The bound holds with softening: the softened potential is 1/distance in one more
/// dimension, in which the target is offset by the softening length. The bound diverges towards theta =
/// 1/sqrt(3).
///
/// @tparam Reader has `const Node& read(Ref)`; the reference stays valid until the next call
template <typename Reader>
class TreeWalk {
  public:
    TreeWalk(Reader& reader, const RootCube& cube, Ref root, const ForceOptions& options)
        : reader_(reader), cube_(cube), root_(root), options_(options) {}

    /// The force on the body `id` at `position`.
    Force force_on(const Vector& position, std::int64_t id) {
        Force force;
        open_.clear();
        open_.push_back({root_, 0, cube_.centre()});
        while (!open_.empty()) {
            const Open cell = open_.back();
            open_.pop_back();
            const Node& node = reader_.read(cell.ref);
            ++force.visited_nodes;
            if (node.is_leaf()) {
                if (node.body != id) add_pull(force, position, node.position, node.mass, options_.softening);
                if (node.child[0].exists()) open_.push_back({node.child[0], cell.level, cell.centre});
            } else if (is_far(node, cell, position)) {
                add_pull(force, position, node.position, node.mass, options_.softening);
                if (options_.bounds) force.error_bound += error_bound(node, cell, position);
            } else {
                push_children(node, cell);
            }
        }
        return force;
    }

  private:
    struct Open {
        Ref ref;
        int level;
        Vector centre;  ///< of the cube, not of the mass
    };

    double side(int level) const { return std::ldexp(cube_.side, -level); }

    bool is_far(const Node& node, const Open& cell, const Vector& position) const {
        const double length = side(cell.level);
        double square = 0;
        bool inside = true;
        for (std::size_t k = 0; k < 3; ++k) {
            square += (node.position[k] - position[k]) * (node.position[k] - position[k]);
            inside = inside && std::abs(position[k] - cell.centre[k]) <= length / 2;
        }
        return !inside && length * length < options_.theta * options_.theta * square;
    }

    double error_bound(const Node& node, const Open& cell, const Vector& position) const {
        double corner = 0;
        double distance = 0;
        for (std::size_t k = 0; k < 3; ++k) {
            const double reach = std::abs(node.position[k] - cell.centre[k]) + side(cell.level) / 2;
            corner += reach * reach;
            distance += (node.position[k] - position[k]) * (node.position[k] - position[k]);
        }
        const double x = std::sqrt(corner / distance);
        if (x >= 1) return std::numeric_limits<double>::infinity();
        return node.mass / distance * (3 * x * x - 2 * x * x * x) / ((1 - x) * (1 - x));
    }

    void push_children(const Node& node, const Open& cell) {
        const double quarter = side(cell.level) / 4;
        for (int octant = 7; octant >= 0; --octant) {
            if (!node.child[octant].exists()) continue;
            Open child{node.child[octant], cell.level + 1, cell.centre};
            for (std::size_t k = 0; k < 3; ++k)
                child.centre[k] += (octant >> k & 1) != 0 ? quarter : -quarter;
            open_.push_back(child);
        }
    }

    Reader& reader_;
    RootCube cube_;
    Ref root_;
    ForceOptions options_;
    std::vector<Open> open_;
};

}  // namespace nearfetch::barnes_hut

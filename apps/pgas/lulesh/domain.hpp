// SPDX-License-Identifier: Apache-2.0
#pragma once

// The state of a run: distributed arrays of elements and of nodes, each in blocks. Elements and nodes have
// blocks of their own, so a rank's elements have nodes of other ranks.

#include <nearfetch/array.hpp>

#include "pgas/lulesh/hexahedron.hpp"
#include "pgas/lulesh/mesh.hpp"
#include "pgas/lulesh/problem.hpp"

namespace nearfetch::lulesh {

using Field = BlockArray<double, 1>;
using Indices = BlockArray<std::int64_t, 1>;

struct VectorField {
    explicit VectorField(std::int64_t size) : x({size}), y({size}), z({size}) {}

    Vector operator()(std::int64_t i) const { return {x(i), y(i), z(i)}; }
    void set(std::int64_t i, const Vector& value) {
        x(i) = value.x;
        y(i) = value.y;
        z(i) = value.z;
    }

    Field x, y, z;
};

/// What an element is next to on a Side.
enum class Boundary : std::uint8_t { inside, symmetry, free };
using Boundaries = std::array<Boundary, 8>;  ///< by Side; 8 bytes

/// For `gather` and `combine`: the forces of each element's corners, and which corners a node has.
struct CornerForces {
    CornerForces(const Mesh& mesh, std::int64_t elements, std::int64_t nodes);

    BlockArray<double, 2> x, y, z;  ///< (element, corner), distributed as elements
    Indices first, end;             ///< of a node's corners in `corners`
    Indices corners;                ///< 8 * element + corner, in ascending order for each node
};

struct Domain {
    /// Fills all arrays. Collective.
    Domain(const Mesh& mesh, const Options& options);

    std::int64_t elements, nodes_in_all;

    // Of elements.
    BlockArray<Nodes, 1> nodes;
    BlockArray<std::array<std::int64_t, side_count>, 1> neighbours;
    BlockArray<Boundaries, 1> boundaries;
    Field energy, pressure, viscosity;
    Field linear_part, quadratic_part;      ///< of the viscosity
    Field volume, new_volume, volume_step;  ///< relative to first_volume
    Field first_volume, mass;
    Field expansion;  ///< the volume's rate of change, by the volume
    Field length;     ///< characteristic
    Field sound_speed;
    VectorField velocity_gradient;  ///< along xi, eta and zeta
    VectorField size_along;         ///< the same

    // Of nodes.
    VectorField position, velocity, acceleration, force;
    Field node_mass;
    Indices fixed_in_x, fixed_in_y, fixed_in_z;  ///< nodes on planes of symmetry
    CornerForces corner_forces;                  ///< empty for `atomic`

    std::int64_t origin = 0;  ///< the element that the energy is put in

    std::uint64_t atomics = 0;  ///< additions to nodes by this rank

  private:
    void fill(const Mesh& mesh);
    void find_boundaries(const Mesh& mesh);
    void find_origin();
    void find_masses(const Options& options);
};

/// Calls visit(i) for each index that this rank owns.
template <class T, class Visit>
void for_each_own(const BlockArray<T, 1>& array, Visit&& visit) {
    const Box<1> own = array.own_box();
    for (std::int64_t i = own.lower[0]; i < own.upper[0]; ++i)
        visit(i);
}

/// The values at an element's corners.
inline Corners corners_of(const VectorField& field, const Nodes& nodes) {
    Corners values;
    for (std::size_t corner = 0; corner < corner_count; ++corner)
        values[corner] = field(nodes[corner]);
    return values;
}

/// Throws the error of an element that has lost its volume.
[[noreturn]] void fail_volume(std::int64_t element, double volume);

}  // namespace nearfetch::lulesh

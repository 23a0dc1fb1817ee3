// SPDX-License-Identifier: Apache-2.0
#pragma once

// Geometry of one element. Corners 0 to 3 go around the face below (towards lower zeta), 4 to 7 are above
// them. From corner 0, xi grows towards 1, eta towards 3 and zeta towards 4.

#include <array>
#include <cmath>
#include <cstdint>

#include "pgas/vector.hpp"

namespace nearfetch::lulesh {

using programs::Vector;

inline constexpr std::size_t corner_count = 8;

/// A point, velocity or force of each corner.
using Corners = std::array<Vector, corner_count>;
/// The nodes of an element.
using Nodes = std::array<std::int64_t, corner_count>;
/// The corners of a face, around it.
using Face = std::array<std::size_t, 4>;

/// Faces towards lower and higher xi, eta and zeta.
enum Side : std::size_t { xi_minus, xi_plus, eta_minus, eta_plus, zeta_minus, zeta_plus };
inline constexpr std::size_t side_count = 6;
/// By Side, clockwise seen from outside.
inline constexpr std::array<Face, side_count> faces{
    {{3, 7, 4, 0}, {1, 5, 6, 2}, {0, 4, 5, 1}, {2, 6, 7, 3}, {0, 1, 2, 3}, {4, 7, 6, 5}}};

/// The exact volume of an element with ruled faces (Grandy, *Efficient computation of volume of hexahedral
/// cells*, 1997).
double volume_of(const Corners& at);
/// The volume's derivative by the position of each corner.
Corners volume_gradient_of(const Corners& at);
/// Volume divided by the area of the largest face.
double characteristic_length(const Corners& at, double volume);
/// The sum of the normals, one quarter of the face's area long, of the three faces at each corner.
Corners corner_normals(const Corners& at);

/// Derivatives of the shape functions at the centre, times the Jacobian determinant, and the volume that this
/// determinant gives.
struct ShapeGradient {
    std::array<Vector, 4> of;  ///< corners 0 to 3; the opposite ones 6, 7, 4 and 5 have the negative values
    double volume = 0;
};
ShapeGradient shape_gradient(const Corners& at);

/// Differences between the centres of opposite faces.
struct Edges {
    Vector xi, eta, zeta;
};
Edges edges_of(const Corners& at);

}  // namespace nearfetch::lulesh

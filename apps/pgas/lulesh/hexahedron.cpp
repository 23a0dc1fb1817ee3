// SPDX-License-Identifier: Apache-2.0
#include "pgas/lulesh/hexahedron.hpp"

#include <algorithm>

namespace nearfetch::lulesh {

namespace {

double determinant(const Vector& a, const Vector& b, const Vector& c) { return dot(a, cross(b, c)); }

Vector sum_of(const Corners& at, const Face& face) {
    return at[face[0]] + at[face[1]] + at[face[2]] + at[face[3]];
}

/// Sixteen times the square of the face's area, for a plane face.
double square_area(const Corners& at, const Face& face) {
    const Vector one = at[face[2]] - at[face[0]];
    const Vector other = at[face[3]] - at[face[1]];
    const Vector f = one - other;
    const Vector g = one + other;
    const double mixed = dot(f, g);
    return dot(f, f) * dot(g, g) - mixed * mixed;
}

}  // namespace

double volume_of(const Corners& at) {
    const auto from = [&](std::size_t a, std::size_t b) { return at[b] - at[a]; };
    return (determinant(from(1, 3) + from(2, 7), from(3, 6), from(0, 2)) +
            determinant(from(3, 4) + from(7, 5), from(4, 6), from(0, 7)) +
            determinant(from(4, 1) + from(5, 2), from(1, 6), from(0, 5))) /
           12;
}

Corners volume_gradient_of(const Corners& at) {
    // For each corner: the other corners of its three faces, without the one that is on all three diagonals.
    static constexpr std::array<std::array<std::size_t, 6>, corner_count> around{{{1, 2, 3, 4, 5, 7},
                                                                                  {2, 3, 0, 5, 6, 4},
                                                                                  {3, 0, 1, 6, 7, 5},
                                                                                  {0, 1, 2, 7, 4, 6},
                                                                                  {7, 6, 5, 0, 3, 1},
                                                                                  {4, 7, 6, 1, 0, 2},
                                                                                  {5, 4, 7, 2, 1, 3},
                                                                                  {6, 5, 4, 3, 2, 0}}};
    Corners gradient;
    for (std::size_t corner = 0; corner < corner_count; ++corner) {
        const auto sum = [&](std::size_t a, std::size_t b) {
            return at[around[corner][a]] + at[around[corner][b]];
        };
        gradient[corner] = (1.0 / 12) * (cross(sum(1, 2), sum(0, 1)) + cross(sum(0, 4), sum(3, 4)) +
                                         cross(sum(3, 5), sum(2, 5)));
    }
    return gradient;
}

double characteristic_length(const Corners& at, double volume) {
    double largest = 0;
    for (const Face& face : faces)
        largest = std::max(largest, square_area(at, face));
    return 4 * volume / std::sqrt(largest);
}

Corners corner_normals(const Corners& at) {
    Corners normals{};
    for (const Face& face : faces) {
        const auto& [a, b, c, d] = face;
        const Vector along = 0.5 * (at[d] + at[c] - at[b] - at[a]);
        const Vector across = 0.5 * (at[c] + at[b] - at[d] - at[a]);
        const Vector quarter = 0.25 * cross(along, across);
        for (const std::size_t corner : face)
            normals[corner] += quarter;
    }
    return normals;
}

ShapeGradient shape_gradient(const Corners& at) {
    const Vector d0 = at[6] - at[0];
    const Vector d1 = at[7] - at[1];
    const Vector d2 = at[4] - at[2];
    const Vector d3 = at[5] - at[3];
    const Vector xi = 0.125 * (d0 + d3 - d1 - d2);
    const Vector eta = 0.125 * (d0 - d3 + d1 - d2);
    const Vector zeta = 0.125 * (d0 + d3 + d1 + d2);
    const Vector by_xi = cross(eta, zeta);
    const Vector by_eta = cross(zeta, xi);
    const Vector by_zeta = cross(xi, eta);
    ShapeGradient gradient;
    gradient.of = {-1 * by_xi - by_eta - by_zeta, by_xi - by_eta - by_zeta, by_xi + by_eta - by_zeta,
                   by_eta - by_xi - by_zeta};
    gradient.volume = 8 * dot(eta, by_eta);
    return gradient;
}

Edges edges_of(const Corners& at) {
    const auto between = [&](Side from, Side to) {
        return 0.25 * (sum_of(at, faces[to]) - sum_of(at, faces[from]));
    };
    return {between(xi_minus, xi_plus), between(eta_minus, eta_plus), between(zeta_minus, zeta_plus)};
}

}  // namespace nearfetch::lulesh

// SPDX-License-Identifier: Apache-2.0
#include "pgas/lulesh/mesh.hpp"

namespace nearfetch::lulesh {

namespace {

constexpr double width = 1.125;  // LULESH's cube, for every size

/// Calls visit(i, j, k) for all places in a cube; i changes first.
template <class Visit>
void for_each_place(std::int64_t edge, Visit&& visit) {
    for (std::int64_t k = 0; k < edge; ++k)
        for (std::int64_t j = 0; j < edge; ++j)
            for (std::int64_t i = 0; i < edge; ++i)
                visit(i, j, k);
}

}  // namespace

Mesh cube_mesh(std::int64_t size) {
    Mesh mesh;
    const std::int64_t edge = size + 1;
    const auto node = [&](std::int64_t i, std::int64_t j, std::int64_t k) {
        return (k * edge + j) * edge + i;
    };
    const auto along = [&](std::int64_t i) {
        return width * static_cast<double>(i) / static_cast<double>(size);
    };
    for_each_place(edge, [&](std::int64_t i, std::int64_t j, std::int64_t k) {
        mesh.positions.push_back({along(i), along(j), along(k)});
        if (i == 0) mesh.symmetry[0].push_back(node(i, j, k));
        if (j == 0) mesh.symmetry[1].push_back(node(i, j, k));
        if (k == 0) mesh.symmetry[2].push_back(node(i, j, k));
        if (i == size || j == size || k == size) mesh.free_surface.push_back(node(i, j, k));
    });
    for_each_place(size, [&](std::int64_t i, std::int64_t j, std::int64_t k) {
        mesh.nodes.push_back({node(i, j, k), node(i + 1, j, k), node(i + 1, j + 1, k), node(i, j + 1, k),
                              node(i, j, k + 1), node(i + 1, j, k + 1), node(i + 1, j + 1, k + 1),
                              node(i, j + 1, k + 1)});
        const std::int64_t own = (k * size + j) * size + i;
        const auto next = [&](std::int64_t place, std::int64_t step, std::int64_t stride) {
            const bool inside = place + step >= 0 && place + step < size;
            return inside ? own + step * stride : own;
        };
        mesh.neighbours.push_back({next(i, -1, 1), next(i, 1, 1), next(j, -1, size), next(j, 1, size),
                                   next(k, -1, size * size), next(k, 1, size * size)});
    });
    return mesh;
}

}  // namespace nearfetch::lulesh

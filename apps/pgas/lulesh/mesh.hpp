// SPDX-License-Identifier: Apache-2.0
#pragma once

// An unstructured mesh of hexahedra, as each rank has it until it has filled its part of the arrays.

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "pgas/lulesh/hexahedron.hpp"

namespace nearfetch::lulesh {

using NodeSet = std::vector<std::int64_t>;

struct Mesh {
    std::vector<Vector> positions;  ///< of the nodes
    std::vector<Nodes> nodes;       ///< of the elements
    /// The element on each Side; at the mesh's surface the element itself.
    std::vector<std::array<std::int64_t, side_count>> neighbours;
    std::array<NodeSet, 3> symmetry;  ///< nodes that do not move in x, y and z
    NodeSet free_surface;
};

/// A cube of size^3 elements at the origin, with symmetry at its three faces there.
Mesh cube_mesh(std::int64_t size);

/// Reads a mesh file (`.lmesh`, as Chapel's LULESH): white space between numbers; the counts of elements and
/// nodes; each node's position; each element's nodes; each element's neighbours by Side; then four node sets,
/// each as its size and its nodes: symmetry in x, y and z, and the free surface.
/// \throws Error that names the file, the line and what is wrong
Mesh read_mesh(const std::string& path);

}  // namespace nearfetch::lulesh

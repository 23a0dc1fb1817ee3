// SPDX-License-Identifier: Apache-2.0
#pragma once

// Forces of elements on their nodes. Three ways, by --forces:
//   atomic    each element adds the forces of pressure, and later those against hourglass modes, by atomics
//   combine   it keeps their sum, and adds it once
//   gather    it keeps their sum, and each node reads those of its corners
// The last has one order of sums, so its results are the same bit for bit on any number of ranks.

#include "pgas/lulesh/domain.hpp"

namespace nearfetch::lulesh {

/// Forgets an own element's earlier forces, where they are kept.
void start_element_forces(Domain& domain, const Options& options, std::int64_t element);
/// Adds to the forces on the nodes of an own element.
void add_corner_forces(Domain& domain, const Options& options, std::int64_t element, const Corners& forces);
/// Ends the elements' part: then the force of each own node is complete. Collective.
void finish_forces(Domain& domain, const Options& options);

/// The forces on all nodes by pressure and viscosity, and against hourglass modes. Collective.
void find_forces(Domain& domain, const Options& options);

}  // namespace nearfetch::lulesh

// SPDX-License-Identifier: Apache-2.0
#pragma once

// A time step: forces move the nodes, the nodes strain the elements, and the elements' state follows.

#include "pgas/lulesh/domain.hpp"

namespace nearfetch::lulesh {

/// Accelerates and moves the nodes. Collective.
void move_nodes(Domain& domain, double step);
/// Volumes, lengths and rates of expansion of the moved elements.
void find_strains(Domain& domain, double step);
/// The artificial viscosity's linear and quadratic part. Collective.
void find_viscosity(Domain& domain);
/// Energy, pressure, viscosity and speed of sound by the equation of state; then the new volume is the
/// volume.
void find_state(Domain& domain);

}  // namespace nearfetch::lulesh

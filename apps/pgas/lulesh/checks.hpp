// SPDX-License-Identifier: Apache-2.0
#pragma once

// Whether a run has the results that LULESH 2.0 publishes.

#include "pgas/lulesh/domain.hpp"

namespace nearfetch::lulesh {

/// Differences of energies in the cube's lowest layer that a mirror on its diagonal should make equal.
struct Asymmetry {
    double largest = 0, sum = 0, largest_relative = 0;
};
/// Reads the layer's elements.
Asymmetry asymmetry_of(const Field& energy, std::int64_t size);

/// Whether a complete run of LULESH's own problem has the published number of cycles and the published energy
/// of the origin, and any run of a cube is symmetric. What nobody has published is right if the energy is a
/// number.
bool is_right(const Options& options, std::int64_t cycles, double origin_energy, const Asymmetry& asymmetry);

/// An energy as LULESH prints it.
std::string printed(double energy);

}  // namespace nearfetch::lulesh

// SPDX-License-Identifier: Apache-2.0
#pragma once

// Lennard-Jones forces on own atoms. Lists are full: each atom has all its neighbours, so no rank adds to
// another's forces.

#include <vector>

#include "pgas/minimd/atoms.hpp"

namespace nearfetch::programs::minimd {

/// Of pairs closer than the cutoff, summed over one bin's atoms, which have half of each of their pairs.
struct PairSums {
    double potential = 0;  ///< not shifted, and without a correction for what is beyond the cutoff
    double virial = 0;
    double pairs = 0;
};

/// An atom in another atom's list.
struct Neighbour {
    Index<4> slot;
    Vector shift;  ///< from the atom to its image next to the other one
};

/// The potential is cut off, not shifted: at the cutoff a pair has this energy.
double potential_at_cutoff();

/// A rank's neighbour lists and forces, in the order of Atoms::for_each_own.
class Forces {
  public:
    /// Collective.
    explicit Forces(const Bins& bins) : sums(bins.bounds()) {}
    /// Lists the neighbours of own atoms. Reads the atoms of other ranks.
    void list_neighbours(const Atoms& atoms);
    /// Computes the forces on own atoms. Reads the positions of atoms of other ranks.
    void compute(const Atoms& atoms);

    const std::vector<Vector>& on_atoms() const { return forces_; }
    const std::vector<Neighbour>& neighbours() const { return neighbours_; }

    BlockArray<PairSums, 3> sums;  ///< of each bin

  private:
    void list_neighbours_of(const Atoms& atoms, const Index<4>& slot);

    std::vector<Neighbour> neighbours_;
    std::vector<std::size_t> list_ends_;  ///< for each own atom
    std::vector<Vector> forces_;
};

}  // namespace nearfetch::programs::minimd

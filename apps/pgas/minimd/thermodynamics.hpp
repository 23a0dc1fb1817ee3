// SPDX-License-Identifier: Apache-2.0
#pragma once

// What the atoms are like on the whole, as LAMMPS and miniMD print it.

#include <vector>

#include "pgas/minimd/forces.hpp"

namespace nearfetch::programs::minimd {

/// Energies are per atom.
struct State {
    double temperature = 0;
    double pressure = 0;
    double potential = 0;
    double total = 0;
    /// The total if the potential were shifted to 0 at the cutoff. The forces keep this energy. The total
    /// jumps whenever a pair passes the cutoff.
    double conserved = 0;
    double momentum = 0;  ///< of the whole, its largest component
    double atoms = 0;     ///< that were found
};

class Thermodynamics {
  public:
    /// Collective.
    Thermodynamics(const Crystal& crystal, const Bins& bins);
    /// Measures the state. Rank 0 reads the sums of all bins, in their order, so that they have the same bits
    /// on any number of ranks. After the first barrier a rank may compute forces again. Collective.
    void measure(const Atoms& atoms, const Forces& forces);
    /// At rank 0: all states that were measured.
    const std::vector<State>& states() const { return states_; }

  private:
    struct Motion {
        double squares = 0;
        double atoms = 0;
        Vector momentum;
    };
    State state_of(const Motion& motion, const PairSums& pairs) const;

    double atoms_;
    double volume_;
    BlockArray<Motion, 3> motions_;
    std::vector<State> states_;
};

}  // namespace nearfetch::programs::minimd

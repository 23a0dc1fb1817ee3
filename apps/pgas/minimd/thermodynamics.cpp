// SPDX-License-Identifier: Apache-2.0
#include "pgas/minimd/thermodynamics.hpp"

#include <algorithm>

namespace nearfetch::programs::minimd {

Thermodynamics::Thermodynamics(const Crystal& crystal, const Bins& bins)
    : atoms_(static_cast<double>(crystal.atoms())),
      volume_(std::pow(crystal.edge(), 3)),
      motions_(bins.bounds()) {}

void Thermodynamics::measure(const Atoms& atoms, const Forces& forces) {
    motions_.for_each([](const Index<3>&, Motion& motion) { motion = {}; });
    atoms.for_each_own([&](const Index<4>& slot) {
        Motion& motion = *motions_.own({slot[0], slot[1], slot[2]});
        const Vector velocity = atoms.velocity[slot];
        motion.squares += dot(velocity, velocity);
        motion.atoms += 1;
        motion.momentum += velocity;
    });
    barrier();
    if (rank() != 0) return;
    Motion motion;
    PairSums pairs;
    for_each_index(atoms.bins().bounds(), [&](const Index<3>& bin) {
        const Motion moving = motions_.read(bin);
        motion.squares += moving.squares;
        motion.atoms += moving.atoms;
        motion.momentum += moving.momentum;
        const PairSums of_bin = forces.sums[bin];
        pairs.potential += of_bin.potential;
        pairs.virial += of_bin.virial;
        pairs.pairs += of_bin.pairs;
    });
    states_.push_back(state_of(motion, pairs));
}

State Thermodynamics::state_of(const Motion& motion, const PairSums& pairs) const {
    State state;
    state.temperature = motion.squares / (3 * atoms_ - 3);
    state.pressure = (motion.squares + pairs.virial) / (3 * volume_);
    state.potential = pairs.potential / atoms_;
    state.total = state.potential + 0.5 * motion.squares / atoms_;
    state.conserved = state.total - potential_at_cutoff() * pairs.pairs / atoms_;
    state.momentum =
        std::max({std::abs(motion.momentum.x), std::abs(motion.momentum.y), std::abs(motion.momentum.z)});
    state.atoms = motion.atoms;
    return state;
}

}  // namespace nearfetch::programs::minimd

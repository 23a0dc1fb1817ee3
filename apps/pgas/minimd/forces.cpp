// SPDX-License-Identifier: Apache-2.0
#include "pgas/minimd/forces.hpp"

namespace nearfetch::programs::minimd {

double potential_at_cutoff() {
    const double inverse_sixth = std::pow(cutoff, -6);
    return 4 * inverse_sixth * (inverse_sixth - 1);
}

void Forces::list_neighbours(const Atoms& atoms) {
    neighbours_.clear();
    list_ends_.clear();
    atoms.for_each_own([&](const Index<4>& slot) {
        list_neighbours_of(atoms, slot);
        list_ends_.push_back(neighbours_.size());
    });
}

void Forces::list_neighbours_of(const Atoms& atoms, const Index<4>& slot) {
    const Bins& bins = atoms.bins();
    const Index<3> bin{slot[0], slot[1], slot[2]};
    const Vector place = atoms.position[slot];
    const std::int64_t depth = bins.depth();
    const Box<3> around({-depth, -depth, -depth}, {depth + 1, depth + 1, depth + 1});
    for_each_index(around, [&](const Index<3>& away) {
        const Index<3> image = sum(bin, away);
        const Index<3> there = wrapped(image, bins.bounds());
        const Vector shift = bins.shift_to(image);
        const std::int64_t count = atoms.count[there];
        for (std::int64_t n = 0; n < count; ++n) {
            const Index<4> other = slot_of(there, n);
            if (image == bin && other == slot) continue;
            const Vector apart = place - (atoms.position[other] + shift);
            if (dot(apart, apart) <= list_radius * list_radius) neighbours_.push_back({other, shift});
        }
    });
}

void Forces::compute(const Atoms& atoms) {
    forces_.clear();
    sums.for_each([](const Index<3>&, PairSums& of_bin) { of_bin = {}; });
    const Neighbour* neighbour = neighbours_.data();
    atoms.for_each_own([&](const Index<4>& slot) {
        PairSums& of_bin = *sums.own({slot[0], slot[1], slot[2]});
        const Vector place = atoms.position[slot];
        const Neighbour* const end = neighbours_.data() + list_ends_[forces_.size()];
        Vector force;
        for (; neighbour != end; ++neighbour) {
            const Vector apart = place - (atoms.position[neighbour->slot] + neighbour->shift);
            const double square = dot(apart, apart);
            if (square >= cutoff * cutoff) continue;
            const double inverse = 1 / square;
            const double inverse_sixth = inverse * inverse * inverse;
            const double factor = 48 * inverse_sixth * (inverse_sixth - 0.5) * inverse;
            force += factor * apart;
            of_bin.potential += 2 * inverse_sixth * (inverse_sixth - 1);
            of_bin.virial += 0.5 * factor * square;
            of_bin.pairs += 0.5;
        }
        forces_.push_back(force);
    });
}

}  // namespace nearfetch::programs::minimd

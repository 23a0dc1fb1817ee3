// SPDX-License-Identifier: Apache-2.0
#include "pgas/minimd/atoms.hpp"

#include <algorithm>

namespace nearfetch::programs::minimd {

namespace {

std::array<Rank, 4> grid() {
    const std::array<Rank, 3> of_bins = balanced_grid<3>(ranks());
    return {of_bins[0], of_bins[1], of_bins[2], 1};
}

}  // namespace

Atoms::Atoms(const Crystal& crystal, const Bins& bins)
    : count(bins.bounds()),
      position(bins.slots(), grid()),
      velocity(bins.slots(), grid()),
      id(bins.slots(), grid()),
      bins_(bins) {
    crystal.for_each_atom([&](std::int64_t number, const Vector& place, const Vector& speed) {
        const Index<3> bin = bins.bin_of(place);
        if (count.own(bin) != nullptr) add(bin, {number, place, speed});
    });
    barrier();
}

void Atoms::migrate() {
    barrier();
    std::vector<std::vector<Atom>> found;
    for_each_index(count.own_box(), [&](const Index<3>& bin) { found.push_back(find_atoms_of(bin)); });
    barrier();  // all have read
    auto atoms = found.begin();
    count.for_each([&](const Index<3>& bin, std::int64_t& own_count) {
        own_count = 0;
        for (const Atom& atom : *atoms++)
            add(bin, atom);
    });
    barrier();
}

/// The atoms that have come here from the bins around, or have stayed.
std::vector<Atoms::Atom> Atoms::find_atoms_of(const Index<3>& bin) const {
    std::vector<Atom> found;
    for_each_index(Box<3>({-1, -1, -1}, {2, 2, 2}), [&](const Index<3>& away) {
        const Index<3> from = wrapped(sum(bin, away), bins_.bounds());
        const std::int64_t atoms = count[from];
        for (std::int64_t n = 0; n < atoms; ++n) {
            const Index<4> slot = slot_of(from, n);
            const Vector place = position[slot];
            // With few bins a bin is around another in several directions: it counts where the atom has gone.
            const Index<3> to = bins_.bin_of(place);
            if (sum(to, away) != from) continue;
            found.push_back({id[slot], place - bins_.shift_to(to), velocity[slot]});
        }
    });
    std::ranges::sort(found, {}, &Atom::id);
    return found;
}

void Atoms::add(const Index<3>& bin, const Atom& atom) {
    const std::int64_t n = (*count.own(bin))++;
    if (n == bins_.capacity())
        throw Error("minimd: more than " + std::to_string(n) + " atoms in a bin", "it has no place for them",
                    "use a smaller --timestep");
    const Index<4> slot = slot_of(bin, n);
    id.write(slot, atom.id);
    position.write(slot, atom.position);
    velocity.write(slot, atom.velocity);
}

}  // namespace nearfetch::programs::minimd

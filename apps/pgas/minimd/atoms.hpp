// SPDX-License-Identifier: Apache-2.0
#pragma once

// The atoms, in distributed arrays of bins.

#include <nearfetch/array.hpp>

#include "pgas/minimd/bins.hpp"
#include "pgas/vector.hpp"

namespace nearfetch::programs::minimd {

/// In each bin atoms are sorted by their ids. So sums over them have the same order, and the same bits, on
/// any number of ranks.
class Atoms {
  public:
    /// Collective.
    Atoms(const Crystal& crystal, const Bins& bins);

    const Bins& bins() const { return bins_; }

    /// Calls visit(slot) for each own atom, bin by bin.
    template <class Visit>
    void for_each_own(Visit&& visit) const {
        for_each_index(count.own_box(), [&](const Index<3>& bin) {
            for (std::int64_t n = 0; n < count[bin]; ++n)
                visit(slot_of(bin, n));
        });
    }

    /// Brings each atom to the bin in which it is now, and into the cube. An atom has moved by less than a
    /// bin since the last time. To begin with, and at the end, there is a barrier. Collective.
    /// \throws Error when a bin is full
    void migrate();

    BlockArray<std::int64_t, 3> count;  ///< of each bin
    BlockArray<Vector, 4> position;
    BlockArray<Vector, 4> velocity;
    BlockArray<std::int64_t, 4> id;

  private:
    struct Atom {
        std::int64_t id;
        Vector position;
        Vector velocity;
    };
    std::vector<Atom> find_atoms_of(const Index<3>& bin) const;
    /// \pre the bin is own
    void add(const Index<3>& bin, const Atom& atom);

    Bins bins_;
};

}  // namespace nearfetch::programs::minimd

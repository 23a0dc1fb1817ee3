// SPDX-License-Identifier: Apache-2.0
#pragma once

// The state that a run begins with, as in miniMD and in LAMMPS's benchmark of Lennard-Jones atoms: a
// face-centred cubic crystal that melts. Units are reduced: of mass, length and energy of the potential.

#include <cmath>
#include <cstdint>

#include "common/random.hpp"
#include "pgas/vector.hpp"

namespace nearfetch::programs::minimd {

/// A cube of `cells` unit cells in each direction, each with 4 atoms.
class Crystal {
  public:
    static constexpr double density = 0.8442;
    static constexpr double temperature = 1.44;

    explicit Crystal(std::int64_t cells) : cells_(cells), spacing_(std::cbrt(4 / density)) { settle(); }

    std::int64_t atoms() const { return 4 * cells_ * cells_ * cells_; }
    /// Of the cube.
    double edge() const { return static_cast<double>(cells_) * spacing_; }

    /// Calls visit(id, position, velocity) for each atom, in the order of the ids. Every rank computes all
    /// atoms, so that a velocity does not depend on the number of ranks.
    template <class Visit>
    void for_each_atom(Visit&& visit) const {
        std::int64_t id = 0;
        // Half a unit cell per step. Every other point of that lattice has an atom.
        for (std::int64_t i = 0; i < 2 * cells_; ++i)
            for (std::int64_t j = 0; j < 2 * cells_; ++j)
                for (std::int64_t k = (i + j) % 2; k < 2 * cells_; k += 2, ++id)
                    visit(id, 0.5 * spacing_ * Vector{double(i), double(j), double(k)},
                          scale_ * (raw_velocity(id) - mean_));
    }

  private:
    /// Uniform, from a generator for each atom.
    static Vector raw_velocity(std::int64_t id) {
        apps::Random random(static_cast<std::uint64_t>(id));
        const double x = random.uniform() - 0.5;
        const double y = random.uniform() - 0.5;
        const double z = random.uniform() - 0.5;
        return {x, y, z};
    }
    /// Finds what makes the total momentum zero, and the temperature right.
    void settle() {
        Vector sum;
        for_each_atom([&](std::int64_t, const Vector&, const Vector& velocity) { sum += velocity; });
        mean_ = 1 / static_cast<double>(atoms()) * sum;
        double squares = 0;
        for_each_atom(
            [&](std::int64_t, const Vector&, const Vector& velocity) { squares += dot(velocity, velocity); });
        scale_ = std::sqrt(temperature * static_cast<double>(3 * atoms() - 3) / squares);
    }

    std::int64_t cells_;
    double spacing_;
    Vector mean_;
    double scale_ = 1;
};

}  // namespace nearfetch::programs::minimd

// SPDX-License-Identifier: Apache-2.0
#pragma once

// LULESH's constants (Karlin, Keasler and Neely, *LULESH 2.0 Updates and Changes*, LLNL-TR-641973, 2013;
// Hornung, Keasler and Gokhale, *Hydrodynamics Challenge Problem*, LLNL-TR-490254, 2011), and what the
// command line chooses.

#include <cmath>
#include <cstdint>
#include <string>

#include "pgas/atomics.hpp"

namespace nearfetch::lulesh {

inline constexpr double hourglass_coefficient = 3;
inline constexpr double linear_viscosity = 0.5;
inline constexpr double quadratic_viscosity = 2.0 / 3;
inline constexpr double limiter_slope = 2;  ///< of the limited velocity gradients
inline constexpr double largest_viscosity = 1e12;
inline constexpr double courant_viscosity = 64.0 * 2 * 2;
inline constexpr double least_velocity = 1e-7;  ///< smaller values count as 0
inline constexpr double least_energy = 1e-7;
inline constexpr double least_pressure = 1e-7;
inline constexpr double least_viscosity = 1e-7;
inline constexpr double least_strain = 1e-10;  ///< of the relative volume
inline constexpr double energy_floor = -1e15;
inline constexpr double pressure_floor = 0;
inline constexpr double smallest_volume = 1e-9;  ///< relative, in the equation of state
inline constexpr double largest_volume = 1e9;
inline constexpr double reference_density = 1;
inline constexpr double tiny = 1e-36;

inline constexpr double stop_time = 1e-2;
inline constexpr double longest_step = 1e-2;
inline constexpr double unlimited_step = 1e20;
inline constexpr double volume_change_limit = 0.1;  ///< in a step
inline constexpr double least_growth = 1.1;         ///< a step that may grow by less stays as it is
inline constexpr double most_growth = 1.2;

inline constexpr double published_energy = 3.948746e7;  ///< of the origin in a cube of 45^3

struct Options {
    std::int64_t size = 10;   ///< elements along each edge of the cube
    std::string mesh;         ///< a file, or "" for the cube
    std::int64_t cycles = 0;  ///< 0: until the stop time
    std::string forces = "atomic";
    programs::Atomics atomics{"seq_cst"};
    /// Of the origin at the start; 0: as LULESH 2.0, or as Chapel's version for a mesh file.
    double energy = 0;
    double first_step = 0;  ///< the same for the first time step
    std::uint64_t work_ns = 0;

    bool gathers() const { return forces == "gather"; }
    bool keeps_corner_forces() const { return forces != "atomic"; }
    double origin_energy() const {
        if (energy > 0) return energy;
        return mesh.empty() ? published_energy * std::pow(static_cast<double>(size) / 45, 3)
                            : published_energy;
    }
    /// \param volume of the origin's element
    double first_step_for(double volume) const {
        if (first_step > 0) return first_step;
        return mesh.empty() ? 0.5 * std::cbrt(volume) / std::sqrt(2 * origin_energy()) : 1e-7;
    }
};

}  // namespace nearfetch::lulesh

// SPDX-License-Identifier: Apache-2.0
//
// The equation of state of an ideal gas with 5/3 as ratio of specific heats. The new energy is found in three
// steps: half of the work with the old pressure, a correction with the pressure half-way, one with the new
// one.

#include <algorithm>
#include <string>

#include "pgas/lulesh/motion.hpp"

namespace nearfetch::lulesh {

namespace {

constexpr double gas = 2.0 / 3;

/// Pressure and speed of sound at one compression.
class Gas {
  public:
    explicit Gas(double compression, double volume) : by_energy_(gas * (compression + 1)), volume_(volume) {}

    double pressure(double energy, double relative_volume) const {
        const double pressure = by_energy_ * energy;
        if (std::abs(pressure) < least_pressure || relative_volume >= largest_volume) return 0;
        return std::max(pressure, pressure_floor);
    }
    double sound_speed(double energy, double pressure) const {
        const double square = (gas * energy + volume_ * volume_ * by_energy_ * pressure) / reference_density;
        return square <= 0.1111111e-36 ? 0.3333333e-18 : std::sqrt(square);
    }

  private:
    double by_energy_;
    double volume_;
};

double kept_energy(double energy) {
    return std::max(std::abs(energy) < least_energy ? 0 : energy, energy_floor);
}

struct State {
    double energy, pressure, viscosity, sound_speed;
};

/// The parts of the viscosity, and the compression's.
struct Change {
    double volume, step, linear, quadratic;
};

State next_state(const State& old, const Change& change) {
    const double volume = std::clamp(change.volume, smallest_volume, largest_volume);
    double compression = 1 / volume - 1;
    double half_compression = 1 / (volume - 0.5 * change.step) - 1;
    double old_pressure = old.pressure;
    if (volume <= smallest_volume) half_compression = compression;
    if (volume >= largest_volume) old_pressure = compression = half_compression = 0;
    const Gas half(half_compression, 1 / (1 + half_compression));
    const Gas full(compression, volume);
    const bool expands = change.step > 0;
    const auto viscosity = [&](const Gas& at, double energy, double pressure) {
        return at.sound_speed(energy, pressure) * change.linear + change.quadratic;
    };

    const double old_stress = old_pressure + old.viscosity;
    double energy = std::max(old.energy - 0.5 * change.step * old_stress, energy_floor);
    const double half_pressure = half.pressure(energy, volume);
    double q = expands ? 0 : viscosity(half, energy, half_pressure);
    const double half_stress = half_pressure + q;
    energy = kept_energy(energy + 0.5 * change.step * (3 * old_stress - 4 * half_stress));

    double pressure = full.pressure(energy, volume);
    const double new_q = expands ? 0 : viscosity(full, energy, pressure);
    energy -= (7 * old_stress - 8 * half_stress + (pressure + new_q)) * change.step / 6;
    energy = kept_energy(energy);

    pressure = full.pressure(energy, volume);
    if (!expands) {
        q = viscosity(full, energy, pressure);
        if (std::abs(q) < least_viscosity) q = 0;
    }
    return {energy, pressure, q, full.sound_speed(energy, pressure)};
}

}  // namespace

void find_state(Domain& d) {
    for_each_own(d.nodes, [&](std::int64_t e) {
        const double strained = d.new_volume(e);
        const State next = next_state({d.energy(e), d.pressure(e), d.viscosity(e), d.sound_speed(e)},
                                      {strained, d.volume_step(e), d.linear_part(e), d.quadratic_part(e)});
        if (next.viscosity > largest_viscosity)
            throw Error(
                "element " + std::to_string(e) + " has the viscosity " + std::to_string(next.viscosity),
                "the most is " + std::to_string(largest_viscosity), "use a shorter first step");
        d.energy(e) = next.energy;
        d.pressure(e) = next.pressure;
        d.viscosity(e) = next.viscosity;
        d.sound_speed(e) = next.sound_speed;
        d.volume(e) = std::abs(strained - 1) < least_strain ? 1 : strained;
    });
}

}  // namespace nearfetch::lulesh

// SPDX-License-Identifier: Apache-2.0
#include "pgas/lulesh/time_step.hpp"

#include <algorithm>

namespace nearfetch::lulesh {

void Clock::advance() {
    if (cycles_ > 0) {
        double next = unlimited_step;
        if (courant_ < next) next = courant_ / 2;
        if (volume_change_ < next) next = volume_change_ * 2 / 3;
        // Grows in some steps, and shrinks at once.
        const double growth = next / step_;
        if (growth >= 1 && growth < least_growth) next = step_;
        if (growth > most_growth) next = step_ * most_growth;
        step_ = std::min(next, longest_step);
    }
    // Two steps of like length, rather than a very short one at the end.
    double rest = stop_time - time_;
    if (rest > step_ && rest < step_ * 4 / 3) rest = step_ * 2 / 3;
    step_ = std::min(step_, rest);
    time_ += step_;
    ++cycles_;
}

void Clock::find_limits(Domain& d) {
    struct Limits {
        double courant, volume_change;
    };
    const Limits limits = d.expansion.reduce(
        Limits{unlimited_step, unlimited_step},
        [](const Limits& a, const Limits& b) {
            return Limits{std::min(a.courant, b.courant), std::min(a.volume_change, b.volume_change)};
        },
        [&](const Index<1>& i, double expansion) {
            if (expansion == 0) return Limits{unlimited_step, unlimited_step};
            const double sound = d.sound_speed(i[0]);
            const double length = d.length(i[0]);
            double square = sound * sound;
            if (expansion < 0) square += courant_viscosity * length * length * expansion * expansion;
            return Limits{length / std::sqrt(square), volume_change_limit / (std::abs(expansion) + 1e-20)};
        });
    courant_ = limits.courant;
    volume_change_ = limits.volume_change;
}

}  // namespace nearfetch::lulesh

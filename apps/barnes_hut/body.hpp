// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace nearfetch::barnes_hut {

using Vector = std::array<double, 3>;

/// Where something gets at such a rate in that time: a half or whole step of a leapfrog, whose velocities are
/// half a step before the positions, except at the start.
inline Vector moved(Vector from, const Vector& rate, double time) {
    for (std::size_t k = 0; k < from.size(); ++k)
        from[k] += rate[k] * time;
    return from;
}
// What a run has if nothing else is said.
inline constexpr double usual_time_step = 1.0 / 64;
inline constexpr double usual_softening = 0.025;

/// A body, in units with a gravitational constant of 1.
struct Body {
    Vector position;
    Vector velocity;
    double mass;
    std::int64_t id;
    std::uint64_t key;  ///< position on the space-filling curve, see RootCube::key
};

}  // namespace nearfetch::barnes_hut

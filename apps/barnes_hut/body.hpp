// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

namespace nearfetch::barnes_hut {

using Vector = std::array<double, 3>;

/// A body, in units with a gravitational constant of 1.
struct Body {
    Vector position;
    Vector velocity;
    double mass;
    std::int64_t id;
    std::uint64_t key;  ///< position on the space-filling curve, see RootCube::key
};

}  // namespace nearfetch::barnes_hut

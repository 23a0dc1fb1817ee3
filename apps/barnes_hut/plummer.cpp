// SPDX-License-Identifier: Apache-2.0
#include "barnes_hut/plummer.hpp"

#include <cmath>
#include <numbers>

#include "common/random.hpp"

namespace nearfetch::barnes_hut {

namespace {

constexpr double kMassKept = 0.999;

Vector random_direction(apps::Random& random, double length) {
    const double z = 2 * random.uniform() - 1;
    const double angle = 2 * std::numbers::pi * random.uniform();
    const double flat = std::sqrt(1 - z * z);
    return {length * flat * std::cos(angle), length * flat * std::sin(angle), length * z};
}

/// Speed in units of the escape speed, drawn by rejection from q^2 (1 - q^2)^(7/2), which stays below 0.1.
double random_speed(apps::Random& random) {
    for (;;) {
        const double q = random.uniform();
        const double limit = 0.1 * random.uniform();
        if (limit < q * q * std::pow(1 - q * q, 3.5)) return q;
    }
}

}  // namespace

Body plummer_body(std::uint64_t seed, std::int64_t id, std::int64_t bodies) {
    apps::Random random(apps::Random(seed).next() + static_cast<std::uint64_t>(id));
    constexpr double kLength = 3 * std::numbers::pi / 16;
    const double mass_inside = kMassKept * (1 - random.uniform());
    const double radius = 1 / std::sqrt(std::pow(mass_inside, -2.0 / 3) - 1);
    const double escape_speed = std::numbers::sqrt2 * std::pow(1 + radius * radius, -0.25);
    Body body{};
    body.position = random_direction(random, radius * kLength);
    body.velocity = random_direction(random, random_speed(random) * escape_speed / std::sqrt(kLength));
    body.mass = 1.0 / static_cast<double>(bodies);
    body.id = id;
    return body;
}

}  // namespace nearfetch::barnes_hut

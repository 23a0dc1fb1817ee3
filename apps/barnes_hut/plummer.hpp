// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "barnes_hut/body.hpp"

namespace nearfetch::barnes_hut {

/// Body `id` of a Plummer model of `bodies` bodies in equilibrium: total mass 1, mean total energy -1/4. The
/// outermost 0.1 % of the mass is omitted. Each body depends only on the seed and its id, so every rank can
/// make its own. Source: S. Aarseth, M. Henon, R. Wielen, *A comparison of numerical methods for the study of
/// star cluster dynamics*, 1974.
Body plummer_body(std::uint64_t seed, std::int64_t id, std::int64_t bodies);

}  // namespace nearfetch::barnes_hut

// SPDX-License-Identifier: Apache-2.0
#include "graph/rmat.hpp"

#include <cassert>

#include "common/random.hpp"

namespace nearfetch::graph {

namespace {

// Probabilities as 32-bit fractions: integer comparisons are the same on all platforms.
constexpr std::uint64_t part(double probability) {
    return static_cast<std::uint64_t>(probability * 4294967296.0);
}
constexpr std::uint64_t kA = part(0.57);
constexpr std::uint64_t kAB = part(0.76);
constexpr std::uint64_t kABC = part(0.95);

}  // namespace

EdgeList make_rmat(int scale, std::uint64_t edge_factor, std::uint64_t seed) {
    assert(scale >= 1 && scale <= 31);
    const std::uint64_t vertices = std::uint64_t{1} << scale;
    apps::Random random(seed);
    EdgeCollector edges;
    for (std::uint64_t edge = 0; edge < edge_factor * vertices; ++edge) {
        std::uint32_t row = 0;
        std::uint32_t column = 0;
        for (int level = 0; level < scale; ++level) {
            const std::uint64_t draw = random.next() >> 32;
            row = row << 1 | (draw >= kAB ? 1U : 0U);
            column = column << 1 | ((draw >= kA && draw < kAB) || draw >= kABC ? 1U : 0U);
        }
        edges.add(row, column);
    }
    return edges.finish(vertices);
}

}  // namespace nearfetch::graph

// SPDX-License-Identifier: Apache-2.0
#pragma once

// Bins divide the periodic cube into cells, so that neighbours are looked for in a few of them.

#include <cmath>
#include <cstdint>
#include <nearfetch/detail/array/distribution.hpp>

#include "pgas/minimd/crystal.hpp"

namespace nearfetch::programs::minimd {

constexpr double cutoff = 2.5;
/// Neighbours are listed up to this distance. They may then move before the lists have to be made again.
constexpr double list_radius = cutoff + 0.3;

/// The same number of bins in each direction. Beyond the cube bins go on periodically: bin -1 is the image of
/// the last one.
class Bins {
  public:
    Bins(const Crystal& crystal, std::int64_t cells)
        : along_edge_(std::max<std::int64_t>(1, 5 * cells / 6)),
          cube_edge_(crystal.edge()),
          edge_(cube_edge_ / static_cast<double>(along_edge_)),
          depth_(static_cast<std::int64_t>(std::ceil(list_radius / edge_))),
          capacity_(4 + static_cast<std::int64_t>(1.6 * Crystal::density * edge_ * edge_ * edge_)) {}

    Box<3> bounds() const { return {{}, {along_edge_, along_edge_, along_edge_}}; }
    /// A place in a bin for each of its atoms.
    Box<4> slots() const { return {{}, {along_edge_, along_edge_, along_edge_, capacity_}}; }
    std::int64_t capacity() const { return capacity_; }
    /// So many bins away in each direction there may be neighbours.
    std::int64_t depth() const { return depth_; }

    /// The bin of a position, which may be beyond the cube.
    Index<3> bin_of(const Vector& position) const {
        return {along(position.x), along(position.y), along(position.z)};
    }
    /// What has to be added to a position in a bin of the cube to get its image in this bin.
    Vector shift_to(const Index<3>& image) const {
        const Index<3> bin = wrapped(image, bounds());
        const auto distance = [&](std::size_t d) {
            return static_cast<double>((image[d] - bin[d]) / along_edge_) * cube_edge_;
        };
        return {distance(0), distance(1), distance(2)};
    }

  private:
    std::int64_t along(double coordinate) const {
        return static_cast<std::int64_t>(std::floor(coordinate / edge_));
    }

    std::int64_t along_edge_;
    double cube_edge_;
    double edge_;
    std::int64_t depth_;
    std::int64_t capacity_;
};

inline Index<3> sum(const Index<3>& a, const Index<3>& b) { return {a[0] + b[0], a[1] + b[1], a[2] + b[2]}; }
inline Index<4> slot_of(const Index<3>& bin, std::int64_t slot) { return {bin[0], bin[1], bin[2], slot}; }

}  // namespace nearfetch::programs::minimd

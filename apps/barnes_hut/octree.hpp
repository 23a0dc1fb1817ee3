// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "barnes_hut/body.hpp"

namespace nearfetch::barnes_hut {

// The octree of all bodies, distributed over the ranks.
//
// Space is a cube, halved six times in each dimension. Each resulting region belongs to one rank; consecutive
// regions along a space-filling curve go to the same rank, with about the same number of bodies per rank. A
// rank builds the subtrees of its regions alone. Every rank builds the cells above from the regions' sums,
// but each is stored by one rank: the owner of its first non-empty region. The result is one tree, the same
// for any number of ranks, whose nodes refer to each other by rank and index.
//
// Larger regions would balance badly, because most bodies of a cluster are close to its centre. Smaller ones
// would need more counts per step.

/// Levels of halving down to single keys.
inline constexpr int kDeepestLevel = 21;
/// Level of the regions.
inline constexpr int kRegionLevel = 6;
inline constexpr std::uint32_t kRegions = 1U << (3 * kRegionLevel);

/// The cube that is the root of the tree.
struct RootCube {
    Vector low;
    double side;

    /// The smallest suitable cube around a box.
    static RootCube around(const Vector& low, const Vector& high);

    /// Key of a position on the space-filling curve (Morton order): its octants from the root down, 3 bits
    /// each.
    std::uint64_t key(const Vector& position) const;

    Vector centre() const { return {low[0] + side / 2, low[1] + side / 2, low[2] + side / 2}; }
};

inline std::uint32_t region_of(std::uint64_t key) {
    return static_cast<std::uint32_t>(key >> (3 * (kDeepestLevel - kRegionLevel)));
}

/// A node: its rank and its index in that rank's window. No node: rank -1.
struct Ref {
    std::int32_t rank = -1;
    std::uint32_t index = 0;
    bool exists() const { return rank >= 0; }
    friend bool operator==(const Ref&, const Ref&) = default;
};

/// What one get reads: a cell, or a body as a leaf. Bodies with the same key form a chain of leaves, each
/// with the next one as its first child.
struct Node {
    Vector position{};       ///< of the body, or the cell's centre of mass
    double mass = 0;         ///< of the body, or of all bodies in the cell
    std::int64_t body = -1;  ///< id of the body, -1 for a cell
    Ref child[8]{};

    bool is_leaf() const { return body >= 0; }
};
static_assert(sizeof(Node) == 104 && std::is_trivially_copyable_v<Node>, "nodes travel as bytes");

/// A subtree as seen from above.
struct Branch {
    Ref root;
    Vector position{};  ///< centre of mass
    double mass = 0;
};

/// The subtree of a non-empty region.
struct Region {
    std::uint32_t number = 0;
    Branch branch;
};
static_assert(std::is_trivially_copyable_v<Region>, "regions travel as bytes");

/// Owner of each region for `counts` bodies per region; ascending.
std::vector<int> assign_regions(std::span<const std::uint64_t> counts, int ranks);

/// Appends the nodes of a rank's subtrees to `nodes`. @param bodies this rank's, sorted by key @return its
/// non-empty regions, in order
std::vector<Region> build_regions(std::span<const Body> bodies, int rank, std::vector<Node>& nodes);

/// The cells above the regions.
class TopTree {
  public:
    TopTree(std::span<const std::uint64_t> counts, std::vector<int> owners);

    /// How many of them `rank` stores, as its first nodes.
    std::uint32_t cells_of(int rank) const;

    /// Builds all and stores those of `rank` at the beginning of `nodes`. @param regions all non-empty
    /// regions of all ranks, in order @return the whole tree
    Branch build(std::span<const Region> regions, int rank, std::vector<Node>& nodes) const;

  private:
    struct Build;
    std::uint64_t bodies_in(int level, std::uint32_t number) const;
    int owner_of(int level, std::uint32_t number) const;
    void count(int level, std::uint32_t number, int rank, std::uint32_t& cells) const;
    Branch build_cell(int level, std::uint32_t number, Build& build) const;

    std::vector<std::uint64_t> before_;  ///< bodies before each region
    std::vector<int> owners_;
};

}  // namespace nearfetch::barnes_hut

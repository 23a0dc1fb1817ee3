// SPDX-License-Identifier: Apache-2.0
#include "barnes_hut/octree.hpp"

#include <algorithm>
#include <utility>

namespace nearfetch::barnes_hut {

namespace {

/// Spreads the lowest 21 bits so that two zeros follow each.
std::uint64_t spread(std::uint64_t bits) {
    std::uint64_t result = 0;
    for (int bit = 0; bit < kDeepestLevel; ++bit)
        result |= (bits >> bit & 1U) << (3 * bit);
    return result;
}

/// The centre of mass of branches, summed in their order.
class MassSum {
  public:
    void add(const Vector& position, double mass) {
        mass_ += mass;
        for (std::size_t k = 0; k < 3; ++k)
            moment_[k] += mass * position[k];
    }
    Branch branch(Ref root) const {
        Branch result{root, {}, mass_};
        for (std::size_t k = 0; k < 3; ++k)
            result.position[k] = moment_[k] / mass_;
        return result;
    }

  private:
    Vector moment_{};
    double mass_ = 0;
};

/// Builds subtrees of one rank, each cell before its children.
class SubtreeBuilder {
  public:
    SubtreeBuilder(int rank, std::vector<Node>& nodes) : rank_(rank), nodes_(nodes) {}

    Branch build(std::span<const Body> bodies, int level) {
        if (bodies.size() == 1 || level == kDeepestLevel) return chain(bodies);
        const Ref root = append(Node{});
        MassSum sum;
        for (int octant = 0; octant < 8; ++octant) {
            const auto inside = [&](const Body& body) { return octant_of(body, level) == octant; };
            const auto end = std::find_if_not(bodies.begin(), bodies.end(), inside);
            const auto count = static_cast<std::size_t>(end - bodies.begin());
            if (count == 0) continue;
            const Branch child = build(bodies.first(count), level + 1);
            bodies = bodies.subspan(count);
            nodes_[root.index].child[octant] = child.root;
            sum.add(child.position, child.mass);
        }
        const Branch result = sum.branch(root);
        nodes_[root.index].position = result.position;
        nodes_[root.index].mass = result.mass;
        return result;
    }

  private:
    static int octant_of(const Body& body, int level) {
        return static_cast<int>(body.key >> (3 * (kDeepestLevel - 1 - level)) & 7U);
    }

    Branch chain(std::span<const Body> bodies) {
        if (bodies.size() == 1) {
            const Body& body = bodies.front();
            return {append({body.position, body.mass, body.id, {}}), body.position, body.mass};
        }
        MassSum sum;
        Ref first;
        Ref last;
        for (const Body& body : bodies) {
            const Ref leaf = append({body.position, body.mass, body.id, {}});
            (last.exists() ? nodes_[last.index].child[0] : first) = leaf;
            last = leaf;
            sum.add(body.position, body.mass);
        }
        return sum.branch(first);
    }

    Ref append(const Node& node) {
        nodes_.push_back(node);
        return {rank_, static_cast<std::uint32_t>(nodes_.size() - 1)};
    }

    int rank_;
    std::vector<Node>& nodes_;
};

}  // namespace

RootCube RootCube::around(const Vector& low, const Vector& high) {
    double side = 0;
    for (std::size_t k = 0; k < 3; ++k)
        side = std::max(side, high[k] - low[k]);
    // Slightly larger, so that the outermost bodies are inside, and not empty if all bodies have one
    // position.
    side = std::max(side * 1.0001, 1e-6);
    RootCube cube{{}, side};
    for (std::size_t k = 0; k < 3; ++k)
        cube.low[k] = (low[k] + high[k] - side) / 2;
    return cube;
}

std::uint64_t RootCube::key(const Vector& position) const {
    constexpr double kSteps = 1 << kDeepestLevel;
    std::uint64_t result = 0;
    for (std::size_t k = 0; k < 3; ++k) {
        const double step = std::clamp((position[k] - low[k]) / side * kSteps, 0.0, kSteps - 1);
        result |= spread(static_cast<std::uint64_t>(step)) << k;
    }
    return result;
}

std::vector<int> assign_regions(std::span<const std::uint64_t> counts, int ranks) {
    std::uint64_t all = 0;
    for (const std::uint64_t count : counts)
        all += count;
    std::vector<int> owners;
    owners.reserve(counts.size());
    std::uint64_t before = 0;
    for (const std::uint64_t count : counts) {
        const std::uint64_t middle = before + count / 2;
        const auto share = all == 0 ? 0 : middle * static_cast<std::uint64_t>(ranks) / all;
        owners.push_back(std::min(static_cast<int>(share), ranks - 1));
        before += count;
    }
    return owners;
}

std::vector<Region> build_regions(std::span<const Body> bodies, int rank, std::vector<Node>& nodes) {
    std::vector<Region> regions;
    SubtreeBuilder builder(rank, nodes);
    while (!bodies.empty()) {
        const std::uint32_t number = region_of(bodies.front().key);
        const auto end = std::find_if(bodies.begin(), bodies.end(),
                                      [number](const Body& body) { return region_of(body.key) != number; });
        const auto count = static_cast<std::size_t>(end - bodies.begin());
        regions.push_back({number, builder.build(bodies.first(count), kRegionLevel)});
        bodies = bodies.subspan(count);
    }
    return regions;
}

/// Constants of the construction.
struct TopTree::Build {
    std::span<const Region> regions;
    int rank;
    std::vector<Node>& nodes;
    std::vector<std::uint32_t> next_index;  ///< per rank
};

TopTree::TopTree(std::span<const std::uint64_t> counts, std::vector<int> owners)
    : owners_(std::move(owners)) {
    before_.push_back(0);
    for (const std::uint64_t count : counts)
        before_.push_back(before_.back() + count);
}

std::uint64_t TopTree::bodies_in(int level, std::uint32_t number) const {
    const int shift = 3 * (kRegionLevel - level);
    return before_[std::size_t{number + 1} << shift] - before_[std::size_t{number} << shift];
}

int TopTree::owner_of(int level, std::uint32_t number) const {
    std::size_t region = std::size_t{number} << (3 * (kRegionLevel - level));
    while (before_[region + 1] == before_[region])
        ++region;
    return owners_[region];
}

void TopTree::count(int level, std::uint32_t number, int rank, std::uint32_t& cells) const {
    if (level == kRegionLevel || bodies_in(level, number) < 2) return;
    if (owner_of(level, number) == rank) ++cells;
    for (std::uint32_t octant = 0; octant < 8; ++octant)
        count(level + 1, number * 8 + octant, rank, cells);
}

std::uint32_t TopTree::cells_of(int rank) const {
    std::uint32_t cells = 0;
    count(0, 0, rank, cells);
    return cells;
}

Branch TopTree::build_cell(int level, std::uint32_t number, Build& build) const {
    const std::uint64_t bodies = bodies_in(level, number);
    if (bodies == 0) return {};
    if (level == kRegionLevel || bodies == 1) {
        // A cell with one body is that body; its region's subtree is just the leaf.
        const Branch branch = build.regions.front().branch;
        build.regions = build.regions.subspan(1);
        return branch;
    }
    const int owner = owner_of(level, number);
    const Ref root{owner, build.next_index[static_cast<std::size_t>(owner)]++};
    Node node;
    MassSum sum;
    for (std::uint32_t octant = 0; octant < 8; ++octant) {
        const Branch child = build_cell(level + 1, number * 8 + octant, build);
        if (!child.root.exists()) continue;
        node.child[octant] = child.root;
        sum.add(child.position, child.mass);
    }
    const Branch result = sum.branch(root);
    node.position = result.position;
    node.mass = result.mass;
    if (owner == build.rank) build.nodes[root.index] = node;
    return result;
}

Branch TopTree::build(std::span<const Region> regions, int rank, std::vector<Node>& nodes) const {
    const auto ranks = static_cast<std::size_t>(*std::max_element(owners_.begin(), owners_.end())) + 1;
    Build build{regions, rank, nodes, std::vector<std::uint32_t>(ranks, 0)};
    return build_cell(0, 0, build);
}

}  // namespace nearfetch::barnes_hut

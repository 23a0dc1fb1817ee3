// SPDX-License-Identifier: Apache-2.0
//
// The distributed octree: one tree for any number of ranks, each body in it once, and forces against direct
// summation.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <vector>

#include "barnes_hut/octree.hpp"
#include "barnes_hut/plummer.hpp"
#include "barnes_hut/walk.hpp"

namespace nearfetch::barnes_hut {
namespace {

/// All ranks' windows in one process.
struct Forest {
    RootCube cube{};
    Ref root;
    std::vector<std::vector<Node>> windows;
    std::vector<Body> bodies;
    std::uint64_t reads = 0;

    const Node& read(Ref ref) {
        ++reads;
        return windows.at(static_cast<std::size_t>(ref.rank)).at(ref.index);
    }
};

Forest build_forest(std::vector<Body> bodies, int ranks) {
    Forest forest;
    Vector low = bodies.front().position;
    Vector high = low;
    for (const Body& body : bodies) {
        for (std::size_t k = 0; k < 3; ++k) {
            low[k] = std::min(low[k], body.position[k]);
            high[k] = std::max(high[k], body.position[k]);
        }
    }
    forest.cube = RootCube::around(low, high);
    std::vector<std::uint64_t> counts(kRegions, 0);
    for (Body& body : bodies) {
        body.key = forest.cube.key(body.position);
        ++counts[region_of(body.key)];
    }
    std::ranges::sort(
        bodies, [](const Body& a, const Body& b) { return std::pair(a.key, a.id) < std::pair(b.key, b.id); });
    const std::vector<int> owners = assign_regions(counts, ranks);
    const TopTree top(counts, owners);
    forest.windows.resize(static_cast<std::size_t>(ranks));
    std::vector<Region> regions;
    for (int rank = 0; rank < ranks; ++rank) {
        std::vector<Body> own;
        std::ranges::copy_if(bodies, std::back_inserter(own),
                             [&](const Body& body) { return owners[region_of(body.key)] == rank; });
        auto& nodes = forest.windows[static_cast<std::size_t>(rank)];
        nodes.assign(top.cells_of(rank), Node{});
        const auto part = build_regions(own, rank, nodes);
        regions.insert(regions.end(), part.begin(), part.end());
    }
    for (int rank = 0; rank < ranks; ++rank) {
        forest.root = top.build(regions, rank, forest.windows[static_cast<std::size_t>(rank)]).root;
    }
    forest.bodies = std::move(bodies);
    return forest;
}

std::vector<Body> plummer(std::int64_t count, std::uint64_t seed = 1) {
    std::vector<Body> bodies;
    for (std::int64_t id = 0; id < count; ++id)
        bodies.push_back(plummer_body(seed, id, count));
    return bodies;
}

Body body_at(double x, double y, double z, std::int64_t id, double mass = 1) {
    return {{x, y, z}, {}, mass, id, 0};
}

/// Checks a subtree's sums and collects its bodies.
double collect(Forest& forest, Ref ref, std::multiset<std::int64_t>& ids,
               std::set<std::pair<int, std::uint32_t>>& seen) {
    EXPECT_TRUE(seen.emplace(ref.rank, ref.index).second) << "a node is reached twice";
    const Node node = forest.read(ref);
    double mass = node.is_leaf() ? node.mass : 0;
    if (node.is_leaf()) ids.insert(node.body);
    for (const Ref child : node.child) {
        if (child.exists()) mass += collect(forest, child, ids, seen);
    }
    if (!node.is_leaf()) {
        EXPECT_NEAR(node.mass, mass, 1e-12 * mass);
        EXPECT_GE(std::ranges::count_if(node.child, [](Ref child) { return child.exists(); }), 1);
    }
    return mass;
}

Force direct_force(const std::vector<Body>& bodies, const Body& on, double softening) {
    Force force;
    for (const Body& other : bodies) {
        if (other.id != on.id) add_pull(force, on.position, other.position, other.mass, softening);
    }
    return force;
}

double length(const Vector& a, const Vector& b = {}) {
    return std::hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]);
}

TEST(Octree, HoldsEveryBodyOnceForAnyNumberOfRanks) {
    for (const int count : {1, 2, 3, 50, 3000}) {
        for (const int ranks : {1, 2, 4, 7}) {
            Forest forest = build_forest(plummer(count), ranks);
            std::multiset<std::int64_t> ids;
            std::set<std::pair<int, std::uint32_t>> seen;
            EXPECT_NEAR(collect(forest, forest.root, ids, seen), 1.0, 1e-12);
            EXPECT_EQ(ids.size(), static_cast<std::size_t>(count));
            EXPECT_EQ(std::set(ids.begin(), ids.end()).size(), static_cast<std::size_t>(count));
            std::size_t nodes = 0;
            for (const auto& window : forest.windows)
                nodes += window.size();
            EXPECT_EQ(seen.size(), nodes) << "nodes that no one reaches";
        }
    }
}

TEST(Octree, ForcesDoNotDependOnTheNumberOfRanks) {
    std::map<std::int64_t, Vector> expected;
    for (const int ranks : {1, 2, 3, 8}) {
        Forest forest = build_forest(plummer(1000), ranks);
        TreeWalk walk(forest, forest.cube, forest.root, {0.5, 0.01, false});
        for (const Body& body : forest.bodies) {
            const Vector force = walk.force_on(body.position, body.id).acceleration;
            ASSERT_EQ(expected.emplace(body.id, force).first->second, force)
                << ranks << " ranks, body " << body.id;
        }
    }
}

TEST(Octree, ThetaZeroIsDirectSummation) {
    Forest forest = build_forest(plummer(200), 3);
    TreeWalk walk(forest, forest.cube, forest.root, {0, 0, true});
    for (const Body& body : forest.bodies) {
        const Force force = walk.force_on(body.position, body.id);
        const Force direct = direct_force(forest.bodies, body, 0);
        EXPECT_LT(length(force.acceleration, direct.acceleration), 1e-11 * length(direct.acceleration));
        EXPECT_EQ(force.error_bound, 0);
    }
}

TEST(Octree, ErrorsStayBelowTheirBound) {
    // The bound of Salmon and Warren, see walk.hpp; finite for every cell below theta = 1/sqrt(3).
    double rms_before = 0;
    for (const double theta : {0.1, 0.3, 0.5, 0.57}) {
        for (const double softening : {0.0, 0.05}) {
            Forest forest = build_forest(plummer(1500), 2);
            TreeWalk walk(forest, forest.cube, forest.root, {theta, softening, true});
            double squares = 0;
            for (const Body& body : forest.bodies) {
                const Force force = walk.force_on(body.position, body.id);
                const Force direct = direct_force(forest.bodies, body, softening);
                const double error = length(force.acceleration, direct.acceleration);
                ASSERT_TRUE(std::isfinite(force.error_bound));
                ASSERT_LE(error, force.error_bound + 1e-11 * length(direct.acceleration));
                squares += error * error;
            }
            if (softening > 0) {
                EXPECT_GT(squares, rms_before);
                rms_before = squares;
            }
        }
    }
}

TEST(Octree, FewerNodesAreReadWithALargerTheta) {
    std::uint64_t before = ~std::uint64_t{0};
    for (const double theta : {0.0, 0.3, 0.6, 1.0}) {
        Forest forest = build_forest(plummer(500), 2);
        TreeWalk walk(forest, forest.cube, forest.root, {theta, 0, false});
        std::uint64_t visited = 0;
        forest.reads = 0;
        for (const Body& body : forest.bodies)
            visited += walk.force_on(body.position, body.id).visited_nodes;
        EXPECT_EQ(forest.reads, visited);
        EXPECT_LT(visited, before);
        before = visited;
    }
}

TEST(Octree, BodiesInOnePlaceFormAChain) {
    Forest forest = build_forest(
        {body_at(0, 0, 0, 0), body_at(0, 0, 0, 1), body_at(0, 0, 0, 2), body_at(1, 0, 0, 3, 2)}, 2);
    std::multiset<std::int64_t> ids;
    std::set<std::pair<int, std::uint32_t>> seen;
    collect(forest, forest.root, ids, seen);
    EXPECT_EQ(ids, (std::multiset<std::int64_t>{0, 1, 2, 3}));
    TreeWalk walk(forest, forest.cube, forest.root, {0.5, 0, false});
    EXPECT_DOUBLE_EQ(walk.force_on({1, 0, 0}, 3).acceleration[0], -3.0);
    EXPECT_DOUBLE_EQ(walk.force_on({0, 0, 0}, 1).acceleration[0], 2.0);
}

TEST(Octree, ACellAroundTheBodyIsAlwaysOpened) {
    // A distant heavy body pulls the cell's centre of mass away from a light one in the cell.
    Forest forest =
        build_forest({body_at(0, 0, 0, 0, 1e-6), body_at(1, 1, 1, 1, 1), body_at(0.01, 0, 0, 2, 1e-6)}, 1);
    TreeWalk walk(forest, forest.cube, forest.root, {2.0, 0, false});
    const Force force = walk.force_on({0, 0, 0}, 0);
    const Force direct = direct_force(forest.bodies, body_at(0, 0, 0, 0), 0);
    EXPECT_LT(length(force.acceleration, direct.acceleration), 1e-12);
}

TEST(Octree, RegionsAreSharedOutEvenly) {
    const std::vector<Body> bodies = plummer(20000);
    for (const int ranks : {2, 4, 16}) {
        const Forest forest = build_forest(bodies, ranks);
        std::size_t most = 0;
        for (const auto& window : forest.windows)
            most = std::max(most, window.size());
        std::size_t all = 0;
        for (const auto& window : forest.windows)
            all += window.size();
        EXPECT_LT(most, 2 * all / static_cast<std::size_t>(ranks)) << ranks;
    }
    const std::vector<std::uint64_t> nothing(kRegions, 0);
    EXPECT_EQ(assign_regions(nothing, 3), std::vector<int>(kRegions, 0));
}

TEST(RootCube, KeysFollowTheOctants) {
    const RootCube cube{{0, 0, 0}, 1};
    const std::uint64_t top = std::uint64_t{1} << (3 * (kDeepestLevel - 1));
    EXPECT_EQ(cube.key({0.1, 0.1, 0.1}) / top, 0U);
    EXPECT_EQ(cube.key({0.9, 0.1, 0.1}) / top, 1U);
    EXPECT_EQ(cube.key({0.1, 0.9, 0.1}) / top, 2U);
    EXPECT_EQ(cube.key({0.1, 0.1, 0.9}) / top, 4U);
    EXPECT_EQ(cube.key({1, 1, 1}), (std::uint64_t{1} << 63) - 1);
    EXPECT_EQ(cube.key({-5, -5, -5}), 0U);
}

TEST(Plummer, HasUnitMassAndVirialEnergy) {
    const std::vector<Body> bodies = plummer(4000);
    double mass = 0;
    double kinetic = 0;
    double potential = 0;
    for (const Body& body : bodies) {
        mass += body.mass;
        kinetic += body.mass / 2 * std::pow(length(body.velocity), 2);
        potential += body.mass / 2 * direct_force(bodies, body, 0).potential;
    }
    EXPECT_NEAR(mass, 1, 1e-12);
    // A sample of 4000 bodies scatters by a few per cent around 1/4 and -1/2.
    EXPECT_NEAR(kinetic, 0.25, 0.02);
    EXPECT_NEAR(potential, -0.5, 0.03);
    EXPECT_EQ(plummer_body(1, 7, 4000).position, bodies[7].position);
    EXPECT_NE(plummer_body(2, 7, 4000).position, bodies[7].position);
}

}  // namespace
}  // namespace nearfetch::barnes_hut

// SPDX-License-Identifier: Apache-2.0
//
// Adjacency lists, their intersection, coefficients of graphs known by hand, and the random graph.

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "common/compensated_sum.hpp"
#include "common/random.hpp"
#include "graph/csr.hpp"
#include "graph/rmat.hpp"

namespace nearfetch::graph {
namespace {

EdgeList make_graph(std::uint64_t vertices, const std::vector<std::pair<Vertex, Vertex>>& edges) {
    EdgeCollector collector;
    for (const auto& [a, b] : edges)
        collector.add(a, b);
    return collector.finish(vertices);
}

std::uint64_t closed_pairs(const Csr& csr, Vertex v) {
    std::uint64_t closed = 0;
    for (const Vertex u : csr.neighbours(v))
        closed += count_common(csr.neighbours(v), csr.neighbours(u));
    return closed;
}

TEST(Csr, ListsAreSortedAndSymmetric) {
    const Csr csr = build_csr(make_graph(5, {{3, 1}, {0, 3}, {1, 0}, {4, 3}}));
    const std::vector<std::vector<Vertex>> expected = {{1, 3}, {0, 3}, {}, {0, 1, 4}, {3}};
    ASSERT_EQ(csr.vertices(), 5U);
    for (Vertex v = 0; v < 5; ++v) {
        EXPECT_TRUE(std::ranges::equal(csr.neighbours(v), expected[v])) << v;
    }
}

TEST(Clustering, Triangle) {
    const Csr csr = build_csr(make_graph(3, {{0, 1}, {1, 2}, {2, 0}}));
    for (Vertex v = 0; v < 3; ++v) {
        EXPECT_EQ(closed_pairs(csr, v), 2U);
        EXPECT_EQ(clustering_coefficient(closed_pairs(csr, v), 2), 1.0);
    }
}

TEST(Clustering, StarHasNone) {
    const Csr csr = build_csr(make_graph(5, {{0, 1}, {0, 2}, {0, 3}, {0, 4}}));
    for (Vertex v = 0; v < 5; ++v) {
        EXPECT_EQ(clustering_coefficient(closed_pairs(csr, v), csr.neighbours(v).size()), 0.0);
    }
}

TEST(Clustering, CompleteGraphOfFive) {
    std::vector<std::pair<Vertex, Vertex>> edges;
    for (Vertex a = 0; a < 5; ++a) {
        for (Vertex b = a + 1; b < 5; ++b)
            edges.emplace_back(a, b);
    }
    const Csr csr = build_csr(make_graph(5, edges));
    for (Vertex v = 0; v < 5; ++v) {
        EXPECT_EQ(closed_pairs(csr, v), 12U);  // of 4 * 3 ordered pairs
        EXPECT_EQ(clustering_coefficient(12, 4), 1.0);
    }
}

TEST(Clustering, TriangleWithATail) {
    const Csr csr = build_csr(make_graph(4, {{0, 1}, {1, 2}, {2, 0}, {2, 3}}));
    EXPECT_EQ(clustering_coefficient(closed_pairs(csr, 2), 3), 2.0 / 6.0);
    EXPECT_EQ(clustering_coefficient(closed_pairs(csr, 3), 1), 0.0);
    EXPECT_EQ(clustering_coefficient(0, 0), 0.0);
}

TEST(CountCommon, AgreesWithSetsForAllProportions) {
    apps::Random random(7);
    for (int round = 0; round < 300; ++round) {
        std::set<Vertex> a;
        std::set<Vertex> b;
        // Length ratios from 1 to 1000, so that both intersection algorithms run.
        const int small = static_cast<int>(random.next() % 20);
        const int large = round % 2 == 0 ? small : 3000;
        for (int i = 0; i < small; ++i)
            a.insert(static_cast<Vertex>(random.next() % 5000));
        for (int i = 0; i < large; ++i)
            b.insert(static_cast<Vertex>(random.next() % 5000));
        std::vector<Vertex> common;
        std::ranges::set_intersection(a, b, std::back_inserter(common));
        const std::vector<Vertex> x(a.begin(), a.end());
        const std::vector<Vertex> y(b.begin(), b.end());
        ASSERT_EQ(count_common(x, y), common.size());
        ASSERT_EQ(count_common(y, x), common.size());
    }
}

TEST(Random, FollowsItsSource) {
    // SplitMix64 from 0 gives e220a8397b1dcdaf, 6e789e6aa1b965f4, 06c45d188009454f, f88bb8a8724c81ec; the
    // first output of xoshiro256** is then rotl(5 * second, 7) * 9.
    EXPECT_EQ(apps::Random(0).next(), 0x99ec5f36cb75f2b4U);
    apps::Random random(1);
    for (int i = 0; i < 1000; ++i) {
        const double value = random.uniform();
        ASSERT_GE(value, 0.0);
        ASSERT_LT(value, 1.0);
    }
}

TEST(Rmat, IsTheSameEverywhere) {
    // Golden counts, to detect differences between platforms or versions.
    const EdgeList graph = make_rmat(10, 8, 1);
    EXPECT_EQ(graph.vertices, 1024U);
    EXPECT_EQ(graph.edges.size(), 6054U);
    EXPECT_EQ(graph.self_loops, 75U);
    EXPECT_EQ(graph.duplicates, 2063U);
    EXPECT_EQ(graph.edges.size() + graph.self_loops + graph.duplicates, 8U * 1024U);
    EXPECT_EQ(make_rmat(10, 8, 1).edges, graph.edges);
    EXPECT_NE(make_rmat(10, 8, 2).edges, graph.edges);
}

TEST(Shuffled, IsTheSameGraphUnderOtherNumbers) {
    const EdgeList graph = make_graph(6, {{0, 1}, {0, 2}, {0, 3}, {4, 5}});
    const EdgeList other = shuffled(graph, 1);
    EXPECT_EQ(other.vertices, 6U);
    EXPECT_NE(other.edges, graph.edges);
    EXPECT_TRUE(std::is_sorted(other.edges.begin(), other.edges.end()));
    EdgeCollector back;
    for (const Edge& edge : other.edges) {
        EXPECT_LT(edge.low, edge.high);
        back.add(other.labels[edge.low], other.labels[edge.high]);
    }
    EXPECT_EQ(back.finish(6).edges, graph.edges);
    EXPECT_EQ(shuffled(graph, 1).edges, other.edges);
    EXPECT_TRUE(shuffled(EdgeList{}, 1).edges.empty());
}

TEST(Shuffled, KeepsTheIdsOfTheFile) {
    EdgeCollector collector;
    collector.add(70, 50);
    const EdgeList other = shuffled(collector.finish(std::nullopt), 3);
    EXPECT_EQ(std::set<std::uint32_t>(other.labels.begin(), other.labels.end()),
              (std::set<std::uint32_t>{50, 70}));
}

TEST(Shuffled, BlocksOfVerticesHaveAboutAsManyEdgesEach) {
    const Csr csr = build_csr(shuffled(make_rmat(12, 16, 1), 1));
    const std::uint64_t block = csr.vertices() / 8, mean = csr.offsets.back() / 8;
    for (std::uint64_t n = 0; n < 8; ++n) {
        const std::uint64_t edges = csr.offsets[(n + 1) * block] - csr.offsets[n * block];
        EXPECT_GT(edges, mean / 2);
        EXPECT_LT(edges, mean * 2);
    }
}

TEST(Rmat, DrawsQuadrantsWithTheirProbabilities) {
    // At scale 1 the quadrants are the edges 0-0 (0.57), 0-1 (0.38 in both directions), 1-1 (0.05).
    const std::uint64_t draws = 100000;
    const EdgeList graph = make_rmat(1, draws / 2, 3);
    EXPECT_EQ(graph.edges, (std::vector<Edge>{{0, 1}}));
    // Five standard deviations: sqrt(n p (1 - p)) is at most 158.
    EXPECT_NEAR(static_cast<double>(graph.self_loops), 0.62 * draws, 5 * 158);
}

TEST(CompensatedSum, KeepsWhatAPlainSumLoses) {
    apps::CompensatedSum sum;
    for (const double value : {1.0, 1e100, 1.0, -1e100})
        sum.add(value);
    EXPECT_EQ(sum.value(), 2.0);
}

}  // namespace
}  // namespace nearfetch::graph

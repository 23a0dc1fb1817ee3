// SPDX-License-Identifier: Apache-2.0
#include "traces.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <span>

#include "barnes_hut/plummer.hpp"
#include "barnes_hut/walk.hpp"
#include "graph/csr.hpp"
#include "graph/rmat.hpp"
#include "sequence.hpp"
#include "synthetic_traces.hpp"

namespace nearfetch::bench {

namespace {

constexpr std::uint64_t all = std::numeric_limits<std::uint64_t>::max();

Trace file_trace(const Keys& keys) {
    Trace trace;
    for (const SequenceGet& get : read_sequence(keys.text("path")))
        trace.gets.push_back({get.offset, static_cast<std::uint32_t>(get.size), 0});
    return trace;
}

Trace lcc_trace(const Keys& keys) {
    const std::uint64_t scale = keys.number("scale"), ranks = keys.number("ranks"),
                        rank = keys.number("rank");
    if (scale < 1 || scale > 31 || ranks < 1 || rank >= ranks)
        give_up("no such rank or graph (scale is 1 to 31, rank below ranks): correct the trace");
    const std::uint64_t seed = keys.number("seed");
    const graph::Csr csr = graph::build_csr(
        graph::shuffled(graph::make_rmat(static_cast<int>(scale), keys.number("edge_factor"), seed), seed));
    // Consecutive vertices belong to a rank, as in apps/lcc.
    const std::uint64_t block = (csr.vertices() + ranks - 1) / ranks;
    const auto first_of = [&](std::uint64_t owner) { return std::min(owner * block, csr.vertices()); };
    Trace trace;
    trace.ranks = static_cast<std::uint32_t>(ranks);
    const std::uint64_t end = first_of(rank + 1);
    for (std::uint64_t v = first_of(rank); v < end && v - first_of(rank) < keys.number("vertices"); ++v) {
        for (const graph::Vertex u : csr.neighbours(static_cast<graph::Vertex>(v))) {
            const std::uint64_t owner = u / block;
            if (owner == rank) continue;
            trace.gets.push_back(
                {(csr.offsets[u] - csr.offsets[first_of(owner)]) * sizeof(graph::Vertex),
                 static_cast<std::uint32_t>(csr.neighbours(u).size() * sizeof(graph::Vertex)),
                 static_cast<Rank>(owner)});
        }
    }
    return trace;
}

/// The tree of all ranks in one process, as apps/barnes_hut/distributed_tree.cpp deals it out.
struct WholeTree {
    barnes_hut::RootCube cube;
    barnes_hut::Ref root;
    std::vector<std::vector<barnes_hut::Node>> nodes;   ///< of each rank
    std::vector<std::vector<barnes_hut::Body>> bodies;  ///< of each rank, in the order of the curve
};

WholeTree build_tree(std::uint64_t count, int ranks, std::uint64_t seed) {
    using namespace barnes_hut;
    std::vector<Body> bodies;
    constexpr double infinity = std::numeric_limits<double>::infinity();
    Vector low{infinity, infinity, infinity}, high{-infinity, -infinity, -infinity};
    for (std::uint64_t id = 0; id < count; ++id) {
        bodies.push_back(plummer_body(seed, static_cast<std::int64_t>(id), static_cast<std::int64_t>(count)));
        for (std::size_t k = 0; k < 3; ++k) {
            low[k] = std::min(low[k], bodies.back().position[k]);
            high[k] = std::max(high[k], bodies.back().position[k]);
        }
    }
    WholeTree tree{RootCube::around(low, high), {}, {}, {}};
    std::vector<std::uint64_t> counts(kRegions, 0);
    for (Body& body : bodies) {
        body.key = tree.cube.key(body.position);
        ++counts[region_of(body.key)];
    }
    std::sort(bodies.begin(), bodies.end(),
              [](const Body& a, const Body& b) { return a.key != b.key ? a.key < b.key : a.id < b.id; });
    const std::vector<int> owners = assign_regions(counts, ranks);
    tree.nodes.resize(static_cast<std::size_t>(ranks));
    tree.bodies.resize(static_cast<std::size_t>(ranks));
    for (const Body& body : bodies)
        tree.bodies[static_cast<std::size_t>(owners[region_of(body.key)])].push_back(body);
    const TopTree top(counts, owners);
    std::vector<Region> regions;
    for (int rank = 0; rank < ranks; ++rank) {
        std::vector<Node>& nodes = tree.nodes[static_cast<std::size_t>(rank)];
        nodes.assign(top.cells_of(rank), Node{});
        const auto built = build_regions(tree.bodies[static_cast<std::size_t>(rank)], rank, nodes);
        regions.insert(regions.end(), built.begin(), built.end());
    }
    for (int rank = 0; rank < ranks; ++rank)
        tree.root = top.build(regions, rank, tree.nodes[static_cast<std::size_t>(rank)]).root;
    return tree;
}

/// Reads nodes for a rank, and notes those of others.
class RecordingReader {
  public:
    RecordingReader(const WholeTree& tree, Rank rank, Trace& trace)
        : tree_(tree), rank_(rank), trace_(trace) {}

    const barnes_hut::Node& read(barnes_hut::Ref ref) {
        constexpr auto bytes = static_cast<std::uint32_t>(sizeof(barnes_hut::Node));
        if (ref.rank != rank_) trace_.gets.push_back({std::uint64_t{ref.index} * bytes, bytes, ref.rank});
        return tree_.nodes[static_cast<std::size_t>(ref.rank)][ref.index];
    }

  private:
    const WholeTree& tree_;
    Rank rank_;
    Trace& trace_;
};

Trace barnes_hut_trace(const Keys& keys) {
    const std::uint64_t bodies = keys.number("bodies"), ranks = keys.number("ranks"),
                        rank = keys.number("rank");
    if (bodies < 1 || ranks < 1 || ranks > bodies || rank >= ranks)
        give_up("no such rank (it is below ranks, and each has a body): correct the trace");
    const WholeTree tree = build_tree(bodies, static_cast<int>(ranks), keys.number("seed"));
    Trace trace;
    trace.ranks = static_cast<std::uint32_t>(ranks);
    RecordingReader reader(tree, static_cast<Rank>(rank), trace);
    barnes_hut::TreeWalk walk(reader, tree.cube, tree.root, {});
    for (const barnes_hut::Body& body : tree.bodies[rank])
        (void)walk.force_on(body.position, body.id);
    return trace;
}

}  // namespace

Trace make_trace(const Config& chosen) {
    using Defaults = std::map<std::string, std::string>;
    struct Kind {
        const char* name;
        Trace (*make)(const Keys&);
        Defaults defaults;
    };
    const std::array kinds{
        Kind{"file", file_trace, {{"path", ""}}},
        Kind{"lcc",
             lcc_trace,
             {{"scale", "14"},
              {"edge_factor", "16"},
              {"seed", "1"},
              {"ranks", "32"},
              {"rank", "0"},
              {"vertices", std::to_string(all)}}},
        Kind{"barnes_hut",
             barnes_hut_trace,
             {{"bodies", "20000"}, {"seed", "1"}, {"ranks", "16"}, {"rank", "0"}}},
        Kind{"paper", paper_trace, {{"gets", "20000"}, {"distinct", "1000"}, {"seed", "1"}}},
        Kind{
            "mixed", mixed_trace, {{"gets", "200000"}, {"distinct", "8000"}, {"skew", "0.8"}, {"seed", "1"}}},
        Kind{"scan",
             scan_trace,
             {{"gets", "400000"},
              {"hot", "20000"},
              {"distinct", "220000"},
              {"bytes", "256"},
              {"skew", "0.8"},
              {"share", "0.5"},
              {"seed", "1"}}},
        Kind{"hash_table",
             hash_table_trace,
             {{"gets", "400000"}, {"keys", "200000"}, {"ranks", "16"}, {"skew", "0.9"}, {"seed", "1"}}},
        Kind{"tiles",
             tiles_trace,
             {{"gets", "400000"},
              {"tiles", "4096"},
              {"tile_bytes", "4096"},
              {"bytes", "8"},
              {"skew", "0.8"},
              {"seed", "1"}}},
    };
    std::string names;
    for (const Kind& kind : kinds) {
        if (chosen.name == kind.name) return kind.make(Keys(chosen, kind.defaults));
        names += std::string(names.empty() ? "" : ", ") + kind.name;
    }
    give_up("no trace '" + chosen.name + "' (there are: " + names + "): name one of these");
}

}  // namespace nearfetch::bench

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

using Defaults = std::map<std::string, std::string>;

Defaults lcc_defaults() {
    return {{"scale", "14"}, {"edge_factor", "16"}, {"seed", "1"},
            {"ranks", "32"}, {"rank", "0"},         {"vertices", std::to_string(all)}};
}

/// The graph of all ranks. Consecutive vertices belong to a rank, as in apps/lcc.
class DealtGraph {
  public:
    explicit DealtGraph(const Keys& keys) : ranks_(keys.number("ranks")), vertices_(keys.number("vertices")) {
        const std::uint64_t scale = keys.number("scale"), seed = keys.number("seed");
        if (scale < 1 || scale > 31 || ranks_ < 1)
            give_up("no such graph (scale is 1 to 31, and there are ranks): correct the trace");
        csr_ = graph::build_csr(graph::shuffled(
            graph::make_rmat(static_cast<int>(scale), keys.number("edge_factor"), seed), seed));
        block_ = (csr_.vertices() + ranks_ - 1) / ranks_;
    }

    Trace trace_of(std::uint64_t rank) const {
        if (rank >= ranks_) give_up("no such rank (they are below ranks): correct the trace");
        Trace trace;
        trace.ranks = static_cast<std::uint32_t>(ranks_);
        const std::uint64_t end = first_of(rank + 1);
        for (std::uint64_t v = first_of(rank); v < end && v - first_of(rank) < vertices_; ++v)
            for (const graph::Vertex u : csr_.neighbours(static_cast<graph::Vertex>(v)))
                if (u / block_ != rank) trace.gets.push_back(get_of(u));
        return trace;
    }

  private:
    std::uint64_t first_of(std::uint64_t owner) const { return std::min(owner * block_, csr_.vertices()); }
    /// Of a vertex's neighbours.
    TraceGet get_of(graph::Vertex u) const {
        const std::uint64_t owner = u / block_;
        return {(csr_.offsets[u] - csr_.offsets[first_of(owner)]) * sizeof(graph::Vertex),
                static_cast<std::uint32_t>(csr_.neighbours(u).size() * sizeof(graph::Vertex)),
                static_cast<Rank>(owner)};
    }

    std::uint64_t ranks_;
    std::uint64_t vertices_;  ///< of each rank, at most
    graph::Csr csr_;
    std::uint64_t block_ = 0;
};

Trace lcc_trace(const Keys& keys) { return DealtGraph(keys).trace_of(keys.number("rank")); }

/// The tree of all ranks in one process, as apps/barnes_hut/distributed_tree.cpp deals it out.
struct WholeTree {
    barnes_hut::RootCube cube;
    barnes_hut::Ref root;
    std::vector<std::vector<barnes_hut::Node>> nodes;   ///< of each rank
    std::vector<std::vector<barnes_hut::Body>> bodies;  ///< of each rank, in the order of the curve
};

std::vector<barnes_hut::Body> make_bodies(std::uint64_t count, std::uint64_t seed) {
    std::vector<barnes_hut::Body> bodies;
    for (std::uint64_t id = 0; id < count; ++id)
        bodies.push_back(
            barnes_hut::plummer_body(seed, static_cast<std::int64_t>(id), static_cast<std::int64_t>(count)));
    return bodies;
}

WholeTree build_tree(std::vector<barnes_hut::Body> bodies, int ranks) {
    using namespace barnes_hut;
    constexpr double infinity = std::numeric_limits<double>::infinity();
    Vector low{infinity, infinity, infinity}, high{-infinity, -infinity, -infinity};
    for (const Body& body : bodies) {
        for (std::size_t k = 0; k < 3; ++k) {
            low[k] = std::min(low[k], body.position[k]);
            high[k] = std::max(high[k], body.position[k]);
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

/// A rank's bodies after a step, and the gets that it makes in it.
std::vector<barnes_hut::Body> run_step(const WholeTree& tree, std::uint64_t rank, bool is_first,
                                       Trace& trace) {
    using namespace barnes_hut;
    constexpr ForceOptions force{.softening = usual_softening};
    RecordingReader reader(tree, static_cast<Rank>(rank), trace);
    TreeWalk walk(reader, tree.cube, tree.root, force);
    std::vector<Body> bodies = tree.bodies[rank];
    for (Body& body : bodies) {
        const Vector acceleration = walk.force_on(body.position, body.id).acceleration;
        body.velocity = moved(body.velocity, acceleration, usual_time_step / (is_first ? 2 : 1));
        body.position = moved(body.position, body.velocity, usual_time_step);
    }
    return bodies;
}

/// The tree is built anew in each step, in the same window.
Trace barnes_hut_trace(const Keys& keys) {
    const std::uint64_t bodies = keys.number("bodies"), ranks = keys.number("ranks"),
                        rank = keys.number("rank");
    if (bodies < 1 || ranks < 1 || ranks > bodies || rank >= ranks)
        give_up("no such rank (it is below ranks, and each has a body): correct the trace");
    std::vector<barnes_hut::Body> all = make_bodies(bodies, keys.number("seed"));
    const std::uint64_t steps = keys.number("steps");
    Trace trace;
    trace.ranks = static_cast<std::uint32_t>(ranks);
    for (std::uint64_t step = 0; step < steps; ++step) {
        const WholeTree tree = build_tree(std::move(all), static_cast<int>(ranks));
        all = run_step(tree, rank, step == 0, trace);
        for (std::uint64_t other = 0; step + 1 < steps && other < ranks; ++other) {
            Trace ignored;
            if (other == rank) continue;
            const auto moved = run_step(tree, other, step == 0, ignored);
            all.insert(all.end(), moved.begin(), moved.end());
        }
    }
    return trace;
}

}  // namespace

std::vector<Trace> make_lcc_traces(const Config& chosen, std::uint64_t count) {
    const Keys keys(chosen, lcc_defaults());
    const DealtGraph graph(keys);
    std::vector<Trace> traces;
    for (std::uint64_t rank = 0; rank < count; ++rank)
        traces.push_back(graph.trace_of(keys.number("rank") + rank));
    return traces;
}

Trace make_trace(const Config& chosen) {
    struct Kind {
        const char* name;
        Trace (*make)(const Keys&);
        Defaults defaults;
    };
    const std::array kinds{
        Kind{"file", file_trace, {{"path", ""}}},
        Kind{"lcc", lcc_trace, lcc_defaults()},
        Kind{"barnes_hut",
             barnes_hut_trace,
             {{"bodies", "20000"}, {"seed", "1"}, {"ranks", "16"}, {"rank", "0"}, {"steps", "1"}}},
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

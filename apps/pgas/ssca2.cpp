// SPDX-License-Identifier: Apache-2.0
//
// SSCA2, kernel 4 (D. Bader et al., *HPCS Scalable Synthetic Compact Applications #2: Graph Analysis*, v2.2;
// Ferguson and Buettner 2015, section V-B): betweenness centrality of all vertices, by Brandes' algorithm.
// From each source a search visits the graph level by level and counts the shortest paths. Then dependencies
// are summed level by level backward.
//
// Vertices have a block distribution. A level's vertices are distributed evenly over the ranks, independent
// of their owners, because the vertices of largest degree are all at one rank. So a search reads remote
// adjacency lists, element by element, between atomics by which ranks mark vertices and count paths. With
// sequentially consistent atomics a cache is invalidated at each of them; with relaxed ones it is not. The
// barriers between levels order everything else.

#include <CLI/CLI.hpp>
#include <utility>

#include "common/random.hpp"
#include "common/validators.hpp"
#include "pgas/graph.hpp"
#include "pgas/program.hpp"

using namespace nearfetch;

namespace {

constexpr std::int64_t unseen = -1;

/// An array with one element per vertex, in blocks.
template <class T>
class PerVertex {
  public:
    explicit PerVertex(std::int64_t vertices)
        : block_((vertices + ranks() - 1) / ranks()), parts_(allocate<T>(block_)) {}

    GlobalPtr<T> at(std::int64_t v) const {
        return parts_.at_rank(static_cast<Rank>(v / block_)) + v % block_;
    }
    GlobalRef<T> operator[](std::int64_t v) const { return *at(v); }

  private:
    std::int64_t block_;
    GlobalPtr<T> parts_;
};

/// The program's shared data.
struct Search {
    Search(const programs::Graph& graph, std::memory_order atomics)
        : vertices(graph.vertices()),
          order(atomics),
          first(vertices),
          count(vertices),
          depth(vertices),
          paths(vertices),
          dependency(vertices),
          centrality(vertices),
          queue(allocate<std::int64_t>(vertices).at_rank(0)),
          ends(allocate<std::int64_t>(vertices + 2).at_rank(0)) {
        const std::int64_t block = (vertices + ranks() - 1) / ranks();
        neighbours = allocate<std::int64_t>(graph.most_edges(block));
        const std::int64_t begin = std::min(rank() * block, vertices);
        const std::int64_t end = std::min(begin + block, vertices);
        std::int64_t place = 0;
        for (std::int64_t v = begin; v < end; ++v) {
            first[v] = place;
            count[v] = graph.degree(v);
            for (const std::int64_t w : graph.neighbours(v))
                neighbours[place++] = w;
        }
    }

    GlobalPtr<std::int64_t> list(std::int64_t v) const {
        return neighbours.at_rank(first.at(v).rank()) + static_cast<std::int64_t>(first[v]);
    }

    /// Adds to a shared number. \return its value before
    std::int64_t add(GlobalPtr<std::int64_t> to, std::int64_t amount) const {
        note_atomic(to.rank());
        return atomic_fetch_add(to, amount, order);
    }
    /// Marks a vertex at that depth if it is new. \return its depth, and whether it is new
    std::pair<std::int64_t, bool> find(std::int64_t v, std::int64_t at_depth) const {
        note_atomic(depth.at(v).rank());
        std::int64_t seen = unseen;
        const bool is_new = atomic_compare_exchange(depth.at(v), seen, at_depth, order);
        return {is_new ? at_depth : seen, is_new};
    }
    void note_atomic(Rank where) const { remote_atomics += where != rank() ? 1 : 0; }

    std::int64_t vertices;
    std::memory_order order;
    mutable std::uint64_t remote_atomics = 0;  ///< of the calling rank
    PerVertex<std::int64_t> first, count;      ///< a vertex's list among those of its rank
    PerVertex<std::int64_t> depth, paths;
    PerVertex<double> dependency, centrality;
    GlobalPtr<std::int64_t> neighbours;
    GlobalPtr<std::int64_t> queue;  ///< vertices in the order of discovery
    GlobalPtr<std::int64_t> ends;   ///< of the levels in the queue
};

/// Calls visit(v) for the calling rank's share of the queue's [begin, end).
template <class Visit>
void for_each_share(const Search& s, std::int64_t begin, std::int64_t end, Visit&& visit) {
    const std::int64_t size = end - begin;
    for (std::int64_t i = begin + size * rank() / ranks(); i < begin + size * (rank() + 1) / ranks(); ++i)
        visit(static_cast<std::int64_t>(s.queue[i]));
}

/// Searches from a source. \return the ends of its levels in the queue
std::vector<std::int64_t> search(const Search& s, std::int64_t source) {
    const std::int64_t block = (s.vertices + ranks() - 1) / ranks();
    for (std::int64_t v = std::min(rank() * block, s.vertices);
         v < std::min((rank() + 1) * block, s.vertices); ++v) {
        s.depth[v] = v == source ? 0 : unseen;
        s.paths[v] = v == source ? 1 : 0;
        s.dependency[v] = 0;
    }
    if (rank() == 0) {
        s.queue[0] = source;
        s.ends[0] = 1;
        for (std::int64_t level = 1; level < s.vertices + 2; ++level)
            s.ends[level] = 0;
    }
    barrier();
    std::vector<std::int64_t> ends{0, 1};
    for (std::int64_t level = 0; ends[level] < ends[level + 1]; ++level) {
        for_each_share(s, ends[level], ends[level + 1], [&](std::int64_t v) {
            const std::int64_t paths = s.paths[v];
            const std::int64_t degree = s.count[v];
            const auto list = s.list(v);
            for (std::int64_t i = 0; i < degree; ++i) {
                const std::int64_t w = list[i];
                const auto [depth, is_new] = s.find(w, level + 1);
                if (is_new) s.queue[ends[level + 1] + s.add(s.ends + (level + 1), 1)] = w;
                if (depth == level + 1) s.add(s.paths.at(w), paths);
            }
        });
        barrier();
        ends.push_back(ends.back() + s.ends[level + 1]);
    }
    return ends;
}

/// Sums dependencies from the deepest level on.
void gather(const Search& s, std::int64_t source, const std::vector<std::int64_t>& ends) {
    for (auto level = static_cast<std::int64_t>(ends.size()) - 3; level >= 0; --level) {
        for_each_share(s, ends[level], ends[level + 1], [&](std::int64_t v) {
            const auto paths = static_cast<double>(static_cast<std::int64_t>(s.paths[v]));
            const std::int64_t degree = s.count[v];
            const auto list = s.list(v);
            double sum = 0;
            for (std::int64_t i = 0; i < degree; ++i) {
                const std::int64_t w = list[i];
                if (s.depth[w] != level + 1) continue;
                sum += paths / static_cast<double>(static_cast<std::int64_t>(s.paths[w])) *
                       (1 + s.dependency[w]);
            }
            s.dependency[v] = sum;
            if (v != source) s.centrality[v] += sum;
        });
        barrier();
    }
}

struct Options {
    int scale = 8;
    std::int64_t edge_factor = 8;
    std::int64_t sources = 0;
    std::string atomics = "seq_cst";
    std::uint64_t graph_seed = 1;
};

void add_options(CLI::App& app, Options& options) {
    apps::add_number(app, "--scale", options.scale, 1, 20, "2^SCALE vertices");
    apps::add_number(app, "--edge-factor", options.edge_factor, 1, std::int64_t{1024},
                     "drawn edges per vertex");
    apps::add_number(app, "--sources", options.sources, 0, std::int64_t{1} << 20,
                     "searches from that many vertices; 0: from all");
    app.add_option("--atomics", options.atomics, "memory order of the atomic operations")
        ->check(CLI::IsMember({"seq_cst", "relaxed"}))
        ->capture_default_str();
    apps::add_number(app, "--graph-seed", options.graph_seed, 0, ~std::uint64_t{0} >> 1, "of the graph");
}

}  // namespace

int main(int argc, char** argv) {
    programs::Program program("ssca2", "Betweenness centrality of a random graph (SSCA2, kernel 4).");
    Options options;
    add_options(program.options(), options);
    const auto vertices = [&] { return std::int64_t{1} << options.scale; };
    const auto segment_bytes = [&] {
        // Seven numbers per vertex, the levels, and all edges in case one rank has them.
        return 8 * static_cast<std::uint64_t>(vertices() * (8 + options.edge_factor)) + 4096;
    };
    return program.run(argc, argv, segment_bytes, [&](programs::Run& run) {
        const programs::Graph graph(options.scale, options.edge_factor, options.graph_seed);
        const Search s(graph,
                       options.atomics == "relaxed" ? std::memory_order_relaxed : std::memory_order_seq_cst);
        const std::int64_t sources =
            options.sources == 0 ? vertices() : std::min(options.sources, vertices());

        run.begin();
        for (std::int64_t source = 0; source < sources; ++source)
            gather(s, source, search(s, source));
        run.end();

        // The order in a level varies, but sums are the same bit for bit.
        bool right = true;
        std::uint64_t checksum = 0;
        if (rank() == 0) {
            const std::vector<double> expected = programs::betweenness(graph, sources);
            for (std::int64_t v = 0; v < vertices(); ++v) {
                const double value = s.centrality[v];
                right = right && value == expected[static_cast<std::size_t>(v)];
                checksum += apps::mixed(std::bit_cast<std::uint64_t>(value) + static_cast<std::uint64_t>(v));
            }
            run.note("atomics", options.atomics);
            run.note("edges", static_cast<std::uint64_t>(graph.edges()));
        }
        run.result(checksum, right);
        // Each atomic is waited for.
        run.least({.get_messages = s.remote_atomics,
                   .get_bytes = 8 * s.remote_atomics,
                   .round_trips = s.remote_atomics});
    });
}

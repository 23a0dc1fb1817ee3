// SPDX-License-Identifier: Apache-2.0
//
// SSCA2, kernel 4 (D. Bader et al., *HPCS Scalable Synthetic Compact Applications #2: Graph Analysis*, v2.2;
// Ferguson and Buettner 2015, section V-B): betweenness centrality of all vertices, by Brandes' algorithm.
// From each source a search visits the graph level by level and counts the shortest paths. Then dependencies
// are summed level by level backward. Vertices have a block distribution.
//
//   original       calls a vertex's owner for each edge, as the program that the paper measures
//   remote-reads   reads adjacency lists remotely, and makes no calls

#include <CLI/CLI.hpp>

#include "common/random.hpp"
#include "common/validators.hpp"
#include "pgas/atomics.hpp"
#include "pgas/ssca2_original.hpp"
#include "pgas/ssca2_remote_reads.hpp"

using namespace nearfetch;

namespace {

struct Options {
    int scale = 8;
    std::int64_t edge_factor = 8;
    std::int64_t sources = 0;
    int at_once = 0;
    std::string version = "original";
    programs::Atomics atomics{"seq_cst"};
    std::uint64_t graph_seed = 1;

    static constexpr int most_at_once = 16;

    std::int64_t vertices() const { return std::int64_t{1} << scale; }
    std::int64_t searches() const { return sources == 0 ? vertices() : std::min(sources, vertices()); }
    /// As many as ranks unless asked otherwise, at most 16 (000's program: numTPVs).
    int searches_at_once() const {
        const int wanted = at_once == 0 ? std::min<int>(ranks(), most_at_once) : at_once;
        return static_cast<int>(std::min<std::int64_t>(wanted, searches()));
    }
};

void add_options(CLI::App& app, Options& options) {
    apps::add_number(app, "--scale", options.scale, 1, 20, "2^SCALE vertices");
    apps::add_number(app, "--edge-factor", options.edge_factor, 1, std::int64_t{1024},
                     "drawn edges per vertex");
    apps::add_number(app, "--sources", options.sources, 0, std::int64_t{1} << 20,
                     "searches from that many vertices; 0: from all");
    apps::add_number(app, "--at-once", options.at_once, 0, Options::most_at_once,
                     "searches at the same time, of version original; 0: as many as ranks, at most 16");
    app.add_option("--version", options.version, "original or remote-reads")
        ->check(CLI::IsMember({"original", "remote-reads"}))
        ->capture_default_str();
    options.atomics.add_option(app);
    apps::add_number(app, "--graph-seed", options.graph_seed, 0, ~std::uint64_t{0} >> 1, "of the graph");
}

template <class Version>
programs::LeastTraffic time(Version&& version, programs::Run& run, const Options& options) {
    run.begin();
    version.run(options.searches());
    run.end();
    return version.least();
}

/// The order in a level varies, but sums are the same bit for bit.
void report(programs::Run& run, const programs::Graph& graph, const Options& options,
            const programs::PerVertex<double>& centrality) {
    bool right = true;
    std::uint64_t checksum = 0;
    if (rank() == 0) {
        const std::vector<double> expected = programs::betweenness(graph, options.searches());
        for (std::int64_t v = 0; v < options.vertices(); ++v) {
            const double value = centrality[v];
            right = right && value == expected[static_cast<std::size_t>(v)];
            checksum += apps::mixed(std::bit_cast<std::uint64_t>(value) + static_cast<std::uint64_t>(v));
        }
        run.note("version", options.version);
        run.note("atomics", options.atomics.name());
        run.note("edges", static_cast<std::uint64_t>(graph.edges()));
    }
    run.result(checksum, right);
}

}  // namespace

int main(int argc, char** argv) {
    programs::Program program("ssca2", "Betweenness centrality of a random graph (SSCA2, kernel 4).");
    Options options;
    add_options(program.options(), options);
    return program.run(argc, argv, [&](programs::Run& run) {
        const programs::Graph graph(options.scale, options.edge_factor, options.graph_seed);
        const programs::PerVertex<double> centrality{programs::VertexBlocks(graph.vertices())};
        const std::memory_order order = options.atomics.order();
        run.least(
            options.version == "original"
                ? time(programs::Original(graph, centrality, order, options.searches_at_once()), run, options)
                : time(programs::RemoteReads(graph, centrality, order), run, options));
        report(run, graph, options, centrality);
    });
}

// SPDX-License-Identifier: Apache-2.0
//
// Local clustering coefficients by MPI one-sided communication, after paper 001, section IV-C. A plain MPI
// program whose ranks read each other's adjacency lists repeatedly, from 4 bytes to the size of the largest
// vertices. The results do not depend on the number of ranks, bit for bit: triangles are integers, and rank 0
// sums the coefficients in vertex order.

#include <algorithm>
#include <fstream>
#include <limits>
#include <utility>

#include "common/compensated_sum.hpp"
#include "common/ideal_cache.hpp"
#include "common/mpi_support.hpp"
#include "common/report.hpp"
#include "common/stopwatch.hpp"
#include "graph/graph_error.hpp"
#include "graph/rmat.hpp"
#include "lcc/clustering.hpp"
#include "lcc/options.hpp"

namespace nearfetch::lcc {
namespace {

/// Rank 0's data of the input graph.
struct Input {
    graph::Csr csr;
    std::vector<std::uint32_t> labels;
    std::uint64_t self_loops = 0;
    std::uint64_t duplicates = 0;
    std::uint64_t columns_ignored = 0;
};

/// One run over all vertices.
struct Run {
    LocalResult local;
    double communication_seconds = 0;  ///< maximum over the ranks
    double first_get_seconds = 0;      ///< maximum over the ranks
    double ideal_cache_seconds = 0;    ///< maximum over the ranks
    double total_seconds = 0;          ///< maximum over the ranks
};

Input make_input(const Options& options) {
    graph::EdgeList edges = options.file.empty()
                                ? graph::make_rmat(options.rmat_scale, options.edge_factor, options.seed)
                                : graph::read_edge_file(options.file, options.reading);
    if (options.shuffle) edges = graph::shuffled(edges, options.seed);
    Input input{graph::build_csr(edges), std::move(edges.labels), edges.self_loops, edges.duplicates,
                edges.columns_ignored};
    for (std::uint64_t v = 0; v < input.csr.vertices(); ++v) {
        if (input.csr.neighbours(static_cast<graph::Vertex>(v)).size() > std::numeric_limits<int>::max()) {
            throw graph::GraphError(graph::complaint("a vertex has more than 2^31-1 neighbours",
                                                     "one MPI_Get cannot read its list",
                                                     "give a sparser graph"));
        }
    }
    return input;
}

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    const std::size_t half = values.size() / 2;
    return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

/// How many vertices `rank` processes.
std::uint64_t processed_by(int rank, const DistributedGraph& graph, const Options& options) {
    if (options.max_ranks && static_cast<std::uint64_t>(rank) >= *options.max_ranks) return 0;
    const std::uint64_t held = graph.first_vertex(rank + 1) - graph.first_vertex(rank);
    return std::min(held, options.max_vertices.value_or(held));
}

Run run_once(const apps::MpiSession& mpi, const DistributedGraph& graph, const Options& options) {
    const std::uint64_t count = processed_by(mpi.rank(), graph, options);
    Run run;
    apps::Stopwatch watch;
    MPI_Barrier(MPI_COMM_WORLD);
    watch.start();
    run.local = count_closed_pairs(graph, count, options.lock_each, options.common.progress && mpi.is_root());
    watch.stop();
    run.total_seconds = apps::max_over_ranks(watch.seconds());
    run.communication_seconds = apps::max_over_ranks(run.local.communication_seconds);
    run.first_get_seconds = apps::max_over_ranks(run.local.first_get_seconds);
    run.ideal_cache_seconds = apps::max_over_ranks(run.local.ideal_cache_seconds);
    return run;
}

/// Results over all processed vertices; only on rank 0.
struct Summary {
    double average = 0;
    std::uint64_t closed_pairs = 0;
    std::uint64_t vertices = 0;
};

/// Sums in vertex order, and writes the coefficients.
Summary summarize(const apps::MpiSession& mpi, const DistributedGraph& graph, const Options& options,
                  const Input& input, const std::vector<std::uint64_t>& closed_pairs,
                  std::ostream& per_vertex) {
    Summary summary;
    apps::CompensatedSum sum;
    for (int rank = 0; rank < mpi.ranks(); ++rank) {
        const std::uint64_t first = graph.first_vertex(rank);
        for (std::uint64_t v = first; v < first + processed_by(rank, graph, options); ++v) {
            const std::uint64_t closed = closed_pairs[summary.vertices++];
            const double coefficient = graph::clustering_coefficient(closed, graph.degree(v));
            sum.add(coefficient);
            summary.closed_pairs += closed;
            if (!options.per_vertex_path.empty()) {
                per_vertex << (input.labels.empty() ? v : input.labels[v]) << ' ' << apps::exact(coefficient)
                           << '\n';
            }
        }
    }
    if (summary.vertices != 0) summary.average = sum.value() / static_cast<double>(summary.vertices);
    return summary;
}

void report_results(apps::Report& report, const DistributedGraph& graph, const Input& input,
                    const Summary& summary) {
    report.add("vertices", graph.vertices());
    report.add("edges", graph.edges());
    report.add("self_loops_removed", input.self_loops);
    report.add("duplicates_removed", input.duplicates);
    report.add("columns_ignored", input.columns_ignored);
    report.add("processed_vertices", summary.vertices);
    report.add("average", summary.average);
    report.add("closed_pairs", summary.closed_pairs);
    // Each triangle closes two ordered pairs at each of its three corners; with a part of the vertices only
    // some are counted.
    if (summary.vertices == graph.vertices()) report.add("triangles", summary.closed_pairs / 6);
}

int compute(const apps::MpiSession& mpi, const Options& options) {
    apps::check_infos(options.common.window.infos);
    Input input;
    std::ofstream json;
    std::ofstream per_vertex;
    const bool good = apps::root_succeeds(mpi, "lcc", [&] {
        apps::open_output(json, options.common.json_path);
        apps::open_output(per_vertex, options.per_vertex_path);
        input = make_input(options);
    });
    if (!good) return apps::kBadUse;
    const DistributedGraph graph(mpi, std::move(input.csr), options.common.window);
    std::vector<double> communication;
    std::vector<double> first_gets;
    std::vector<double> ideal_cache;
    std::vector<double> total;
    Run run;
    for (int repetition = 0; repetition < options.repeat; ++repetition) {
        run = run_once(mpi, graph, options);
        communication.push_back(run.communication_seconds);
        first_gets.push_back(run.first_get_seconds);
        ideal_cache.push_back(run.ideal_cache_seconds);
        total.push_back(run.total_seconds);
    }
    const auto closed_pairs = apps::gather_at_root(mpi, run.local.closed_pairs);
    const auto gets = apps::gather_at_root(mpi, std::vector{run.local.remote_gets});
    const auto distinct = apps::gather_at_root(mpi, std::vector{run.local.remote_vertices});
    const auto bytes = apps::gather_at_root(mpi, std::vector{run.local.remote_bytes});
    const std::uint64_t all_gets = apps::sum_over_ranks(run.local.remote_gets);
    const std::uint64_t all_bytes = apps::sum_over_ranks(run.local.remote_bytes);
    const std::uint64_t first_bytes = apps::sum_over_ranks(run.local.first_get_bytes);
    if (!mpi.is_root()) return 0;
    apps::Report report;
    report.add("ranks", mpi.ranks());
    report_results(report, graph, input, summarize(mpi, graph, options, input, closed_pairs, per_vertex));
    report.add("remote_gets", all_gets);
    report.add("remote_bytes", all_bytes);
    report.add("first_get_bytes", first_bytes);
    report.add("remote_gets_per_rank", gets);
    report.add("remote_bytes_per_rank", bytes);
    report.add("remote_vertices_per_rank", distinct);
    report.add("communication_seconds", median(communication));
    // Without nearfetch: what a cache without limit would leave, if its hits took no time.
    report.add("first_get_seconds", median(first_gets));
    if (apps::IdealCache::is_known) report.add("ideal_cache_seconds", median(ideal_cache));
    report.add("total_seconds", median(total));
    report.add("communication_seconds_per_repetition", communication);
    report.add("total_seconds_per_repetition", total);
    if (!per_vertex.flush()) {
        apps::complain(mpi, "lcc",
                       "the coefficients could not be written (the disk may be full): free some space");
        return 1;
    }
    return apps::deliver("lcc", report, json);
}

}  // namespace
}  // namespace nearfetch::lcc

int main(int argc, char** argv) {
    using namespace nearfetch;
    return apps::run_program<lcc::Options>(argc, argv, "lcc", lcc::parse_options, lcc::compute);
}

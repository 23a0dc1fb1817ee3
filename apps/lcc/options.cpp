// SPDX-License-Identifier: Apache-2.0
#include "lcc/options.hpp"

#include <CLI/CLI.hpp>
#include <map>

#include "common/validators.hpp"

namespace nearfetch::lcc {

apps::Parsed parse_options(int argc, const char* const* argv, Options& options) {
    CLI::App app(
        "Local clustering coefficients and triangles of an undirected graph, by MPI one-sided communication.",
        "lcc");
    auto* file = app.add_option("FILE", options.file,
                                "edge list (CSV, text of SNAP or KONECT, Matrix Market): plain, compressed "
                                "(gzip, bzip2, xz, zstd) or in an archive (tar, zip)");
    const std::map<std::string, graph::Format> formats = {
        {"csv", graph::Format::csv}, {"snap", graph::Format::snap}, {"mm", graph::Format::matrix_market}};
    app.add_option_function<std::string>(
           "--format", [&](const std::string& name) { options.reading.format = formats.at(name); },
           "format of FILE (default: recognised by its first lines)")
        ->check(CLI::IsMember({"csv", "snap", "mm"}))
        ->needs(file)
        ->type_name("csv|snap|mm");
    app.add_flag(
           "--ignore-columns", options.reading.ignore_columns,
           "take edges with more columns than the two ids, such as weights, signs and times; not needed "
           "where the file's header names them")
        ->needs(file);
    app.add_option("--member", options.reading.member,
                   "which file of an archive (default: the only one, out.NAME, or NAME/NAME.mtx)")
        ->needs(file)
        ->type_name("NAME");
    app.add_option(
           "--vertices", options.reading.vertices,
           "the graph has the vertices 0 to N-1 (default: those with an edge; Matrix Market: as declared)")
        ->check(CLI::Range(std::uint64_t{1}, graph::kMostVertices))
        ->needs(file)
        ->type_name("N");
    auto* scale =
        app.add_option("--rmat-scale", options.rmat_scale, "instead of a FILE: R-MAT graph of 2^S vertices")
            ->check(CLI::Range(1, 31))
            ->type_name("S");
    app.add_option("--edge-factor", options.edge_factor,
                   "drawn edges per vertex of the R-MAT graph (default 16)")
        ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 20))
        ->needs(scale)
        ->type_name("E");
    app.add_option("--seed", options.seed, "seed of the R-MAT graph (default 1)")
        ->check(apps::whole_number())
        ->needs(scale)
        ->type_name("X");
    app.add_flag("--shuffle", options.shuffle,
                 "number the R-MAT graph's vertices at random: each rank then has about as many edges")
        ->needs(scale);
    app.add_option("--per-vertex", options.per_vertex_path, "write `id coefficient` of every vertex")
        ->type_name("FILE");
    app.add_option("--max-vertices", options.max_vertices, "process only the first N vertices of each rank")
        ->check(apps::whole_number())
        ->type_name("N");
    app.add_option("--max-ranks", options.max_ranks,
                   "only the first N ranks process vertices; the others serve what is read of them")
        ->check(apps::whole_number())
        ->type_name("N");
    app.add_option("--repeat", options.repeat, "compute N times; the times printed are medians (default 1)")
        ->check(CLI::Range(1, 1000000))
        ->type_name("N");
    app.add_flag("--lock-each", options.lock_each,
                 "lock and unlock for each get (default: one lock_all for all, and a flush for each)");
    apps::add_common_options(app, options.common);
    apps::Parsed parsed = apps::parse(app, argc, argv);
    if (parsed.run && options.file.empty() == (scale->count() == 0)) {
        parsed = {false, apps::kBadUse,
                  "lcc: one graph is needed (FILE and --rmat-scale are two ways to name it): give exactly "
                  "one of them\n"};
    }
    return parsed;
}

}  // namespace nearfetch::lcc

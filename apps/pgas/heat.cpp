// SPDX-License-Identifier: Apache-2.0
//
// Heat diffusion in a cube with cold walls, to convergence (LAPPS, section 6.3 and Listing 4). In each step a
// cell gets a share of the differences to its six neighbours; two arrays alternate. The steps end when no
// cell changes by more than a tolerance. The initial state is an eigenmode of the discrete problem, a product
// of sines, so each step scales it by a known factor.

#include <CLI/CLI.hpp>
#include <cmath>
#include <nearfetch/stencil.hpp>
#include <numbers>

#include "pgas/arrays.hpp"
#include "pgas/padded.hpp"
#include "pgas/program.hpp"
#include "pgas/versions.hpp"

using namespace nearfetch;

namespace {

using Grid = BlockArray<double, 3>;
using Padded = programs::PaddedBlock<double, 3>;

constexpr double conductivity = 0.1;  // a step is stable below 1/6

struct Options {
    std::int64_t cells = 32;
    double tolerance = 1e-5;
    int steps = 1000;
    programs::Version version;

    /// With the walls, which stay cold.
    Box<3> bounds() const { return {{0, 0, 0}, {cells + 2, cells + 2, cells + 2}}; }
    Box<3> inside() const { return {{1, 1, 1}, {cells + 1, cells + 1, cells + 1}}; }
    /// One half-wave in the first dimension, two in the second, three in the third.
    double phase(std::size_t d) const {
        return static_cast<double>(d + 1) * std::numbers::pi / static_cast<double>(cells + 1);
    }
    double heat(const Index<3>& i, int after_steps) const {
        double value = 1;
        double factor = 1;
        for (std::size_t d = 0; d < 3; ++d) {
            value *= std::sin(phase(d) * static_cast<double>(i[d]));
            factor -= 2 * conductivity * (1 - std::cos(phase(d)));
        }
        return value * std::pow(factor, after_steps);
    }
    /// How much a cell changes most in the last of so many steps.
    double change(int steps_done) const {
        Index<3> hottest{};
        for (std::size_t d = 0; d < 3; ++d)
            for (std::int64_t i = 1; i <= cells; ++i)
                if (std::abs(std::sin(phase(d) * static_cast<double>(i))) >
                    std::abs(std::sin(phase(d) * static_cast<double>(hottest[d]))))
                    hottest[d] = i;
        return std::abs(heat(hottest, steps_done) - heat(hottest, steps_done - 1));
    }
};

/// How a run ended.
struct Outcome {
    int steps = 0;
    double change = 0;  ///< the largest of any cell in the last step
};

double stepped(double cell, double below, double above, double before, double behind, double left,
               double right) {
    return cell + conductivity * (below + above + before + behind + left + right - 6 * cell);
}

/// \return the largest change of an own cell
double diffuse(const Grid& from, Grid& to, const Options& options) {
    double most = 0;
    for_each_stencil(to, from, options.inside(), 1, [&](const Index<3>&, double& heat, const auto& at) {
        const double before = at(0, 0, 0);
        heat =
            stepped(before, at(-1, 0, 0), at(1, 0, 0), at(0, -1, 0), at(0, 1, 0), at(0, 0, -1), at(0, 0, 1));
        most = std::max(most, std::abs(heat - before));
    });
    return most;
}

/// With ghosts by hand. \return the largest change of an own cell
double diffuse_by_hand(const Padded& from, Padded& to, const Options& options) {
    const auto [plane, row, next] = from.strides();
    const Box<3> cells = intersection(from.own(), options.inside());
    double most = 0;
    for (std::int64_t i = cells.lower[0]; i < cells.upper[0]; ++i)
        for (std::int64_t j = cells.lower[1]; j < cells.upper[1]; ++j) {
            const double* cell = from.at({i, j, cells.lower[2]});
            double* heat = to.at({i, j, cells.lower[2]});
            for (std::int64_t k = cells.lower[2]; k < cells.upper[2]; ++k, cell += next, ++heat) {
                *heat =
                    stepped(*cell, cell[-plane], cell[plane], cell[-row], cell[row], cell[-next], cell[next]);
                most = std::max(most, std::abs(*heat - *cell));
            }
        }
    return most;
}

/// Steps until the largest change in all ranks is no larger than the tolerance. Timed.
/// \param step step(number) returns the largest change of this rank's cells
template <class Step>
Outcome until_convergence(programs::Run& run, const Options& options, const Box<3>& own, const Step& step) {
    BlockArray<double, 1> changes({ranks()});
    Outcome outcome;
    run.begin();
    do {
        *changes.own({rank()}) = step(outcome.steps++);
        options.version.worked(run, own.size());
        outcome.change = changes.reduce(0.0, [](double a, double b) { return std::max(a, b); });
    } while (outcome.change > options.tolerance && outcome.steps < options.steps);
    run.end();
    return outcome;
}

/// The remote cells next to own ones.
programs::LeastTraffic least_traffic(const Layout<3>& layout, const Box<3>& own, int steps) {
    programs::Needed needed;
    for (std::size_t d = 0; d < 3 && !own.empty(); ++d) {
        Box<3> before = own, behind = own;
        before.lower[d] = own.lower[d] - 1;
        before.upper[d] = own.lower[d];
        behind.lower[d] = own.upper[d];
        behind.upper[d] = own.upper[d] + 1;
        for (const Box<3>& face : {before, behind})
            needed.add<double>(layout, face);
    }
    return needed.traffic(steps);
}

/// Reports what a run computed. \param at at(index) is an own cell of the last step
template <class At>
void report(programs::Run& run, const Options& options, const Outcome& outcome, const Layout<3>& layout,
            const Box<3>& own, const At& at) {
    double error = std::abs(outcome.change - options.change(outcome.steps));
    for_each_index(own, [&](const Index<3>& i) {
        const double expected = options.inside().contains(i) ? options.heat(i, outcome.steps) : 0;
        error = std::max(error, std::abs(at(i) - expected));
    });
    run.result(programs::checksum(own, options.bounds(), at), error < 1e-12);
    options.version.note(run);
    run.least(least_traffic(layout, own, outcome.steps));
    if (rank() != 0) return;
    run.note("steps", outcome.steps);
    run.note("change", outcome.change);
}

void run_on_arrays(programs::Run& run, const Options& options) {
    Grid grids[] = {Grid(options.bounds()), Grid(options.bounds())};
    grids[0].for_each(options.inside(), [&](const Index<3>& i, double& heat) { heat = options.heat(i, 0); });
    grids[1].fill(0);  // its pages are there before the time is taken

    const Outcome outcome = until_convergence(run, options, grids[0].own_box(), [&](int step) {
        Grid& from = grids[step % 2];
        barrier();
        if (options.version.is_prefetched() && step < 2)
            from.prefetch_stencil(1, false, options.version.prefetch());
        else if (options.version.is_manual())
            from.update_prefetch();
        return diffuse(from, grids[(step + 1) % 2], options);
    });

    const Grid& last = grids[outcome.steps % 2];
    report(run, options, outcome, last.layout(), last.own_box(), [&](const Index<3>& i) { return last[i]; });
}

void run_by_hand(programs::Run& run, const Options& options) {
    Padded blocks[] = {Padded(options.bounds(), false), Padded(options.bounds(), false)};
    for_each_index(intersection(blocks[0].own(), options.inside()),
                   [&](const Index<3>& i) { *blocks[0].at(i) = options.heat(i, 0); });

    const Outcome outcome = until_convergence(run, options, blocks[0].own(), [&](int step) {
        Padded& from = blocks[step % 2];
        from.exchange();
        return diffuse_by_hand(from, blocks[(step + 1) % 2], options);
    });

    const Padded& last = blocks[outcome.steps % 2];
    report(run, options, outcome, last.layout(), last.own(), [&](const Index<3>& i) { return *last.at(i); });
}

}  // namespace

int main(int argc, char** argv) {
    programs::Program program("heat", "Lets heat diffuse in a cube until nothing changes any more.");
    Options options;
    apps::add_number(program.options(), "--cells", options.cells, 1, std::int64_t{2000},
                     "along each edge of the cube");
    program.options()
        .add_option("--tolerance", options.tolerance, "the largest change of a cell at which the steps end")
        ->check(apps::number_within(0, 1))
        ->capture_default_str();
    apps::add_number(program.options(), "--steps", options.steps, 1, 1'000'000, "of time at most");
    options.version.add_options(program.options());
    return program.run(argc, argv, [&](programs::Run& run) {
        if (options.version.is_by_hand())
            run_by_hand(run, options);
        else
            run_on_arrays(run, options);
    });
}

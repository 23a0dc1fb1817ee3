// SPDX-License-Identifier: Apache-2.0
//
// Heat diffusion in a cube with cold walls (LAPPS, section 6.3 and Listing 4). In each step a cell gets a
// share of the differences to its six neighbours; two arrays alternate. The initial state is an eigenmode of
// the discrete problem, a product of sines, so each step scales it by a known factor.

#include <CLI/CLI.hpp>
#include <cmath>
#include <nearfetch/stencil.hpp>
#include <numbers>
#include <optional>

#include "pgas/arrays.hpp"
#include "pgas/program.hpp"
#include "pgas/versions.hpp"

using namespace nearfetch;

namespace {

using Grid = BlockArray<double, 3>;

constexpr double conductivity = 0.1;  // a step is stable below 1/6

struct Options {
    std::int64_t cells = 32;
    int steps = 5;
    programs::Version version;

    /// With the walls, which stay cold.
    Box<3> bounds() const { return {{0, 0, 0}, {cells + 2, cells + 2, cells + 2}}; }
    Box<3> inside() const { return {{1, 1, 1}, {cells + 1, cells + 1, cells + 1}}; }
    double heat(const Index<3>& i, int after_steps) const {
        double value = 1;
        double factor = 1;
        for (std::size_t d = 0; d < 3; ++d) {
            // One half-wave in the first dimension, two in the second, three in the third.
            const double phase =
                static_cast<double>(d + 1) * std::numbers::pi / static_cast<double>(cells + 1);
            value *= std::sin(phase * static_cast<double>(i[d]));
            factor -= 2 * conductivity * (1 - std::cos(phase));
        }
        return value * std::pow(factor, after_steps);
    }
};

double stepped(double cell, double below, double above, double before, double behind, double left,
               double right) {
    return cell + conductivity * (below + above + before + behind + left + right - 6 * cell);
}

void diffuse(const Grid& from, Grid& to, const Options& options) {
    for_each_stencil(to, from, options.inside(), 1, [](const Index<3>&, double& heat, const auto& at) {
        heat = stepped(at(0, 0, 0), at(-1, 0, 0), at(1, 0, 0), at(0, -1, 0), at(0, 1, 0), at(0, 0, -1),
                       at(0, 0, 1));
    });
}

/// The remote cells next to own ones, by direction.
std::array<Box<3>, 6> halo(const Grid& grid) {
    const Box<3> own = grid.own_box();
    std::array<Box<3>, 6> faces;
    for (std::size_t d = 0; d < 3; ++d) {
        Box<3>& before = faces[2 * d] = own;
        before.lower[d] = own.lower[d] - 1;
        before.upper[d] = own.lower[d];
        Box<3>& behind = faces[2 * d + 1] = own;
        behind.lower[d] = own.upper[d];
        behind.upper[d] = own.upper[d] + 1;
    }
    for (Box<3>& face : faces)
        face = own.empty() ? Box<3>() : intersection(face, grid.bounds());
    return faces;
}

/// Own cells and their halo in one contiguous local array.
class HandOptimized {
  public:
    explicit HandOptimized(const Grid& grid) : own_(grid.own_box()), halo_(halo(grid)), all_(own_) {
        for (std::size_t d = 0; d < 3; ++d) {
            --all_.lower[d];
            ++all_.upper[d];
        }
        cells_.resize(static_cast<std::size_t>(all_.size()));
        std::int64_t most = 0;
        for (const Box<3>& face : halo_)
            most = std::max(most, face.size());
        face_.resize(static_cast<std::size_t>(most));
    }

    void diffuse(const Grid& from, Grid& to, const Options& options) {
        copy_in(own_, from.local().data());
        for (const Box<3>& face : halo_) {
            if (face.empty()) continue;
            from.get(face, std::span(face_).first(static_cast<std::size_t>(face.size())));
            copy_in(face, face_.data());
        }
        const std::int64_t row = all_.extent(2);
        const std::int64_t plane = row * all_.extent(1);
        const View<double, 3> result = to.local();
        const Box<3> cells = intersection(own_, options.inside());
        for (std::int64_t i = cells.lower[0]; i < cells.upper[0]; ++i)
            for (std::int64_t j = cells.lower[1]; j < cells.upper[1]; ++j) {
                const double* cell = at({i, j, cells.lower[2]});
                double* heat = &result(i - own_.lower[0], j - own_.lower[1], cells.lower[2] - own_.lower[2]);
                for (std::int64_t k = cells.lower[2]; k < cells.upper[2]; ++k, ++cell)
                    *heat++ =
                        stepped(*cell, cell[-plane], cell[plane], cell[-row], cell[row], cell[-1], cell[1]);
            }
    }

  private:
    double* at(const Index<3>& i) {
        return cells_.data() +
               ((i[0] - all_.lower[0]) * all_.extent(1) + i[1] - all_.lower[1]) * all_.extent(2) + i[2] -
               all_.lower[2];
    }
    void copy_in(const Box<3>& box, const double* from) {
        const std::int64_t width = box.extent(2);
        for (std::int64_t i = box.lower[0]; i < box.upper[0]; ++i)
            for (std::int64_t j = box.lower[1]; j < box.upper[1]; ++j, from += width)
                std::copy_n(from, width, at({i, j, box.lower[2]}));
    }

    Box<3> own_;
    std::array<Box<3>, 6> halo_;
    Box<3> all_;
    std::vector<double> cells_;
    std::vector<double> face_;
};

/// \return the array that the last step wrote
Grid& iterate(Grid& first, Grid& second, const Options& options, const programs::Run& run) {
    std::optional<HandOptimized> by_hand;
    if (options.version.is_by_hand()) by_hand.emplace(first);
    Grid* from = &first;
    Grid* to = &second;
    for (int step = 0; step < options.steps; ++step) {
        barrier();
        if (options.version.is_prefetched() && step < 2)
            from->prefetch_stencil(1, false, options.version.prefetch());
        else if (options.version.is_manual())
            from->update_prefetch();
        if (by_hand)
            by_hand->diffuse(*from, *to, options);
        else
            diffuse(*from, *to, options);
        options.version.worked(run, to->own_box().size());
        std::swap(from, to);
    }
    return *from;
}

bool is_right(const Grid& grid, const Options& options) {
    double error = 0;
    for_each_index(grid.own_box(), [&](const Index<3>& i) {
        const double expected = options.inside().contains(i) ? options.heat(i, options.steps) : 0;
        error = std::max(error, std::abs(grid[i] - expected));
    });
    return error < 1e-12;
}

}  // namespace

int main(int argc, char** argv) {
    programs::Program program("heat", "Lets heat diffuse in a cube.");
    Options options;
    apps::add_number(program.options(), "--cells", options.cells, 1, std::int64_t{2000},
                     "along each edge of the cube");
    apps::add_number(program.options(), "--steps", options.steps, 1, 10'000, "of time");
    options.version.add_options(program.options());
    const auto segment_bytes = [&] {
        return 2 * sizeof(double) * static_cast<std::uint64_t>(options.bounds().size()) + 4096;
    };
    return program.run(argc, argv, segment_bytes, [&](programs::Run& run) {
        Grid first(options.bounds());
        Grid second(options.bounds());
        first.for_each(options.inside(), [&](const Index<3>& i, double& heat) { heat = options.heat(i, 0); });

        run.begin();
        const Grid& last = iterate(first, second, options, run);
        run.end();

        run.result(programs::checksum(last), is_right(last, options));
        options.version.note(run);
        programs::Needed needed;
        for (const Box<3>& face : halo(first))
            needed.add(first, face);
        run.least(needed.traffic(options.steps));
    });
}

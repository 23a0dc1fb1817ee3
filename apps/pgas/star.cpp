// SPDX-License-Identifier: Apache-2.0
//
// A star-shaped stencil of any radius on a square grid, after the stencil of the Parallel Research Kernels
// (Van der Wijngaart and Mattson 2014): each point gets the sum of its neighbours in its row and column; then
// the grid is incremented. The larger the radius, the larger the share of remote accesses (LAPPS, section
// 6.2.5).

#include <CLI/CLI.hpp>
#include <nearfetch/array.hpp>
#include <optional>

#include "pgas/arrays.hpp"
#include "pgas/program.hpp"
#include "pgas/versions.hpp"

using namespace nearfetch;

namespace {

using Grid = BlockArray<double, 2>;

struct Options {
    std::int64_t order = 64;
    std::int64_t radius = 2;
    int iterations = 2;
    std::int64_t every = 1;
    programs::Version version;

    /// Whether the points of a row are computed: of each `every` rows the one in the middle.
    bool computes(std::int64_t row) const { return row % every == every / 2; }

    /// The indices within the radius that are in bounds, as a half-open range.
    std::pair<std::int64_t, std::int64_t> around(std::int64_t i) const {
        return {std::max<std::int64_t>(0, i - radius), std::min(order, i + radius + 1)};
    }
};

/// \param in in(i, j) is an element of the grid
template <class In>
void add_stars(Grid& out, const Options& options, const In& in) {
    out.for_each([&](const Index<2>& i, double& element) {
        if (!options.computes(i[0])) return;
        double sum = 0;
        const auto [first_row, end_row] = options.around(i[0]);
        for (std::int64_t row = first_row; row < end_row; ++row)
            sum += in(row, i[1]);
        const auto [first_column, end_column] = options.around(i[1]);
        for (std::int64_t column = first_column; column < end_column; ++column)
            sum += in(i[0], column);
        element += sum;
    });
}

/// By hand: the remote elements beside own ones, as far as stars reach. Own elements stay where they are.
class Ghosts {
  public:
    Ghosts(const Grid& in, const Options& options) {
        const Box<2> own = in.own_box();
        if (own.empty()) return;
        for (std::size_t d = 0; d < 2; ++d) {
            Box<2> before = own, after = own;
            before.lower[d] = options.around(own.lower[d]).first;
            before.upper[d] = own.lower[d];
            after.lower[d] = own.upper[d];
            after.upper[d] = options.around(own.upper[d] - 1).second;
            sides_[d] = {before, after};
        }
    }

    /// Brings all ghosts, then adds up the stars.
    void add_stars(Grid& out, const Grid& in, const Options& options) {
        for (auto& sides : sides_)
            for (Part& part : sides)
                if (!part.box.empty()) in.get(part.box, part.elements);
        const Box<2> own = in.own_box();
        out.for_each([&](const Index<2>& i, double& element) {
            if (!options.computes(i[0])) return;
            double sum = 0;
            for (std::size_t d = 0; d < 2; ++d) {
                const auto& [before, after] = sides_[d];
                sum += line(before.box, before.elements.data(), i, d, options);
                sum += line(own, in.local().data(), i, d, options);
                sum += line(after.box, after.elements.data(), i, d, options);
            }
            element += sum;
        });
    }

  private:
    struct Part {
        Box<2> box;
        std::vector<double> elements;

        Part() = default;
        Part(const Box<2>& of) : box(of), elements(static_cast<std::size_t>(of.empty() ? 0 : of.size())) {}
    };

    /// The sum of a box's elements that the star around `i` reaches along dimension `d`.
    static double line(const Box<2>& box, const double* elements, Index<2> i, std::size_t d,
                       const Options& options) {
        const auto [first, end] = options.around(i[d]);
        i[d] = std::max(first, box.lower[d]);
        const std::int64_t count = std::min(end, box.upper[d]) - i[d];
        const std::int64_t stride = d == 0 ? box.extent(1) : 1;
        const std::int64_t place = (i[0] - box.lower[0]) * box.extent(1) + i[1] - box.lower[1];
        double sum = 0;
        for (std::int64_t n = 0; n < count; ++n)
            sum += elements[place + n * stride];
        return sum;
    }

    std::array<std::array<Part, 2>, 2> sides_;  ///< before own elements and after them, along each dimension
};

/// This rank's accesses in one iteration, and the remote ones among them.
struct Accesses {
    std::int64_t all = 0;
    std::int64_t remote = 0;

    Accesses(const Grid& in, const Options& options) {
        const Box<2> own = in.own_box();
        std::int64_t rows = 0;
        for (std::int64_t i = own.lower[0]; i < own.upper[0]; ++i) {
            if (!options.computes(i)) continue;
            ++rows;
            add(own, options, 0, i, own.extent(1));
        }
        for (std::int64_t j = own.lower[1]; j < own.upper[1]; ++j)
            add(own, options, 1, j, rows);
    }

  private:
    /// Those along dimension `d` of so many points with index `i` there.
    void add(const Box<2>& own, const Options& options, std::size_t d, std::int64_t i, std::int64_t points) {
        const auto [first, end] = options.around(i);
        const std::int64_t here = std::min(end, own.upper[d]) - std::max(first, own.lower[d]);
        all += (end - first) * points;
        remote += (end - first - here) * points;
    }
};

void iterate(Grid& out, Grid& in, const Options& options, const programs::Run& run) {
    if (options.version.is_prefetched())
        in.prefetch_stencil(options.radius, false, options.version.prefetch());
    std::optional<Ghosts> by_hand;
    if (options.version.is_by_hand()) by_hand.emplace(in, options);
    const std::int64_t accesses = Accesses(in, options).all;
    for (int n = 0; n < options.iterations; ++n) {
        barrier();
        if (options.version.is_manual() && n != 0) in.update_prefetch();
        if (by_hand)
            by_hand->add_stars(out, in, options);
        else
            add_stars(out, options, [&](std::int64_t i, std::int64_t j) { return in.read({i, j}); });
        options.version.worked(run, accesses);
        barrier();
        in.for_each([](const Index<2>&, double& element) { element += 1; });
    }
}

/// The sum of i + j + n over the neighbours, for each n up to the iterations.
bool is_right(const Grid& out, const Options& options) {
    bool right = true;
    for_each_index(out.own_box(), [&](const Index<2>& i) {
        std::int64_t expected = 0;
        for (std::size_t d = 0; d < 2 && options.computes(i[0]); ++d) {
            const auto [first, end] = options.around(i[d]);
            const std::int64_t count = end - first;
            const std::int64_t once = count * i[1 - d] + count * (first + end - 1) / 2;
            const std::int64_t times = options.iterations;
            expected += times * once + count * times * (times - 1) / 2;
        }
        right = right && out[i] == static_cast<double>(expected);
    });
    return right;
}

}  // namespace

int main(int argc, char** argv) {
    programs::Program program("star",
                              "Adds up the neighbours of each point of a grid, in its row and column.");
    Options options;
    apps::add_number(program.options(), "--order", options.order, 1, std::int64_t{1} << 20,
                     "rows and columns of the grid");
    apps::add_number(program.options(), "--radius", options.radius, 1, std::int64_t{1} << 20,
                     "the radius of the stencil");
    apps::add_number(program.options(), "--iterations", options.iterations, 1, 1'000'000,
                     "times that all is added up");
    apps::add_number(program.options(), "--every", options.every, 1, std::int64_t{1} << 20,
                     "of so many rows one is computed: a sample");
    options.version.add_options(program.options());
    return program.run(argc, argv, [&](programs::Run& run) {
        Grid in({options.order, options.order});
        Grid out({options.order, options.order});
        in.for_each([](const Index<2>& i, double& element) { element = static_cast<double>(i[0] + i[1]); });

        run.begin();
        iterate(out, in, options, run);
        run.end();

        run.result(programs::checksum(out), is_right(out, options));
        options.version.note(run);
        const Accesses accesses(in, options);
        if (rank() == 0 && accesses.all > 0)
            run.note("remote_ratio",
                     static_cast<double>(accesses.remote) / static_cast<double>(accesses.all));
        programs::Needed needed;
        const Box<2> own = in.own_box();
        for (std::size_t d = 0; d < 2 && !own.empty(); ++d) {
            Box<2> reach = own;
            reach.lower[d] = options.around(own.lower[d]).first;
            reach.upper[d] = options.around(own.upper[d] - 1).second;
            needed.add(in, reach);
        }
        run.least(needed.traffic(options.iterations));
    });
}

// SPDX-License-Identifier: Apache-2.0
//
// Transpose of the Parallel Research Kernels (Van der Wijngaart and Mattson 2014), as in LAPPS, Listings 1 to
// 3 and section 6.3: repeatedly B += A^T in square tiles, then each element of A is incremented. The matrices
// are dealt out by rows, so a rank needs elements of all others.

#include <CLI/CLI.hpp>
#include <cmath>
#include <nearfetch/array.hpp>
#include <optional>

#include "pgas/arrays.hpp"
#include "pgas/program.hpp"
#include "pgas/versions.hpp"

using namespace nearfetch;

namespace {

using Matrix = BlockArray<double, 2>;

struct Options {
    std::int64_t order = 200;
    std::int64_t block = 8;
    int iterations = 5;
    programs::Version version;

    double a_value(const Index<2>& i) const { return static_cast<double>(order * i[0] + i[1]); }
    /// After so many iterations: the sum of the values of A^T.
    double b_value(const Index<2>& i) const {
        return iterations * a_value({i[1], i[0]}) + iterations * (iterations - 1) / 2.0;
    }
};

/// The part of A that is added to this rank's part of B.
Box<2> needed(const Matrix& b) {
    const Box<2> own = b.own_box();
    return {{own.lower[1], own.lower[0]}, {own.upper[1], own.upper[0]}};
}

/// \param part of A
/// \param element element(i, j) is one of it
template <class Element>
void add_tiles(Matrix& b, const Box<2>& part, std::int64_t block, const Element& element) {
    for (std::int64_t first = part.lower[0]; first < part.upper[0]; first += block) {
        const std::int64_t end = std::min(first + block, part.upper[0]);
        for (std::int64_t i = part.lower[1]; i < part.upper[1]; ++i) {
            double* sum = b.own({i, first});
            for (std::int64_t j = first; j < end; ++j)
                *sum++ += element(j, i);
        }
    }
}

/// Calls visit(columns) for what each row of tiles of B needs of A.
template <class Visit>
void for_each_tile_row(const Box<2>& columns, std::int64_t block, const Visit& visit) {
    for (std::int64_t first = columns.lower[1]; first < columns.upper[1]; first += block)
        visit(
            Box<2>({columns.lower[0], first}, {columns.upper[0], std::min(first + block, columns.upper[1])}));
}

void add_transpose(Matrix& b, const Matrix& a, std::int64_t block) {
    for_each_tile_row(needed(b), block, [&](const Box<2>& columns) {
        for_each_part(a, columns,
                      [&](const Box<2>& part, const auto& element) { add_tiles(b, part, block, element); });
    });
}

/// LAPPS, Listing 3.
class HandOptimized {
  public:
    explicit HandOptimized(const Matrix& b)
        : needed_(needed(b)), copy_(static_cast<std::size_t>(needed_.size())) {}

    void add_transpose(Matrix& b, const Matrix& a, std::int64_t block) {
        a.get(needed_, copy_);
        const double* const copy = copy_.data();
        const std::int64_t width = needed_.extent(1);
        for_each_tile_row(needed_, block, [&](const Box<2>& columns) {
            add_tiles(b, columns, block, [&](std::int64_t i, std::int64_t j) {
                return copy[(i - needed_.lower[0]) * width + j - needed_.lower[1]];
            });
        });
    }

  private:
    Box<2> needed_;
    std::vector<double> copy_;
};

void iterate(Matrix& b, Matrix& a, const Options& options, const programs::Run& run) {
    std::optional<HandOptimized> by_hand;
    if (options.version.is_by_hand()) by_hand.emplace(b);
    for (int n = 0; n < options.iterations; ++n) {
        barrier();
        if (options.version.is_manual() && n != 0) a.update_prefetch();
        if (by_hand)
            by_hand->add_transpose(b, a, options.block);
        else
            add_transpose(b, a, options.block);
        options.version.worked(run, b.own_box().size());
        barrier();
        a.for_each([](const Index<2>&, double& element) { element += 1; });
    }
}

bool is_right(const Matrix& b, const Options& options) {
    double error = 0;
    for_each_index(b.own_box(), [&](const Index<2>& i) { error += std::abs(b[i] - options.b_value(i)); });
    return error < 1e-8;
}

}  // namespace

int main(int argc, char** argv) {
    programs::Program program("transpose",
                              "Adds the transpose of a distributed matrix to another, repeatedly.");
    Options options;
    apps::add_number(program.options(), "--order", options.order, 1, std::int64_t{1} << 20,
                     "rows and columns of the matrices");
    apps::add_number(program.options(), "--block", options.block, 1, std::int64_t{1} << 20,
                     "rows and columns of a tile");
    apps::add_number(program.options(), "--iterations", options.iterations, 1, 1'000'000,
                     "times that the transpose is added");
    options.version.add_options(program.options());
    return program.run(argc, argv, [&](programs::Run& run) {
        const Box<2> bounds({0, 0}, {options.order, options.order});
        Matrix a(bounds, {ranks(), 1});
        Matrix b(bounds, {ranks(), 1});
        a.for_each([&](const Index<2>& i, double& element) { element = options.a_value(i); });
        b.fill(0);  // as the original does: its pages are there

        run.begin();
        if (options.version.is_prefetched()) a.prefetch_transpose(options.version.prefetch());
        iterate(b, a, options, run);
        run.end();

        run.result(programs::checksum(b), is_right(b, options));
        options.version.note(run);
        programs::Needed least;
        least.add(a, needed(b));
        run.least(least.traffic(options.iterations));
    });
}

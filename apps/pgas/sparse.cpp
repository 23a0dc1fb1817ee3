// SPDX-License-Identifier: Apache-2.0
//
// Sparse of the Parallel Research Kernels (Van der Wijngaart and Mattson 2014; LAPPS, section 6.3):
// repeatedly increments a vector, and computes y += A x. The matrix is the star-shaped stencil of a periodic
// square grid, whose points are numbered by bit reversal, so each row needs elements of x from everywhere.
// The default radius is that of LAPPS: 25 non-zeros in a row. The values of y are known. The first iteration
// is not measured.
//
// With `hand` each rank copies the whole vector. With `gather` it gathers the elements of its columns.

#include <CLI/CLI.hpp>
#include <cmath>
#include <nearfetch/array.hpp>
#include <nearfetch/gather.hpp>
#include <nearfetch/sparse.hpp>
#include <optional>
#include <set>

#include "pgas/arrays.hpp"
#include "pgas/program.hpp"
#include "pgas/versions.hpp"

using namespace nearfetch;

namespace {

using Matrix = SparseMatrix<double>;
using Vector = BlockArray<double, 1>;

struct Options {
    int log_size = 5;
    int radius = 6;
    int iterations = 5;
    programs::Version version;

    std::int64_t size() const { return std::int64_t{1} << log_size; }
    std::int64_t order() const { return size() * size(); }
    std::int64_t row_non_zeros() const { return 4 * radius + 1; }
    /// After the first and so many further iterations.
    double y_value() const {
        return static_cast<double>(row_non_zeros()) * (iterations + 1) * (iterations + 2) / 2.0;
    }
};

/// The number of a grid point, with periodic boundaries.
std::int64_t number_of(std::int64_t i, std::int64_t j, const Options& options) {
    const std::int64_t place = (i & (options.size() - 1)) + ((j & (options.size() - 1)) << options.log_size);
    std::int64_t reversed = 0;
    for (int bit = 0; bit < 2 * options.log_size; ++bit)
        reversed = 2 * reversed + (place >> bit & 1);
    return reversed;
}

std::vector<Triplet<double>> own_rows(const Options& options) {
    std::vector<Triplet<double>> own;
    const auto [first, end] = Matrix::rows_of(rank(), options.order());
    for (std::int64_t row = first; row < end; ++row) {
        const std::int64_t i = row % options.size();
        const std::int64_t j = row / options.size();
        const auto add = [&](std::int64_t column) {
            own.push_back({row, column, 1.0 / static_cast<double>(column + 1)});
        };
        add(number_of(i, j, options));
        for (std::int64_t r = 1; r <= options.radius; ++r)
            for (const std::int64_t distance : {r, -r}) {
                add(number_of(i + distance, j, options));
                add(number_of(i, j + distance, options));
            }
    }
    return own;
}

/// A local copy of the whole vector.
class Copy {
  public:
    explicit Copy(const Vector& x) : x_(x), elements_(static_cast<std::size_t>(x.bounds().size())) {}
    void bring() { x_.get(x_.bounds(), elements_); }
    /// Own rows.
    void add_product(Vector& y, const Matrix& a) const {
        const SparseRows<const double> own = a.local();
        std::size_t k = 0;
        y.for_each([&, row = std::size_t{0}](const Index<1>&, double& element) mutable {
            const auto end = static_cast<std::size_t>(own.starts[++row]);
            double sum = 0;
            for (; k < end; ++k)
                sum += own.values[k] * elements_[static_cast<std::size_t>(own.columns[k])];
            element += sum;
        });
    }

  private:
    const Vector& x_;
    std::vector<double> elements_;
};

class Iteration {
  public:
    Iteration(const Matrix& a, Vector& x, Vector& y, const Options& options)
        : a_(a), x_(x), y_(y), version_(options.version) {
        if (version_.is_by_hand()) copy_.emplace(x_);
        if (version_.is_gathered()) near_.emplace(x_, a_.local().columns);
        if (version_.is_prefetched()) x_.prefetch_all_to_all(version_.prefetch());
        if (version_.is_observed()) x_.observe();
    }

    void run(bool first, const programs::Run& run) {
        x_.for_each([](const Index<1>& i, double& element) { element += static_cast<double>(i[0] + 1); });
        barrier();
        if (version_.is_manual()) x_.update_prefetch();
        if (version_.is_by_hand()) {
            copy_->bring();
            copy_->add_product(y_, a_);
        } else if (version_.is_gathered()) {
            near_->update();
            a_.add_product(y_, *near_);
        } else {
            a_.add_product(y_, x_);
        }
        if (version_.is_observed() && first) x_.prefetch_observed(version_.prefetch());
        version_.worked(run, a_.non_zeros(rank()));
        barrier();
    }

  private:
    const Matrix& a_;
    Vector& x_;
    Vector& y_;
    const programs::Version& version_;
    std::optional<Copy> copy_;
    std::optional<Gather<double>> near_;
};

/// Each element that own rows need, once.
programs::LeastTraffic least_traffic(Matrix& a, const Vector& x, const Options& options) {
    std::set<std::int64_t> columns;
    a.for_each([&](const Index<2>& i, double&) { columns.insert(i[1]); });
    programs::Needed needed;
    for (const std::int64_t j : columns)
        needed.add(x, Box<1>({j}, {j + 1}));
    return needed.traffic(options.iterations);
}

bool is_right(const Vector& y, const Options& options) {
    double error = 0;
    for_each_index(y.own_box(),
                   [&](const Index<1>& i) { error = std::max(error, std::abs(y[i] - options.y_value())); });
    return error <= 1e-8;
}

}  // namespace

int main(int argc, char** argv) {
    programs::Program program("sparse", "Multiplies a sparse matrix with a vector, repeatedly.");
    Options options;
    apps::add_number(program.options(), "--log-size", options.log_size, 1, 15,
                     "2log of the grid's size, which is the order's square root");
    apps::add_number(program.options(), "--radius", options.radius, 0, 1000,
                     "of the stencil: a row has 4 of these and 1 non-zeros");
    apps::add_number(program.options(), "--iterations", options.iterations, 1, 1'000'000,
                     "multiplications after the first one");
    options.version.add_options(program.options(), {.by_indices = true});
    return program.run(argc, argv, [&](programs::Run& run) {
        if (options.size() < 2 * options.radius + 1)
            throw Error("--radius " + std::to_string(options.radius) + ": the stencil meets itself",
                        "the grid has " + std::to_string(options.size()) + " points in each direction",
                        "use a smaller radius or a larger --log-size");
        Matrix a(options.order(), options.order(), own_rows(options));
        Vector x({options.order()});
        Vector y({options.order()});
        Iteration iteration(a, x, y, options);
        iteration.run(true, run);

        run.begin();
        for (int n = 0; n < options.iterations; ++n)
            iteration.run(false, run);
        run.end();

        run.result(programs::checksum(y), is_right(y, options));
        options.version.note(run);
        run.least(least_traffic(a, x, options));
    });
}

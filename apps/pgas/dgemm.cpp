// SPDX-License-Identifier: Apache-2.0
//
// DGEMM of the Parallel Research Kernels (Van der Wijngaart and Mattson 2014), as in LAPPS (section 6.3 and
// Listing 6): C += A B, repeatedly, on a grid of ranks. Each rank computes its own block of C. It reads
// remote rows of A and columns of B, block by block into small arrays.

#include <CLI/CLI.hpp>
#include <cmath>
#include <nearfetch/array.hpp>

#include "pgas/arrays.hpp"
#include "pgas/program.hpp"
#include "pgas/versions.hpp"

using namespace nearfetch;

namespace {

using Matrix = BlockArray<double, 2>;

struct Options {
    std::int64_t order = 128;
    std::int64_t block = 32;
    int iterations = 1;
    programs::Version version;

    /// The sum of all elements of C; elements of A and B are their column numbers.
    double sum() const {
        const auto n = static_cast<double>(order);
        return 0.25 * n * n * n * (n - 1) * (n - 1) * iterations;
    }
};

/// This rank's rows of A, and its columns of B.
Box<2> rows_needed(const Matrix& c) {
    const Box<2> own = c.own_box();
    return {{own.lower[0], 0}, {own.upper[0], own.empty() ? 0 : c.bounds().upper[1]}};
}
Box<2> columns_needed(const Matrix& c) {
    const Box<2> own = c.own_box();
    return {{0, own.lower[1]}, {own.empty() ? 0 : c.bounds().upper[0], own.upper[1]}};
}

/// \param from returns the element in a row and column
/// \param to the elements of `box`, some of which are in `part`
template <class From>
void copy(const From& from, const Box<2>& part, const Box<2>& box, double* to) {
    for (std::int64_t i = part.lower[0]; i < part.upper[0]; ++i) {
        double* element = to + (i - box.lower[0]) * box.extent(1) + part.lower[1] - box.lower[1];
        for (std::int64_t j = part.lower[1]; j < part.upper[1]; ++j)
            *element++ = from(i, j);
    }
}
void copy(const Matrix& from, const Box<2>& box, double* to) {
    for_each_part(from, box, [&](const Box<2>& part, const auto& element) { copy(element, part, box, to); });
}

/// A local copy of a part of a matrix.
class Copy {
  public:
    Copy(const Matrix& of, const Box<2>& part)
        : part_(part), elements_(static_cast<std::size_t>(part.size())) {
        of.get(part, elements_);
    }
    double operator()(std::int64_t i, std::int64_t j) const {
        return elements_[static_cast<std::size_t>((i - part_.lower[0]) * part_.extent(1) + j -
                                                  part_.lower[1])];
    }

  private:
    Box<2> part_;
    std::vector<double> elements_;
};
void copy(const Copy& from, const Box<2>& box, double* to) { copy(from, box, box, to); }

/// Multiplies contiguous blocks.
void add_product(const View<double, 2>& c, const double* a, const double* b, std::int64_t depth) {
    for (std::int64_t i = 0; i < c.extent(0); ++i)
        for (std::int64_t k = 0; k < depth; ++k) {
            const double factor = a[i * depth + k];
            double* const row = &c(i, 0);
            for (std::int64_t j = 0; j < c.extent(1); ++j)
                row[j] += factor * b[k * c.extent(1) + j];
        }
}

/// Adds A B to the own block of C. \param a,b sources of boxes
template <class A, class B>
void multiply(Matrix& c, const A& a, const B& b, const Options& options) {
    const Box<2> own = c.own_box();
    const View<double, 2> result = c.local();
    const std::int64_t size = options.block;
    std::vector<double> a_block(static_cast<std::size_t>(size * size));
    std::vector<double> b_block(a_block.size());
    for (std::int64_t j = own.lower[1]; j < own.upper[1]; j += size)
        for (std::int64_t k = 0; k < options.order; k += size) {
            const Box<2> of_b = intersection(columns_needed(c), {{k, j}, {k + size, j + size}});
            copy(b, of_b, b_block.data());
            for (std::int64_t i = own.lower[0]; i < own.upper[0]; i += size) {
                const Box<2> of_a = intersection(rows_needed(c), {{i, k}, {i + size, k + size}});
                copy(a, of_a, a_block.data());
                const Index<2> first{i - own.lower[0], j - own.lower[1]};
                const Index<2> last{first[0] + of_a.extent(0), first[1] + of_b.extent(1)};
                add_product(result.sub({first, last}), a_block.data(), b_block.data(), of_a.extent(1));
            }
        }
}

void iterate(Matrix& c, const Matrix& a, const Matrix& b, const Options& options, const programs::Run& run) {
    const auto add = [&](const auto& left, const auto& right) {
        for (int n = 0; n < options.iterations; ++n) {
            multiply(c, left, right, options);
            options.version.worked(run, c.own_box().size() * options.order);
        }
    };
    if (options.version.is_by_hand())
        add(Copy(a, rows_needed(c)), Copy(b, columns_needed(c)));
    else
        add(a, b);
}

}  // namespace

int main(int argc, char** argv) {
    programs::Program program("dgemm", "Adds the product of two distributed matrices to a third.");
    Options options;
    apps::add_number(program.options(), "--order", options.order, 1, std::int64_t{1} << 14,
                     "rows and columns of the matrices");
    apps::add_number(program.options(), "--block", options.block, 1, std::int64_t{1} << 14,
                     "rows and columns that are multiplied at a time");
    apps::add_number(program.options(), "--iterations", options.iterations, 1, 1'000'000,
                     "times that the product is added");
    options.version.add_options(program.options());
    return program.run(argc, argv, [&](programs::Run& run) {
        Matrix a({options.order, options.order});
        Matrix b({options.order, options.order});
        Matrix c({options.order, options.order});
        for (Matrix* const matrix : {&a, &b})
            matrix->for_each([](const Index<2>& i, double& element) { element = static_cast<double>(i[1]); });

        run.begin();
        if (options.version.is_prefetched()) {
            a.prefetch_row_wise(options.version.prefetch());
            b.prefetch_column_wise(options.version.prefetch());
        }
        iterate(c, a, b, options, run);
        run.end();

        const double sum = c.sum();
        run.result(programs::checksum(c), std::abs(sum - options.sum()) <= 1e-8 * std::max(1.0, sum));
        options.version.note(run);
        programs::Needed needed;
        needed.add(a, rows_needed(c));
        needed.add(b, columns_needed(c));
        run.least(needed.traffic());
    });
}

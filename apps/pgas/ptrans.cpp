// SPDX-License-Identifier: Apache-2.0
//
// PTRANS (PARKBENCH's parallel transpose; Ferguson and Buettner 2015, section V-B): C = C + A^T. Both
// matrices have a block-cyclic distribution over the same grid of ranks. The blocks of C have the transposed
// shape, so a block of C needs exactly one of A, as in HPCC's PTRANS in Chapel. Each rank visits its own
// elements of C, block by block, and gets the matching element of A. On a grid of 2 x 4 ranks three elements
// of four are remote, on 4 x 8 seven of eight.

#include <CLI/CLI.hpp>
#include <utility>

#include "common/random.hpp"
#include "common/validators.hpp"
#include "pgas/program.hpp"

using namespace nearfetch;

namespace {

/// A grid of ranks, as square as possible.
struct Grid {
    explicit Grid(Rank ranks) {
        for (rows = 1; (rows + 1) * (rows + 1) <= ranks; ++rows) {
        }
        while (ranks % rows != 0)
            --rows;
        columns = ranks / rows;
    }
    Rank rows;
    Rank columns;
};

/// A dimension with a block-cyclic distribution.
struct BlockCyclicDimension {
    std::int64_t size;
    std::int64_t block;
    std::int64_t parts;

    std::int64_t owner(std::int64_t i) const { return i / block % parts; }
    /// Number of its block among the owner's.
    std::int64_t local_block(std::int64_t i) const { return i / (block * parts); }
    /// The largest number of blocks of any part.
    std::int64_t most_blocks() const { return (size + block * parts - 1) / (block * parts); }
};

/// A matrix; each rank stores its blocks one after another, and each block by rows.
class Matrix {
  public:
    Matrix(BlockCyclicDimension rows, BlockCyclicDimension columns)
        : rows_(rows), columns_(columns), parts_(allocate<double>(elements(rows, columns))) {}

    GlobalRef<double> operator()(std::int64_t i, std::int64_t j) const { return *at(i, j); }
    double* local(std::int64_t i, std::int64_t j) const { return at(i, j).local(); }
    Rank owner(std::int64_t i, std::int64_t j) const { return at(i, j).rank(); }
    /// Calls visit(i, j) for the calling rank's elements, block by block.
    template <class Visit>
    void for_each_own(Visit&& visit) const {
        const std::int64_t row = rank() / columns_.parts;
        const std::int64_t column = rank() % columns_.parts;
        for (std::int64_t bi = row * rows_.block; bi < rows_.size; bi += rows_.block * rows_.parts)
            for (std::int64_t bj = column * columns_.block; bj < columns_.size;
                 bj += columns_.block * columns_.parts)
                for (std::int64_t i = bi; i < std::min(bi + rows_.block, rows_.size); ++i)
                    for (std::int64_t j = bj; j < std::min(bj + columns_.block, columns_.size); ++j)
                        visit(i, j);
    }
    /// Places of the largest part, whole blocks.
    static std::uint64_t elements(BlockCyclicDimension rows, BlockCyclicDimension columns) {
        return static_cast<std::uint64_t>(rows.most_blocks() * columns.most_blocks() * rows.block *
                                          columns.block);
    }

  private:
    GlobalPtr<double> at(std::int64_t i, std::int64_t j) const {
        const auto owner = static_cast<Rank>(rows_.owner(i) * columns_.parts + columns_.owner(j));
        const std::int64_t block = rows_.local_block(i) * columns_.most_blocks() + columns_.local_block(j);
        const std::int64_t place = i % rows_.block * columns_.block + j % columns_.block;
        return parts_.at_rank(owner) + (block * rows_.block * columns_.block + place);
    }

    BlockCyclicDimension rows_;
    BlockCyclicDimension columns_;
    GlobalPtr<double> parts_;
};

// Integers, so that sums are exact.
double a_value(std::int64_t i, std::int64_t j) { return static_cast<double>(i * 10'007 + j); }
double c_value(std::int64_t i, std::int64_t j) { return static_cast<double>(i - 3 * j); }

struct Options {
    std::int64_t rows = 500;
    std::int64_t columns = 0;
    std::int64_t row_block = 3;
    std::int64_t column_block = 5;
    std::int64_t own_elements = 0;

    /// The same number of elements for each rank, if requested.
    void weigh(Rank ranks) {
        if (own_elements == 0) return;
        for (rows = 1; rows * rows < own_elements * ranks; ++rows) {
        }
        columns = rows;
    }
    std::int64_t width() const { return columns == 0 ? rows : columns; }
    BlockCyclicDimension a_rows(const Grid& grid) const { return {rows, row_block, grid.rows}; }
    BlockCyclicDimension a_columns(const Grid& grid) const { return {width(), column_block, grid.columns}; }
    // Transposed blocks.
    BlockCyclicDimension c_rows(const Grid& grid) const { return {width(), column_block, grid.rows}; }
    BlockCyclicDimension c_columns(const Grid& grid) const { return {rows, row_block, grid.columns}; }
};

void add_options(CLI::App& app, Options& options) {
    const auto number = [&](const char* name, std::int64_t& value, std::int64_t least, const char* meaning) {
        apps::add_number(app, name, value, least, std::int64_t{1} << 20, meaning);
    };
    number("--rows", options.rows, 1, "of A");
    number("--columns", options.columns, 0, "of A; 0: as many as rows");
    number("--row-block", options.row_block, 1, "rows of a block of A");
    number("--column-block", options.column_block, 1, "columns of a block of A");
    number("--own-elements", options.own_elements, 0,
           "of A for each rank, in place of --rows: A is a square");
}

}  // namespace

int main(int argc, char** argv) {
    programs::Program program("ptrans", "Adds the transpose of a distributed matrix to another.");
    Options asked;
    add_options(program.options(), asked);
    return program.run(argc, argv, [&](programs::Run& run) {
        Options options = asked;
        options.weigh(ranks());
        const Grid grid(ranks());
        const Matrix a(options.a_rows(grid), options.a_columns(grid));
        const Matrix c(options.c_rows(grid), options.c_columns(grid));
        a.for_each_own([&](std::int64_t i, std::int64_t j) { *a.local(i, j) = a_value(i, j); });
        c.for_each_own([&](std::int64_t i, std::int64_t j) { *c.local(i, j) = c_value(i, j); });

        run.begin();
        c.for_each_own([&](std::int64_t i, std::int64_t j) { c(i, j) += a(j, i); });
        run.end();

        std::uint64_t checksum = 0;
        bool right = true;
        c.for_each_own([&](std::int64_t i, std::int64_t j) {
            const double value = *c.local(i, j);
            right = right && value == c_value(i, j) + a_value(j, i);
            checksum += apps::mixed(std::bit_cast<std::uint64_t>(value) +
                                    static_cast<std::uint64_t>(i * options.rows + j));
        });
        run.result(checksum, right);
        if (rank() == 0) run.note("rows", static_cast<std::uint64_t>(options.rows));
        // Rank 0's remote elements, in one message per owner.
        std::vector<bool> from(static_cast<std::size_t>(ranks()));
        programs::LeastTraffic least;
        c.for_each_own([&](std::int64_t i, std::int64_t j) {
            const Rank owner = a.owner(j, i);
            if (owner == rank()) return;
            if (!from[static_cast<std::size_t>(owner)]) ++least.get_messages;
            from[static_cast<std::size_t>(owner)] = true;
            least.get_bytes += 8;
        });
        run.least(least);
    });
}

// SPDX-License-Identifier: Apache-2.0
#pragma once

// The common part of rand_gets, rand_puts and prefetch: a large remote array, and unpredictable indices that
// are cheap to compute.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <vector>

#include "common/random.hpp"
#include "common/validators.hpp"
#include "pgas/headers.hpp"
#include "pgas/program.hpp"

namespace nearfetch::programs {

struct RandomAccesses {
    std::int64_t operations = 30'000;
    std::int64_t elements = 10'000'000;
    std::uint64_t order = 1;  ///< number of the random sequence

    /// Runs a program of such accesses: main(run, array) by each rank. \return the value for main()
    template <class Main>
    int run(Program& program, int argc, char** argv, Main&& main) {
        add_options(program.options());
        return program.run(
            argc, argv, [&](Run& run) { main(run, allocate<std::int64_t>(elements).at_rank(other_rank())); });
    }
    /// The element of access i.
    std::int64_t index(std::int64_t i) const {
        return static_cast<std::int64_t>(
            apps::mixed(order * 0x2545f4914f6cdd1d + static_cast<std::uint64_t>(i)) %
            static_cast<std::uint64_t>(elements));
    }
    /// The number of distinct blocks of `bytes` bytes among the accesses.
    std::uint64_t distinct(std::int64_t bytes) const {
        std::vector<std::int64_t> blocks(static_cast<std::size_t>(operations));
        for (std::int64_t i = 0; i < operations; ++i)
            blocks[static_cast<std::size_t>(i)] = index(i) * 8 / bytes;
        std::sort(blocks.begin(), blocks.end());
        return static_cast<std::uint64_t>(std::unique(blocks.begin(), blocks.end()) - blocks.begin());
    }
    /// Value of element i in a program that reads.
    static std::int64_t value(std::int64_t i) { return i ^ 0x5555; }

    /// Initialises the array. By its owner.
    void fill(GlobalPtr<std::int64_t> array) const {
        if (rank() != array.rank()) return;
        std::int64_t* const values = array.local();
        for (std::int64_t i = 0; i < elements; ++i)
            values[i] = value(i);
    }
    /// The sum of what a program reads.
    std::int64_t sum() const {
        std::int64_t result = 0;
        for (std::int64_t i = 0; i < operations; ++i)
            result += value(index(i));
        return result;
    }

  private:
    void add_options(CLI::App& app) {
        apps::add_number(app, "--accesses", operations, 1, std::int64_t{1} << 40, "to random elements");
        apps::add_number(app, "--elements", elements, 1, std::int64_t{1} << 30, "of 8 bytes each");
        apps::add_number(app, "--order", order, 0, ~std::uint64_t{0} >> 1,
                         "a number that stands for the order of the accesses");
    }
};

}  // namespace nearfetch::programs

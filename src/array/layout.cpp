// SPDX-License-Identifier: Apache-2.0
//
// The parts of layouts that do not depend on dimension and distribution
// (nearfetch/detail/array/distribution.hpp).

#include <algorithm>
#include <limits>
#include <nearfetch/detail/array/distribution.hpp>
#include <nearfetch/detail/array/slices.hpp>
#include <string>
#include <vector>

namespace nearfetch::detail {

namespace {

// Finds the best factors of `ranks`, in descending order: the smallest first factor, then the smallest
// second, and so on.
bool fill_grid(Rank ranks, Rank most, std::span<Rank> grid) {
    if (grid.size() == 1) {
        grid[0] = ranks;
        return ranks <= most;
    }
    for (Rank first = 1; first <= std::min(ranks, most); ++first) {
        if (ranks % first != 0) continue;
        grid[0] = first;
        if (fill_grid(ranks / first, first, grid.subspan(1))) return true;
    }
    return false;
}

}  // namespace

void balanced_grid(Rank ranks, std::span<Rank> grid) {
    if (ranks < 1)
        throw Error("a grid of " + std::to_string(ranks) + " ranks", "there is nobody to own anything",
                    "use at least one rank");
    fill_grid(ranks, ranks, grid);
}

void check_layout(std::span<const std::int64_t> lower, std::span<const std::int64_t> upper,
                  std::span<const Rank> grid, std::span<const std::int64_t> block) {
    std::int64_t elements = 1;
    std::int64_t ranks = 1;
    for (std::size_t d = 0; d < grid.size(); ++d) {
        const std::string dimension = "dimension " + std::to_string(d);
        std::int64_t extent = 0;
        if (__builtin_sub_overflow(upper[d], lower[d], &extent) || extent < 0)
            throw Error(
                dimension + ": the bounds " + std::to_string(lower[d]) + " to " + std::to_string(upper[d]),
                "they name the first index, and the one after the last",
                "use an end that is not smaller than the beginning");
        if (grid[d] < 1)
            throw Error(dimension + ": " + std::to_string(grid[d]) + " ranks of the grid",
                        "each index has an owner", "use at least one");
        if (block[d] < 1)
            throw Error(dimension + ": blocks of " + std::to_string(block[d]), "each index is in a block",
                        "use at least one");
        std::int64_t round = 0;
        if (__builtin_mul_overflow(elements, std::max<std::int64_t>(1, extent), &elements) ||
            __builtin_mul_overflow(block[d], grid[d], &round) ||
            __builtin_add_overflow(extent, round, &round))
            throw Error(dimension + ": " + std::to_string(extent) + " indices in blocks of " +
                            std::to_string(block[d]),
                        "they cannot be counted in 63 bits", "use fewer");
        ranks *= grid[d];
        if (ranks > std::numeric_limits<Rank>::max())
            throw Error(dimension + ": more ranks than there can be",
                        "their number is the product of the grid", "use the program's ranks");
    }
}

void check_axes(std::span<const std::size_t> axes) {
    std::string names;
    bool each_once = true;
    for (std::size_t d = 0; d < axes.size(); ++d) {
        names += (d == 0 ? "" : ", ") + std::to_string(axes[d]);
        each_once = each_once && std::ranges::find(axes, d) != axes.end();
    }
    if (!each_once)
        throw Error("assign with the axes " + names, "each dimension is there once",
                    "name each of " + std::to_string(axes.size()));
}

}  // namespace nearfetch::detail

// SPDX-License-Identifier: Apache-2.0
#include <limits>
#include <nearfetch/detail/array/halo.hpp>
#include <string>

namespace nearfetch::detail {

namespace {

void check_given(const char* what, std::size_t given, std::size_t dimensions) {
    if (given != 1 && given != dimensions)
        throw Error("a stencil with " + std::to_string(given) + " values of " + what,
                    "the array has " + std::to_string(dimensions) + " dimensions",
                    "use one for each, or one for all");
}

}  // namespace

void check_stencil(const Stencil& stencil, std::size_t dimensions) {
    check_given("depth", stencil.depth.given(), dimensions);
    check_given("periodic", stencil.periodic.given(), dimensions);
    for (std::size_t d = 0; d < dimensions; ++d)
        if (stencil.depth[d] < 0)
            throw Error("a stencil of depth " + std::to_string(stencil.depth[d]), "it is how far it reaches",
                        "use 0 or more");
}

void check_halo(const Stencil& stencil, std::size_t dimensions) {
    check_stencil(stencil, dimensions);
    for (std::size_t d = 0; d < dimensions; ++d)
        if (stencil.depth[d] > 0) return;
    throw Error("prefetch_stencil: depth 0", "a halo has cells", "use a depth of at least 1");
}

void check_halo_room(HaloRoom room, std::span<const Rank> grid, bool contiguous) {
    if (room.rows == 0) return;
    const std::string what = "an array with room for a halo of depth " + std::to_string(room.rows);
    if (room.rows < 0) throw Error(what, "it is how far the halo reaches", "use 0 or more");
    if (!contiguous) throw Error(what, "what a rank owns is not one block", "use a BlockArray, or no room");
    for (std::size_t d = 1; d < grid.size(); ++d)
        if (grid[d] != 1)
            throw Error(
                what + ", on a grid with " + std::to_string(grid[d]) + " ranks in dimension " +
                    std::to_string(d),
                "rows of a halo stand beside own ones only where the first dimension alone is distributed",
                "use a grid with all ranks in the first dimension, or no room: with_halo copies then");
}

void check_halo_depth(std::int64_t depth, HaloRoom room) {
    if (depth >= 0 && depth <= room.rows) return;
    throw Error("with_halo of depth " + std::to_string(depth),
                "the array has room for a depth of " + std::to_string(room.rows),
                "use a depth of 0 up to that, or make the array with more room");
}

std::size_t elements_of(HaloRoom room, std::span<const std::int64_t> shape) {
    std::size_t elements = static_cast<std::size_t>(room.rows);
    for (const std::int64_t extent : shape.subspan(1))
        if (__builtin_mul_overflow(elements, static_cast<std::size_t>(extent), &elements))
            return std::numeric_limits<std::size_t>::max();
    return elements;
}

}  // namespace nearfetch::detail

// SPDX-License-Identifier: Apache-2.0
#pragma once

// Halos: which elements around own ones a stencil reads, as ranges of indices. Arithmetic without
// communication. For array.hpp and stencil.hpp.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <nearfetch/detail/array/slices.hpp>
#include <span>
#include <vector>

namespace [[gnu::visibility("default")]] nearfetch {

/// A value for each dimension, or one for all.
template <class T>
class EachDimension {
  public:
    constexpr EachDimension(T all) : values_{all}, given_(1) {}
    constexpr EachDimension(std::initializer_list<T> each) : EachDimension(each.begin(), each.end()) {}
    /// At most 4; more are counted, and dropped.
    template <std::input_iterator Iterator>
    constexpr EachDimension(Iterator first, Iterator end) {
        for (; first != end; ++first, ++given_)
            if (given_ < values_.size()) values_[given_] = static_cast<T>(*first);
    }

    constexpr T operator[](std::size_t dimension) const { return values_[given_ == 1 ? 0 : dimension]; }
    /// How many values there are.
    constexpr std::size_t given() const { return given_; }

  private:
    std::array<T, 4> values_{};
    std::size_t given_ = 0;
};

/// Which elements around own ones a loop reads.
struct Stencil {
    EachDimension<std::int64_t> depth = 1;
    bool corners = true;                   ///< in all dimensions at once; else along one of them
    EachDimension<bool> periodic = false;  ///< beyond a bound the array goes on at the opposite one

    template <std::size_t N>
    constexpr bool is_periodic() const {
        bool any = false;
        for (std::size_t d = 0; d < N; ++d)
            any = any || periodic[d];
        return any;
    }
};

/// Room for a halo in each rank's memory: for so many rows before its own elements, and after them. A row has
/// one index of the first dimension.
struct HaloRoom {
    std::int64_t rows = 0;
};

namespace detail {

/// \throws Error unless there is one value for all dimensions, or one for each, and no depth is negative
void check_stencil(const Stencil& stencil, std::size_t dimensions);
/// The same for a halo. \throws Error, too, if it has no cells
void check_halo(const Stencil& stencil, std::size_t dimensions);
/// \throws Error unless rows of a halo would stand beside own ones without a gap
void check_halo_room(HaloRoom room, std::span<const Rank> grid, bool contiguous);
/// \throws Error unless there is room for a halo of this depth
void check_halo_depth(std::int64_t depth, HaloRoom room);
/// The elements of the room on either side, for bounds of that shape; the largest number if they cannot be
/// counted.
std::size_t elements_of(HaloRoom room, std::span<const std::int64_t> shape);
/// All ranks in the first dimension.
template <std::size_t N>
std::array<Rank, N> grid_of_rows(Rank ranks) {
    std::array<Rank, N> grid;
    grid.fill(1);
    grid[0] = ranks;
    return grid;
}

/// The index at which a stencil reads: wrapped where it is periodic.
template <std::size_t N>
constexpr Index<N> wrapped_for(const Stencil& stencil, Index<N> i, const Box<N>& bounds) {
    const Index<N> inside = wrapped(i, bounds);
    for (std::size_t d = 0; d < N; ++d)
        if (stencil.periodic[d]) i[d] = inside[d];
    return i;
}

/// A stencil as words, to be compared between ranks.
template <std::size_t N>
std::vector<std::uint64_t> describe(const Stencil& stencil) {
    std::vector<std::uint64_t> words{stencil.corners};
    for (std::size_t d = 0; d < N; ++d)
        words.insert(words.end(), {static_cast<std::uint64_t>(stencil.depth[d]), stencil.periodic[d]});
    return words;
}

template <std::size_t N, Distribution D>
IndexProduct<N> own_product(const Layout<N, D>& layout, Rank rank) {
    IndexProduct<N> own;
    for (std::size_t d = 0; d < N; ++d)
        own[d] = owned_ranges(layout, rank, d);
    return own;
}

/// The ranges, each extended by `depth` in both directions within [first, end).
inline IndexRanges widened(const IndexRanges& ranges, std::int64_t depth, std::int64_t first,
                           std::int64_t end) {
    IndexRanges wide;
    for (const auto& [from, to] : ranges) {
        const std::int64_t before = from - std::min(depth, from - first);
        const std::int64_t after = to + std::min(depth, end - to);
        if (!wide.empty() && before <= wide.back().second)
            wide.back().second = after;
        else
            wide.emplace_back(before, after);
    }
    return wide;
}

/// The same, but what leaves [first, end) at one end comes in at the other.
inline IndexRanges widened_periodically(const IndexRanges& ranges, std::int64_t depth, std::int64_t first,
                                        std::int64_t end) {
    const std::int64_t extent = end - first;
    IndexRanges pieces;
    for (const auto& [from, to] : ranges) {
        const std::int64_t before = std::min(depth, extent) - (from - first);
        const std::int64_t after = std::min(depth, extent) - (end - to);
        if (before > 0) pieces.emplace_back(end - std::min(before, extent), end);
        if (after > 0) pieces.emplace_back(first, first + std::min(after, extent));
        pieces.emplace_back(before > 0 ? first : from - depth, after > 0 ? end : to + depth);
    }
    std::ranges::sort(pieces);
    return widened(pieces, 0, first, end);
}

/// Products with a single range in each dimension, which together are the product.
template <std::size_t N>
std::vector<IndexProduct<N>> boxes_of(const IndexProduct<N>& product) {
    std::vector<IndexProduct<N>> boxes{product};
    for (std::size_t d = 0; d < N; ++d) {
        std::vector<IndexProduct<N>> split;
        for (IndexProduct<N>& box : boxes)
            for (const auto& range : product[d]) {
                box[d] = {range};
                split.push_back(box);
            }
        boxes = std::move(split);
    }
    return boxes;
}

/// Up to `depth` away from own elements, in all dimensions at once or (without corners) along one of them.
template <std::size_t N, Distribution D>
std::vector<IndexProduct<N>> stencil_pattern(const Layout<N, D>& layout, Rank rank, const Stencil& stencil) {
    const IndexProduct<N> own = own_product(layout, rank);
    std::vector<IndexProduct<N>> wanted(stencil.corners ? 1 : N, own);
    for (std::size_t d = 0; d < N; ++d)
        wanted[stencil.corners ? 0 : d][d] = (stencil.periodic[d] ? widened_periodically : widened)(
            own[d], stencil.depth[d], layout.bounds().lower[d], layout.bounds().upper[d]);
    if (!stencil.is_periodic<N>() || !D::contiguous) return wanted;
    // An owner on both sides has two shares. One box around both would have unwanted elements.
    std::vector<IndexProduct<N>> boxes;
    for (const IndexProduct<N>& product : wanted)
        std::ranges::copy(boxes_of(product), std::back_inserter(boxes));
    return boxes;
}

}  // namespace detail

}  // namespace nearfetch

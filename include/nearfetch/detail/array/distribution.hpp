// SPDX-License-Identifier: Apache-2.0
#pragma once

// Who owns which index of an array: boxes of indices, the three distributions, and layouts, which deal the
// indices of a box out to a grid of ranks. Pure arithmetic: nothing here communicates.
//
//     const Layout<2> layout({{1, 1}, {101, 51}}, {2, 3});  // rows 1 to 100, columns 1 to 50; 2 x 3 ranks
//     layout.owner({100, 1});        // rank 3
//     layout.place({100, 1}).local;  // {49, 0} among that rank's own
//     layout.local_shape(3);         // {50, 17}
//
// A distribution deals out one dimension and keeps the order: what a rank has of it is numbered from 0
// upwards, the smaller index first. So the part of any range of indices that one rank has is a range of its
// local numbers, too, whatever the distribution; and the part of a box is a box. Slices of arrays are
// therefore described in the local numbers of their owner (LAPPS, section 5.2, leaves that to each
// distribution).

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <nearfetch/detail/base/error.hpp>
#include <nearfetch/detail/base/types.hpp>
#include <span>
#include <utility>

namespace [[gnu::visibility("default")]] nearfetch {

/// One number per dimension, the last of which is the one whose neighbours lie side by side.
template <std::size_t N>
using Index = std::array<std::int64_t, N>;

/// The indices from `lower` up to, and without, `upper` of each dimension. Empty when any dimension is.
template <std::size_t N>
struct Box {
    Index<N> lower{};
    Index<N> upper{};

    constexpr Box() = default;
    constexpr Box(const Index<N>& begin, const Index<N>& end) : lower(begin), upper(end) {}

    constexpr std::int64_t extent(std::size_t d) const {
        return std::max<std::int64_t>(0, upper[d] - lower[d]);
    }
    constexpr Index<N> shape() const {
        Index<N> extents;
        for (std::size_t d = 0; d < N; ++d)
            extents[d] = extent(d);
        return extents;
    }
    /// How many indices. \pre they can be counted
    constexpr std::int64_t size() const {
        std::int64_t product = 1;
        for (std::size_t d = 0; d < N; ++d)
            product *= extent(d);
        return product;
    }
    constexpr bool empty() const {
        bool any = false;
        for (std::size_t d = 0; d < N; ++d)
            any = any || upper[d] <= lower[d];
        return any;
    }
    constexpr bool contains(const Index<N>& i) const {
        bool inside = true;
        for (std::size_t d = 0; d < N; ++d)
            inside = inside && lower[d] <= i[d] && i[d] < upper[d];
        return inside;
    }
    constexpr bool contains(const Box& other) const {
        return other.empty() || intersection(*this, other) == other;
    }
    /// What both have.
    friend constexpr Box intersection(const Box& a, const Box& b) {
        Box common;
        for (std::size_t d = 0; d < N; ++d) {
            common.lower[d] = std::max(a.lower[d], b.lower[d]);
            common.upper[d] = std::min(a.upper[d], b.upper[d]);
        }
        return common;
    }
    friend constexpr bool operator==(const Box&, const Box&) = default;
};

/// Calls visit(index) for each of a box, the last dimension fastest.
template <std::size_t N, class Visit>
constexpr void for_each_index(const Box<N>& box, Visit&& visit) {
    if (box.empty()) return;
    for (Index<N> i = box.lower;;) {
        visit(std::as_const(i));
        std::size_t d = N;
        while (d > 0 && ++i[d - 1] == box.upper[d - 1]) {
            --d;
            i[d] = box.lower[d];
        }
        if (d == 0) return;
    }
}

namespace detail {

/// Divides by the same number again and again: below 2^32 by a multiplication, which takes a fraction of the
/// time.
class Divisor {
  public:
    constexpr Divisor() = default;
    /// \param most what will be divided; at least 0. \pre divisor >= 1
    constexpr Divisor(std::int64_t divisor, std::int64_t most) : divisor_(divisor) {
        // With m = 2^64 / divisor rounded up, x * m / 2^64 is x / divisor and less than 1 / divisor more.
        if (divisor > 1 && divisor <= small && most <= small)
            inverse_ = ~std::uint64_t{0} / static_cast<std::uint64_t>(divisor) + 1;
    }
    constexpr std::int64_t quotient(std::int64_t x) const {
        if (inverse_ == 0) [[unlikely]]
            return x / divisor_;
        return static_cast<std::int64_t>((static_cast<Wide>(x) * inverse_) >> 64);
    }
    constexpr std::int64_t remainder(std::int64_t x) const { return x - quotient(x) * divisor_; }
    constexpr std::int64_t value() const { return divisor_; }
    friend constexpr bool operator==(const Divisor&, const Divisor&) = default;

  private:
    __extension__ using Wide = unsigned __int128;
    static constexpr std::int64_t small = 0xffffffff;
    std::int64_t divisor_ = 1;
    std::uint64_t inverse_ = 0;
};

}  // namespace detail

/// Deals the numbers 0 to size - 1 out to `parts`. Each part's are numbered in their order.
///   part(i), local(i)      who has i, and as which of its numbers
///   global(part, local)    the way back
///   below(part, i)         how many of the part's numbers are smaller than i; 0 <= i <= size
///   contiguous             whether what a part has is one range
template <class D>
concept Distribution = std::constructible_from<D, std::int64_t, Rank, std::int64_t> &&
                       std::equality_comparable<D> && requires(const D d, std::int64_t i, Rank part) {
                           { d.part(i) } -> std::same_as<Rank>;
                           { d.local(i) } -> std::same_as<std::int64_t>;
                           { d.global(part, i) } -> std::same_as<std::int64_t>;
                           { d.below(part, i) } -> std::same_as<std::int64_t>;
                           { d.size() } -> std::same_as<std::int64_t>;
                           { D::contiguous } -> std::convertible_to<bool>;
                       };

/// One range for each part; the first ones have one more when it does not come out even.
class Block {
  public:
    static constexpr bool contiguous = true;

    constexpr Block() = default;
    constexpr Block(std::int64_t size, Rank parts, std::int64_t /*block*/ = 1)
        : size_(size),
          extra_(size % parts),
          large_(size / parts + 1, size),
          base_(std::max<std::int64_t>(1, size / parts), size),
          small_(size / parts) {}

    constexpr Rank part(std::int64_t i) const {
        const std::int64_t large = extra_ * large_.value();
        return static_cast<Rank>(i < large ? large_.quotient(i) : extra_ + base_.quotient(i - large));
    }
    constexpr std::int64_t local(std::int64_t i) const { return i - begin(part(i)); }
    constexpr std::int64_t global(Rank part, std::int64_t local) const { return begin(part) + local; }
    constexpr std::int64_t below(Rank part, std::int64_t i) const {
        return std::clamp<std::int64_t>(i - begin(part), 0, small_ + (part < extra_ ? 1 : 0));
    }
    constexpr std::int64_t size() const { return size_; }
    friend constexpr bool operator==(const Block&, const Block&) = default;

  private:
    constexpr std::int64_t begin(Rank part) const {
        return part * small_ + std::min<std::int64_t>(part, extra_);
    }
    std::int64_t size_ = 0;
    std::int64_t extra_ = 0;  ///< parts that have one more
    detail::Divisor large_;
    detail::Divisor base_;
    std::int64_t small_ = 0;
};

/// In turn, `block` numbers at a time.
class BlockCyclic {
  public:
    static constexpr bool contiguous = false;

    constexpr BlockCyclic() = default;
    constexpr BlockCyclic(std::int64_t size, Rank parts, std::int64_t block)
        : size_(size), parts_(parts), block_(block), blocks_(block, size), rounds_(block * parts, size) {}

    constexpr Rank part(std::int64_t i) const {
        return static_cast<Rank>(blocks_.quotient(rounds_.remainder(i)));
    }
    constexpr std::int64_t local(std::int64_t i) const {
        return rounds_.quotient(i) * block_ + blocks_.remainder(i);
    }
    constexpr std::int64_t global(Rank part, std::int64_t local) const {
        return (local / block_ * parts_ + part) * block_ + local % block_;
    }
    constexpr std::int64_t below(Rank part, std::int64_t i) const {
        return rounds_.quotient(i) * block_ +
               std::clamp<std::int64_t>(rounds_.remainder(i) - part * block_, 0, block_);
    }
    constexpr std::int64_t size() const { return size_; }
    friend constexpr bool operator==(const BlockCyclic&, const BlockCyclic&) = default;

  private:
    std::int64_t size_ = 0;
    std::int64_t parts_ = 1;
    std::int64_t block_ = 1;
    detail::Divisor blocks_;
    detail::Divisor rounds_;
};

/// In turn, one at a time.
class Cyclic {
  public:
    static constexpr bool contiguous = false;

    constexpr Cyclic() = default;
    constexpr Cyclic(std::int64_t size, Rank parts, std::int64_t /*block*/ = 1)
        : size_(size), parts_(parts, size + std::int64_t{parts}) {}

    constexpr Rank part(std::int64_t i) const { return static_cast<Rank>(parts_.remainder(i)); }
    constexpr std::int64_t local(std::int64_t i) const { return parts_.quotient(i); }
    constexpr std::int64_t global(Rank part, std::int64_t local) const {
        return local * parts_.value() + part;
    }
    constexpr std::int64_t below(Rank part, std::int64_t i) const {
        return parts_.quotient(i + parts_.value() - 1 - part);
    }
    constexpr std::int64_t size() const { return size_; }
    friend constexpr bool operator==(const Cyclic&, const Cyclic&) = default;

  private:
    std::int64_t size_ = 0;
    detail::Divisor parts_;
};

namespace detail {
void balanced_grid(Rank ranks, std::span<Rank> grid);
/// \throws Error for bounds that end before they begin, or are too large to count, and for a grid or blocks
/// of less than one
void check_layout(std::span<const std::int64_t> lower, std::span<const std::int64_t> upper,
                  std::span<const Rank> grid, std::span<const std::int64_t> block);
}  // namespace detail

/// So many ranks in N dimensions, as near to a cube as it gets, the largest number first: {3, 2} for 6.
/// \throws Error for less than one rank
template <std::size_t N>
std::array<Rank, N> balanced_grid(Rank ranks) {
    std::array<Rank, N> grid;
    detail::balanced_grid(ranks, grid);
    return grid;
}

/// Where an element is: a rank, its local numbers there, and how many of the rank's elements come before it.
template <std::size_t N>
struct Place {
    Rank rank = 0;
    Index<N> local{};
    std::int64_t position = 0;
    friend constexpr bool operator==(const Place&, const Place&) = default;
};

/// A box of indices, each dimension dealt out by D to one dimension of a grid of ranks. Ranks are numbered
/// with the last dimension of the grid fastest.
template <std::size_t N, Distribution D = Block>
class Layout {
    static_assert(1 <= N && N <= 4);

  public:
    Layout() = default;
    /// \param block of each dimension, where D deals out blocks of a given size
    /// \throws Error for bounds, a grid or blocks that make no sense
    Layout(const Box<N>& bounds, const std::array<Rank, N>& grid, const Index<N>& block = ones())
        : bounds_(bounds), grid_(grid) {
        detail::check_layout(bounds.lower, bounds.upper, grid, block);
        for (std::size_t d = 0; d < N; ++d)
            dimensions_[d] = D(bounds.extent(d), grid[d], block[d]);
    }

    const Box<N>& bounds() const { return bounds_; }
    const std::array<Rank, N>& grid() const { return grid_; }
    Rank ranks() const {
        Rank product = 1;
        for (const Rank extent : grid_)
            product *= extent;
        return product;
    }
    /// Of a rank in the grid.
    std::array<Rank, N> coordinates(Rank rank) const {
        std::array<Rank, N> at;
        for (std::size_t d = N; d-- > 0; rank /= grid_[d])
            at[d] = rank % grid_[d];
        return at;
    }

    /// \pre the bounds contain it
    Rank owner(const Index<N>& i) const {
        Rank rank = 0;
        for (std::size_t d = 0; d < N; ++d)
            rank = rank * grid_[d] + dimensions_[d].part(i[d] - bounds_.lower[d]);
        return rank;
    }
    /// \pre the bounds contain it
    Place<N> place(const Index<N>& i) const {
        Place<N> found;
        for (std::size_t d = 0; d < N; ++d) {
            const D& dimension = dimensions_[d];
            const std::int64_t from_first = i[d] - bounds_.lower[d];
            const Rank part = dimension.part(from_first);
            found.rank = found.rank * grid_[d] + part;
            found.local[d] = dimension.local(from_first);
            found.position = found.position * dimension.below(part, dimension.size()) + found.local[d];
        }
        return found;
    }
    /// \pre the rank has so many
    Index<N> global(Rank rank, const Index<N>& local) const {
        const std::array<Rank, N> at = coordinates(rank);
        Index<N> i;
        for (std::size_t d = 0; d < N; ++d)
            i[d] = bounds_.lower[d] + dimensions_[d].global(at[d], local[d]);
        return i;
    }

    /// How many of each dimension a rank has.
    Index<N> local_shape(Rank rank) const {
        const std::array<Rank, N> at = coordinates(rank);
        Index<N> shape;
        for (std::size_t d = 0; d < N; ++d)
            shape[d] = dimensions_[d].below(at[d], dimensions_[d].size());
        return shape;
    }
    /// What a rank has of a box, in its local numbers. What the box has outside of the bounds is left out.
    Box<N> local_part(Rank rank, const Box<N>& box) const {
        const std::array<Rank, N> at = coordinates(rank);
        Box<N> part;
        for (std::size_t d = 0; d < N; ++d) {
            part.lower[d] = below(d, at[d], box.lower[d]);
            part.upper[d] = std::max(part.lower[d], below(d, at[d], box.upper[d]));
        }
        return part;
    }
    /// How many indices of dimension `d` that a part of the grid has are smaller than `i`, of any value.
    std::int64_t below(std::size_t d, Rank part, std::int64_t i) const {
        return dimensions_[d].below(part,
                                    std::clamp(i, bounds_.lower[d], bounds_.upper[d]) - bounds_.lower[d]);
    }
    /// The most elements that any rank has.
    std::int64_t most() const {
        std::int64_t product = 1;
        for (std::size_t d = 0; d < N; ++d) {
            std::int64_t most = 0;
            for (Rank part = 0; part < grid_[d]; ++part)
                most = std::max(most, dimensions_[d].below(part, dimensions_[d].size()));
            product *= most;
        }
        return product;
    }
    /// How one dimension is dealt out, counted from 0.
    const D& dimension(std::size_t d) const { return dimensions_[d]; }

    static constexpr Index<N> ones() {
        Index<N> all;
        all.fill(1);
        return all;
    }
    friend bool operator==(const Layout&, const Layout&) = default;

  private:
    Box<N> bounds_;
    std::array<Rank, N> grid_{};
    std::array<D, N> dimensions_{};
};

}  // namespace nearfetch

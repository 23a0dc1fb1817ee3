// SPDX-License-Identifier: Apache-2.0
#pragma once

// Ownership of indices: boxes, the three distributions, and layouts, which map the indices of a box to a grid
// of ranks. Pure arithmetic, without communication.
//
//     const Layout<2> layout({{1, 1}, {101, 51}}, {2, 3});  // rows 1 to 100, columns 1 to 50; 2 x 3 ranks
//     layout.owner({100, 1});         // rank 3
//     layout.locate({100, 1}).local;  // {49, 0}, a local number of that rank
//     layout.local_shape(3);          // {50, 17}
//
// A distribution handles one dimension. Local numbers start from 0 and keep the order of the indices. So a
// rank's share of a range of indices is a range of its local numbers, for every distribution, and its share
// of a box is a box. Slices of arrays are therefore described in the owner's local numbers. LAPPS (section
// 5.2) leaves that to each distribution.

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

/// One number per dimension. Elements are contiguous along the last dimension.
template <std::size_t N>
using Index = std::array<std::int64_t, N>;

/// The indices from `lower` up to, but not including, `upper` in each dimension. Empty if any dimension is.
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
    /// The number of indices. \pre it fits 63 bits
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
    /// The indices that are in both.
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

/// The index in the box that continues it periodically: beyond a bound the box goes on at the opposite one.
/// \pre the box is not empty
template <std::size_t N>
constexpr Index<N> wrapped(Index<N> i, const Box<N>& box) {
    for (std::size_t d = 0; d < N; ++d) {
        const std::int64_t beyond = (i[d] - box.lower[d]) % box.extent(d);
        i[d] = beyond < 0 ? box.upper[d] + beyond : box.lower[d] + beyond;
    }
    return i;
}

/// Calls visit(index) for each index of a box, the last dimension fastest.
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

/// Divides by a constant. Below 2^32 it multiplies by the inverse, which is faster.
class Divisor {
  public:
    constexpr Divisor() = default;
    /// \param most largest dividend, at least 0 \pre divisor >= 1
    constexpr Divisor(std::int64_t divisor, std::int64_t most) : divisor_(divisor) {
        // With m = ceil(2^64 / divisor), floor(x * m / 2^64) is x / divisor for all x up to 2^32.
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

/// Distributes the numbers 0 to size - 1 over `parts`. Local numbers keep their order.
///   part(i), local(i)      the part that has i, and its local number
///   global(part, local)    the inverse
///   below(part, i)         how many of the part's numbers are smaller than i; 0 <= i <= size
///   contiguous             whether each part is one range
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

/// One range per part. The first parts have one number more if the size is not a multiple.
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
    std::int64_t extra_ = 0;  ///< parts with one number more
    detail::Divisor large_;
    detail::Divisor base_;
    std::int64_t small_ = 0;
};

/// Blocks of `block` numbers, round robin.
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

/// Single numbers, round robin.
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
/// \throws Error for bounds that are reversed or too large to count, and for a grid or blocks below one
void check_layout(std::span<const std::int64_t> lower, std::span<const std::int64_t> upper,
                  std::span<const Rank> grid, std::span<const std::int64_t> block);
}  // namespace detail

/// Factors a number of ranks into N dimensions, as close to a cube as possible, the largest first: {3, 2} for
/// 6.
/// \throws Error for less than one rank
template <std::size_t N>
std::array<Rank, N> balanced_grid(Rank ranks) {
    std::array<Rank, N> grid;
    detail::balanced_grid(ranks, grid);
    return grid;
}

/// Where an element is: its rank, its local numbers there, and how many of the rank's elements come before
/// it.
template <std::size_t N>
struct Location {
    Rank rank = 0;
    Index<N> local{};
    std::int64_t position = 0;
    friend constexpr bool operator==(const Location&, const Location&) = default;
};

/// A box of indices, each dimension distributed by D over one dimension of a grid of ranks. Rank numbers have
/// the last dimension of the grid fastest.
template <std::size_t N, Distribution D = Block>
class Layout {
    static_assert(1 <= N && N <= 4);

  public:
    Layout() = default;
    /// \param block block sizes, for BlockCyclic
    /// \throws Error for invalid bounds, grid or blocks
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
    /// A rank's coordinates in the grid.
    std::array<Rank, N> coordinates(Rank rank) const {
        std::array<Rank, N> at;
        for (std::size_t d = N; d-- > 0; rank /= grid_[d])
            at[d] = rank % grid_[d];
        return at;
    }

    /// \pre in bounds
    Rank owner(const Index<N>& i) const {
        Rank rank = 0;
        for (std::size_t d = 0; d < N; ++d)
            rank = rank * grid_[d] + dimensions_[d].part(i[d] - bounds_.lower[d]);
        return rank;
    }
    /// \pre in bounds
    Location<N> locate(const Index<N>& i) const {
        Location<N> found;
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
    /// The index of a rank's element. \pre the rank has it
    Index<N> global(Rank rank, const Index<N>& local) const {
        const std::array<Rank, N> at = coordinates(rank);
        Index<N> i;
        for (std::size_t d = 0; d < N; ++d)
            i[d] = bounds_.lower[d] + dimensions_[d].global(at[d], local[d]);
        return i;
    }

    /// A rank's number of indices in each dimension.
    Index<N> local_shape(Rank rank) const {
        const std::array<Rank, N> at = coordinates(rank);
        Index<N> shape;
        for (std::size_t d = 0; d < N; ++d)
            shape[d] = dimensions_[d].below(at[d], dimensions_[d].size());
        return shape;
    }
    /// A rank's share of a box, in its local numbers. Parts of the box that are out of bounds are ignored.
    Box<N> local_part(Rank rank, const Box<N>& box) const {
        const std::array<Rank, N> at = coordinates(rank);
        Box<N> part;
        for (std::size_t d = 0; d < N; ++d) {
            part.lower[d] = below(d, at[d], box.lower[d]);
            part.upper[d] = std::max(part.lower[d], below(d, at[d], box.upper[d]));
        }
        return part;
    }
    /// How many indices of a grid part in dimension `d` are smaller than `i`. `i` may be out of bounds.
    std::int64_t below(std::size_t d, Rank part, std::int64_t i) const {
        return dimensions_[d].below(part,
                                    std::clamp(i, bounds_.lower[d], bounds_.upper[d]) - bounds_.lower[d]);
    }
    /// The largest number of elements of any rank.
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
    /// The distribution of one dimension, from 0.
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

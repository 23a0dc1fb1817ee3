// SPDX-License-Identifier: Apache-2.0
#pragma once

// Memory of a distributed array with room for a halo. Part of array.hpp.
//
//     rank 1's memory:   | room | rows of its own | room |
//                            ^                        ^
//               the last rows of rank 0      the first rows of rank 2
//
// Where only the first dimension is distributed, rows of the halo follow each other and own rows. So both
// together are a view, and no own element is copied. Other ranks never read the room: addresses of elements
// are as without it, but for where they begin.

#include <nearfetch/array.hpp>

namespace nearfetch {

template <class T, std::size_t N, Distribution D>
DistributedArray<T, N, D>::DistributedArray(const Box<N>& bounds, const std::array<Rank, N>& grid,
                                            const Index<N>& block, HaloRoom halo, const Where& where)
    : layout_(bounds, grid, block), rank_(nearfetch::rank()), block_(block), halo_(halo) {
    detail::check_ranks(layout_.ranks());
    detail::check_halo_room(halo, grid, D::contiguous);
    const detail::Collective call("DistributedArray", where);
    std::vector<std::uint64_t> arguments = detail::describe(layout_, block, sizeof(T));
    arguments.push_back(static_cast<std::uint64_t>(halo.rows));
    agreement_.check(arguments);
    parts_ = detail::ArrayMemory<T>(static_cast<std::size_t>(layout_.most()),
                                    detail::elements_of(halo, bounds.shape()));
    find_own();
    barrier();
}

template <class T, std::size_t N, Distribution D>
View<T, N> DistributedArray<T, N, D>::with_halo(std::int64_t depth, bool periodic) {
    detail::check_halo_depth(depth, halo_);
    if (local().empty()) return local();
    const std::int64_t row = local().strides()[0];
    const std::int64_t own_upper = own_lower_[0] + own_shape_[0];
    std::int64_t lower = own_lower_[0] - depth, upper = own_upper + depth;
    if (!periodic) {
        lower = std::max(lower, bounds().lower[0]);
        upper = std::min(upper, bounds().upper[0]);
    }
    std::vector<Reading> readings;
    const auto read = [&](std::int64_t from, std::int64_t end) {
        while (from < end) {
            Box<N> rows = bounds();
            Index<N> first = rows.lower;
            first[0] = from;
            rows.lower[0] = wrapped(first, bounds())[0];
            rows.upper[0] = std::min(rows.upper[0], rows.lower[0] + end - from);
            readings.push_back({rows, own_ + (from - own_lower_[0]) * row});
            from += rows.extent(0);
        }
    };
    read(lower, own_lower_[0]);
    read(own_upper, upper);
    read_boxes(readings, true);
    Index<N> shape = own_shape_;
    shape[0] = upper - lower;
    return View<T, N>(own_ - (own_lower_[0] - lower) * row, shape);
}

}  // namespace nearfetch

// SPDX-License-Identifier: Apache-2.0
#pragma once

// The loop over own elements. Part of array.hpp.

#include <nearfetch/array.hpp>

namespace nearfetch {

/// Visits the own elements with these local numbers, in index order.
template <class T, std::size_t N, Distribution D>
template <class Visit>
void DistributedArray<T, N, D>::visit_own(Box<N> local, Visit& visit) {
    const std::int64_t width = local.extent(N - 1);
    if (width == 0) return;
    local.upper[N - 1] = local.lower[N - 1] + 1;
    for_each_index(local, [&](const Index<N>& first) {
        Index<N> i = layout_.global(rank_, first);
        Index<N> at = first;
        T* element = own_ + detail::position(Box<N>({}, own_shape_), first);
        for (std::int64_t n = 0; n < width; ++n, ++at[N - 1], ++i[N - 1]) {
            if constexpr (!D::contiguous) i = layout_.global(rank_, at);
            visit(std::as_const(i), element[n]);
        }
    });
}

}  // namespace nearfetch

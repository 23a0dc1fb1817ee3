// SPDX-License-Identifier: Apache-2.0
#pragma once

// Loops over a box of a distributed array, one owner's part at a time.
//
//     a.prefetch_row_wise();
//     for_each_part(a, rows, [&](const Box<2>& part, const auto& element) {
//         for (std::int64_t i = part.lower[0]; i < part.upper[0]; ++i)
//             for (std::int64_t j = part.lower[1]; j < part.upper[1]; ++j)
//                 sum += element(i, j);
//     });
//
// Ownership and residence are checked once per part. LAPPS checks each access (section 4), as a(i, j) does.
// Own and prefetched parts are read in place. For other parts element(i, j) is a(i, j), so nothing has to be
// prefetched.

#include <nearfetch/array.hpp>

namespace nearfetch {

/// Calls visit(part, element) for what each rank owns of a box, in rank order. element(i, j, ...) and
/// element[index] give the value of an element of the part.
/// \pre visit does not acquire (for example by a barrier), and neither updates nor evicts prefetched data
/// \throws Error when the box is out of bounds
template <class T, std::size_t N, class Visit>
void for_each_part(const BlockArray<T, N>& of, const Box<N>& box, Visit&& visit) {
    const auto visit_resident = [&](const Box<N>& part) {
        const Resident<T, N> here = of.resident(part);
        if (here.shared)
            visit(part, detail::ResidentElements<T, N, true>(here.elements, part.lower));
        else if (here)
            visit(part, detail::ResidentElements<T, N, false>(here.elements, part.lower));
        return static_cast<bool>(here);
    };
    if (box.empty() || visit_resident(box)) return;
    detail::for_each_owner(of.layout(), detail::product_of(box), [&](Rank owner, const Box<N>& local) {
        const Index<N> first = of.layout().global(owner, local.lower);
        Box<N> part(first, first);
        for (std::size_t d = 0; d < N; ++d)
            part.upper[d] += local.extent(d);
        if (!visit_resident(part)) visit(part, of);
    });
}

}  // namespace nearfetch

// SPDX-License-Identifier: Apache-2.0
#pragma once

// Loops over a box of a distributed array, part by part: of each rank what it owns of the box.
//
//     a.prefetch_row_wise();
//     for_each_part(a, rows, [&](const Box<2>& part, const auto& element) {
//         for (std::int64_t i = part.lower[0]; i < part.upper[0]; ++i)
//             for (std::int64_t j = part.lower[1]; j < part.upper[1]; ++j)
//                 sum += element(i, j);
//     });
//
// Whose the elements are, and whether they are here, is asked once for each part. Of own and of prefetched
// ones the loop is what a compiler makes of one over a local array (LAPPS asks at each access, section 4, and
// so does a(i, j)). Of others element(i, j) is a(i, j), so that nothing need be prefetched.

#include <nearfetch/array.hpp>

namespace nearfetch {

/// Calls visit(part, element) for what each rank owns of a box, in the order of the ranks. element(i, j, ...)
/// and element[index] give the value of an element of the part.
/// \pre visit does not acquire (a barrier), and updates and evicts nothing that is prefetched
/// \throws Error when the box is not inside
template <class T, std::size_t N, class Visit>
void for_each_part(const BlockArray<T, N>& of, const Box<N>& box, Visit&& visit) {
    const auto visit_resident = [&](const Box<N>& part) {
        const Resident<T, N> here = of.resident(part);
        if (here.shared)
            visit(part, detail::ElementsHere<T, N, true>(here.elements, part.lower));
        else if (here)
            visit(part, detail::ElementsHere<T, N, false>(here.elements, part.lower));
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

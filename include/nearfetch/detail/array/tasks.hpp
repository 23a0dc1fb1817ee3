// SPDX-License-Identifier: Apache-2.0
#pragma once

// Loops in several threads of a rank. LAPPS's programs have `forall` loops, which use all cores of a locale.
//
//     a.for_each([&](const Index<2>& i, double& x) { x = b(i[1], i[0]); }, 4);    // 4 threads
//     in_tasks(4, [&](std::int64_t k) { ... });                                   // any other loop

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <nearfetch/detail/array/distribution.hpp>

namespace [[gnu::visibility("default")]] nearfetch {

/// Runs body(0) to body(count - 1) at the same time, body(0) in the calling thread and the others in tasks
/// (spawn() in pgas.hpp). Returns when all have ended. They see what the calling thread has put before, and
/// it sees what they have put. Data that is prefetched with automatic consistency is fetched once for all of
/// them. Where spawn() does not work, the calling thread runs one after the other.
/// \throws Error for a negative count, and the first exception of body()
void in_tasks(std::int64_t count, const std::function<void(std::int64_t)>& body);

namespace detail {

/// \throws Error for less than one task
void check_tasks(int tasks);

/// Calls visit(share) for so many shares of a box, at the same time. Shares are of about the same size.
template <std::size_t N, class Visit>
void for_each_share(const Box<N>& box, int tasks, const Visit& visit) {
    check_tasks(tasks);
    if (box.empty()) return;
    // The first dimension that is long enough; else the longest.
    std::size_t cut = 0;
    for (std::size_t d = 1; d < N && box.extent(cut) < tasks; ++d)
        if (box.extent(d) > box.extent(cut)) cut = d;
    const std::int64_t shares = std::min<std::int64_t>(tasks, box.extent(cut));
    if (shares == 1) return visit(box);
    const Block over(box.extent(cut), static_cast<Rank>(shares));
    in_tasks(shares, [&](std::int64_t k) {
        Box<N> share = box;
        const std::int64_t first = over.global(static_cast<Rank>(k), 0);
        share.lower[cut] += first;
        share.upper[cut] = share.lower[cut] + over.below(static_cast<Rank>(k), over.size());
        visit(share);
    });
}

}  // namespace detail

}  // namespace nearfetch

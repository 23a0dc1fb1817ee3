// SPDX-License-Identifier: Apache-2.0
#pragma once

// Stencils: loops that read what is near an element, as near(-1, 0) instead of a(i - 1, j).
//
//     a.prefetch_stencil(1, false);
//     for_each_near(b, a, inside, 1, [](const Index<2>&, double& x, const auto& near) {
//         x = 0.25 * (near(-1, 0) + near(1, 0) + near(0, -1) + near(0, 1));
//     });
//
// Most elements have all that is near them on the same rank. For these near(...) is an access to memory at a
// distance that is known before the loop, so that the loop is what a compiler makes of one over a local array
// (LAPPS has the check of each access instead, and with it loses to copies made by hand, section 6.3). For
// the others it is a(i, j): local, else prefetched, else remote.

#include <nearfetch/array.hpp>

namespace nearfetch {

namespace detail {

/// Own elements around one.
template <class T, std::size_t N>
class NearHere {
  public:
    NearHere(const T* centre, const Index<N>& strides) : centre_(centre), strides_(strides) {}

    template <std::convertible_to<std::int64_t>... I>
        requires(sizeof...(I) == N)
    const T& operator()(I... away) const {
        const Index<N> distance{static_cast<std::int64_t>(away)...};
        std::int64_t offset = 0;
        for (std::size_t d = 0; d < N; ++d)
            offset += distance[d] * strides_[d];
        return centre_[offset];
    }

  private:
    const T* centre_;
    Index<N> strides_;
};

/// Anybody's.
template <class T, std::size_t N>
class NearAnywhere {
  public:
    NearAnywhere(const BlockArray<T, N>& array, const Index<N>& centre) : array_(array), centre_(centre) {}

    template <std::convertible_to<std::int64_t>... I>
        requires(sizeof...(I) == N)
    T operator()(I... away) const {
        Index<N> i{static_cast<std::int64_t>(away)...};
        for (std::size_t d = 0; d < N; ++d)
            i[d] += centre_[d];
        return array_.read(i);
    }

  private:
    const BlockArray<T, N>& array_;
    const Index<N>& centre_;
};

}  // namespace detail

/// Calls visit(index, element, near) for each element of `to` that this rank owns in a box, in their order;
/// near(di, dj, ...) is the element of `of` at that distance from the same index, where there is one.
/// \pre visit asks for nothing farther away than `depth` in any dimension
template <class T, class U, std::size_t N, class Visit>
void for_each_near(BlockArray<T, N>& to, const BlockArray<U, N>& of, const Box<N>& box, std::int64_t depth,
                   Visit&& visit) {
    const Box<N> wanted = intersection(to.own_box(), box);
    const Box<N> own = of.own_box();
    const View<U, N> local = of.local();
    Box<N> inner = wanted;  // near which there are own elements alone
    for (std::size_t d = 0; d < N; ++d) {
        inner.lower[d] = std::max(wanted.lower[d], own.lower[d] + depth);
        inner.upper[d] = std::min(wanted.upper[d], own.upper[d] - depth);
    }
    Box<N> rows = wanted;
    rows.upper[N - 1] = std::min(wanted.upper[N - 1], wanted.lower[N - 1] + 1);
    for_each_index(rows, [&](Index<N> i) {
        std::int64_t& last = i[N - 1];
        T* element = to.own(i);
        const auto anywhere = [&](std::int64_t end) {
            for (; last < end; ++last, ++element)
                visit(std::as_const(i), *element, detail::NearAnywhere<U, N>(of, i));
        };
        Index<N> first = i;
        first[N - 1] = inner.lower[N - 1];
        if (inner.contains(first)) {
            anywhere(first[N - 1]);
            const U* centre = of.own(i);
            for (; last < inner.upper[N - 1]; ++last, ++element, ++centre)
                visit(std::as_const(i), *element, detail::NearHere<U, N>(centre, local.strides()));
        }
        anywhere(wanted.upper[N - 1]);
    });
}

}  // namespace nearfetch

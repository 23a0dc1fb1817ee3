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
// (LAPPS has the check of each access instead, and with it loses to copies made by hand, section 6.3). Where
// rows near them are others', each row is looked for once, own or prefetched. For what is left, where rows
// begin and end, it is a(i, j): local, else prefetched, else remote.

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

/// Rows around one, each of which is looked for when the first of its elements is asked for.
template <class T, std::size_t N>
class NearRows {
  public:
    NearRows(const BlockArray<T, N>& array, std::int64_t depth) : array_(array), depth_(depth) {
        std::size_t rows = 1;
        for (std::size_t d = 0; d + 1 < N; ++d)
            rows *= static_cast<std::size_t>(2 * depth + 1);
        rows_.resize(rows);
    }
    /// The centre is one of so many side by side.
    void begin(const Index<N>& centre, std::int64_t count) {
        first_ = centre;
        count_ = count;
        done_ = 0;
        std::ranges::fill(rows_, Row());
    }
    /// The centre is the next one.
    void next() { ++done_; }

    template <std::convertible_to<std::int64_t>... I>
        requires(sizeof...(I) == N)
    T operator()(I... away) const {
        const Index<N> distance{static_cast<std::int64_t>(away)...};
        std::int64_t number = 0;
        for (std::size_t d = 0; d + 1 < N; ++d)
            number = number * (2 * depth_ + 1) + distance[d] + depth_;
        Row& row = rows_[static_cast<std::size_t>(number)];
        if (row.first == nullptr) [[unlikely]]
            return find_and_read(row, distance);
        return load<true>(row.first[done_ + distance[N - 1]]);
    }

  private:
    struct Row {
        const T* first = nullptr;  ///< what is at that distance from the first centre, in this row
        bool looked_for = false;
    };

    [[gnu::noinline]] T find_and_read(Row& row, const Index<N>& distance) const {
        Index<N> there = first_;
        for (std::size_t d = 0; d < N; ++d)
            there[d] += distance[d];
        there[N - 1] += done_;
        if (!std::exchange(row.looked_for, true)) {
            Box<N> wanted(there, there);
            for (std::int64_t& i : wanted.upper)
                ++i;
            wanted.lower[N - 1] = first_[N - 1] - depth_;
            wanted.upper[N - 1] = first_[N - 1] + count_ + depth_;
            wanted = intersection(wanted, array_.bounds());
            if (const Resident<T, N> here = array_.resident(wanted))
                row.first = here.elements.data() + (first_[N - 1] - wanted.lower[N - 1]);
        }
        return array_.read(there);
    }

    const BlockArray<T, N>& array_;
    std::int64_t depth_;
    Index<N> first_{};
    std::int64_t count_ = 0;
    std::int64_t done_ = 0;
    mutable std::vector<Row> rows_;
};
/// Looking for rows takes as long as reading some elements of each.
inline constexpr std::int64_t row_is_long = 8;

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
    const std::int64_t columns = inner.upper[N - 1] - inner.lower[N - 1];
    detail::NearRows<U, N> near_rows(of, depth);
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
        } else if (N > 1 && columns >= detail::row_is_long) {
            anywhere(first[N - 1]);
            near_rows.begin(i, columns);
            for (; last < inner.upper[N - 1]; ++last, ++element, near_rows.next())
                visit(std::as_const(i), *element, std::as_const(near_rows));
        }
        anywhere(wanted.upper[N - 1]);
    });
}

}  // namespace nearfetch

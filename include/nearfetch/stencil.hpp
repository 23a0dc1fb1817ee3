// SPDX-License-Identifier: Apache-2.0
#pragma once

// Stencils: loops that read what is near an element, as near(-1, 0) instead of a(i - 1, j).
//
//     a.prefetch_stencil(1, false);
//     for_each_stencil(b, a, inside, 1, [](const Index<2>&, double& x, const auto& near) {
//         x = 0.25 * (near(-1, 0) + near(1, 0) + near(0, -1) + near(0, 1));
//     });
//
// Most elements have all that is near them on the same rank. For these near(...) is an access to memory at a
// distance that is known before the loop, so that the loop is what a compiler makes of one over a local array
// (LAPPS has the check of each access instead, and with it loses to copies made by hand, section 6.3). Where
// rows near them are others', these are found before the row is gone over, own or prefetched, and the loop is
// as plain; else each is looked for when it is asked for. For what is left, where rows begin and end, it is
// a(i, j): local, else prefetched, else remote.

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

/// Rows around some centres side by side: where the element of each lies that is nearest to the first centre.
/// Rows lie one behind the other in planes, and many of a plane in one piece of memory, which is found once.
template <class T, std::size_t N>
class NearRows {
  public:
    /// \param centres all that there will be, as many in each row
    NearRows(const BlockArray<T, N>& array, const Box<N>& centres, std::int64_t depth)
        : array_(array), centres_(centres), depth_(depth), side_(2 * depth + 1) {
        std::int64_t rows = 1;
        for (std::size_t d = N - 1; d-- > 0;) {
            strides_[d] = rows;
            middle_ += depth * rows;
            rows *= side_;
        }
        first_.resize(static_cast<std::size_t>(rows));
        looked_for_.resize(first_.size());
        pieces_.resize(static_cast<std::size_t>(rows / side_));
    }

    /// Calls visit(index, element, near) for each centre of a row.
    /// \param element what belongs to the first; those of the others are behind it
    template <class U, class Visit>
    void visit(const Index<N>& first_centre, U* element, Visit&& visit) {
        begin(first_centre);
        if (!all_resident())
            visit_as<Anywhere>(first_centre, element, visit);
        else if (shared_)
            visit_as_plainly<Resident<true>>(first_centre, element, visit);
        else
            visit_as_plainly<Resident<false>>(first_centre, element, visit);
    }

  private:
    /// What is around a centre. \pre all_resident()
    template <bool Shared>
    class Resident {
      public:
        Resident(const NearRows& rows, std::int64_t place)
            : first_(rows.first_.data() + rows.middle_), strides_(rows.strides_), place_(place) {}

        template <std::convertible_to<std::int64_t>... I>
            requires(sizeof...(I) == N)
        T operator()(I... away) const {
            const Index<N> distance{static_cast<std::int64_t>(away)...};
            return load<Shared>(first_[row(distance, strides_)][place_ + distance[N - 1]]);
        }

      private:
        const T* const* first_;
        Index<N> strides_;
        std::int64_t place_;
    };
    /// The same where it may be anywhere: a row is looked for when the first of its elements is asked for.
    class Anywhere {
      public:
        Anywhere(NearRows& rows, std::int64_t place) : rows_(rows), place_(place) {}

        template <std::convertible_to<std::int64_t>... I>
            requires(sizeof...(I) == N)
        T operator()(I... away) const {
            const Index<N> distance{static_cast<std::int64_t>(away)...};
            const auto at = static_cast<std::size_t>(rows_.middle_ + row(distance, rows_.strides_));
            const T* const first = rows_.first_[at];
            if (first == nullptr) [[unlikely]]
                return rows_.find_and_read(at, distance, place_);
            return load<true>(first[place_ + distance[N - 1]]);
        }

      private:
        NearRows& rows_;
        std::int64_t place_;
    };
    template <class Near, class U, class Visit>
    void visit_as(Index<N> i, U* element, Visit&& visit) {
        for (std::int64_t place = 0; place < centres_.extent(N - 1); ++place, ++i[N - 1])
            visit(std::as_const(i), element[place], Near(*this, place));
    }
    /// A loop in one piece, which compilers else take apart because there are others like it.
    template <class Near, class U, class Visit>
    [[gnu::flatten]] void visit_as_plainly(const Index<N>& first_centre, U* element, Visit&& visit) {
        visit_as<Near>(first_centre, element, visit);
    }

    /// Rows of a plane, one behind the other.
    struct Piece {
        std::int64_t lower = 0;
        std::int64_t upper = 0;
        const T* first = nullptr;  ///< of the first row
        std::int64_t stride = 0;
        bool shared = false;
    };

    void begin(const Index<N>& centre) {
        Index<N> plane = centre;
        plane[N - 2] = begin_[N - 2];
        if (plane != begin_) std::ranges::fill(pieces_, Piece());
        begin_ = centre;
        shared_ = false;
        std::ranges::fill(first_, nullptr);
        looked_for_.assign(first_.size(), false);
    }
    /// Looks for all rows, where that takes less than the centres do. Fetches none that nobody may ask for.
    bool all_resident() {
        if (std::ssize(first_) > centres_.extent(N - 1)) return false;
        for (std::size_t at = 0; at < first_.size(); ++at)
            if (find(at, false) == nullptr) return false;
        return true;
    }
    static std::int64_t row(const Index<N>& distance, const Index<N>& strides) {
        std::int64_t number = 0;
        for (std::size_t d = 0; d + 1 < N; ++d)
            number += distance[d] * strides[d];
        return number;
    }
    [[gnu::noinline]] T find_and_read(std::size_t at, const Index<N>& distance, std::int64_t place) {
        find(at, true);
        Index<N> there = begin_;
        for (std::size_t d = 0; d < N; ++d)
            there[d] += distance[d];
        there[N - 1] += place;
        return array_.read(there);
    }
    /// \param fetch what is stale \return null where not all that is near the centres is resident
    const T* find(std::size_t at, bool fetch) {
        if (first_[at] != nullptr || looked_for_[at]) return first_[at];
        const auto plane = static_cast<std::int64_t>(at) / side_;
        const std::int64_t i = begin_[N - 2] + static_cast<std::int64_t>(at) % side_ - depth_;
        Piece& piece = pieces_[static_cast<std::size_t>(plane)];
        if (i < piece.lower || i >= piece.upper) piece = find_piece(plane, i, fetch);
        looked_for_[at] = fetch;
        if (i >= piece.upper) return nullptr;
        shared_ = shared_ || piece.shared;
        return first_[at] = piece.first + (i - piece.lower) * piece.stride;
    }
    /// From row i on all that is needed of that plane, else that row, else none.
    Piece find_piece(std::int64_t plane, std::int64_t i, bool fetch) const {
        Box<N> wanted(begin_, begin_);
        for (std::size_t d = 0; d + 2 < N; ++d) {
            const std::int64_t stride = strides_[d] / side_;
            wanted.lower[d] += plane / stride - depth_;
            wanted.upper[d] = wanted.lower[d] + 1;
            plane %= stride;
        }
        wanted.lower[N - 1] -= depth_;
        wanted.upper[N - 1] = centres_.upper[N - 1] + depth_;
        wanted.lower[N - 2] = i;
        // Blocks begin where this rank's do.
        const Box<N> own = array_.own_box();
        const std::int64_t last = std::min(centres_.upper[N - 2] + depth_, array_.bounds().upper[N - 2]);
        const std::int64_t end = i < own.lower[N - 2]   ? own.lower[N - 2]
                                 : i < own.upper[N - 2] ? own.upper[N - 2]
                                                        : last;
        for (const std::int64_t upper : {std::min(end, last), i + 1}) {
            wanted.upper[N - 2] = upper;
            if (intersection(wanted, array_.bounds()) != wanted) continue;
            if (const nearfetch::Resident<T, N> here = array_.resident(wanted, fetch))
                return {i, upper, here.elements.data() + depth_, here.elements.strides()[N - 2], here.shared};
        }
        return {};
    }

    const BlockArray<T, N>& array_;
    Box<N> centres_;
    std::int64_t depth_;
    std::int64_t side_;        ///< rows around one in each dimension
    Index<N> strides_{};       ///< of these, by their distance
    std::int64_t middle_ = 0;  ///< the row of the centres, among these
    Index<N> begin_{};
    std::vector<const T*> first_;
    std::vector<bool> looked_for_;
    std::vector<Piece> pieces_;  ///< of each plane, the last that was found
    bool shared_ = false;        ///< one of the rows that were found is
};
/// Looking for rows takes as long as reading some elements of each.
inline constexpr std::int64_t row_is_long = 8;

/// Visits so many elements side by side, near which there are own ones alone. In one piece, as above.
template <class U, class T, std::size_t N, class Visit>
[[gnu::flatten]] void visit_here(Index<N> i, std::int64_t count, U* element, const T* centre,
                                 const Index<N>& strides, Visit&& visit) {
    for (std::int64_t place = 0; place < count; ++place, ++i[N - 1])
        visit(std::as_const(i), element[place], NearHere<T, N>(centre + place, strides));
}

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
void for_each_stencil(BlockArray<T, N>& to, const BlockArray<U, N>& of, const Box<N>& box, std::int64_t depth,
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
    Box<N> long_rows = wanted;  // near which others' elements are in other rows alone
    long_rows.lower[N - 1] = inner.lower[N - 1];
    long_rows.upper[N - 1] = std::max(inner.lower[N - 1], inner.upper[N - 1]);
    const std::int64_t columns = long_rows.extent(N - 1);
    detail::NearRows<U, N> near_rows(of, long_rows, depth);
    for_each_index(rows, [&](Index<N> i) {
        std::int64_t& last = i[N - 1];
        T* element = to.own(i);
        const auto anywhere = [&](std::int64_t end) {
            for (; last < end; ++last, ++element)
                visit(std::as_const(i), *element, detail::NearAnywhere<U, N>(of, i));
        };
        Index<N> first = i;
        first[N - 1] = inner.lower[N - 1];
        const bool all_own = inner.contains(first);
        if (all_own || (N > 1 && columns >= detail::row_is_long)) {
            anywhere(first[N - 1]);
            if (all_own)
                detail::visit_here(i, columns, element, of.own(i), local.strides(), visit);
            else if constexpr (N > 1)
                near_rows.visit(i, element, visit);
            element += columns;
            last = inner.upper[N - 1];
        }
        anywhere(wanted.upper[N - 1]);
    });
}

}  // namespace nearfetch

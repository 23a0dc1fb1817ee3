// SPDX-License-Identifier: Apache-2.0
#pragma once

// Loops over stencils: a loop body reads the neighbours of an element as at(-1, 0), not as a(i - 1, j).
//
//     a.prefetch_stencil(1, false);
//     for_each_stencil(b, a, inside, 1, [](const Index<2>&, double& x, const auto& at) {
//         x = 0.25 * (at(-1, 0) + at(1, 0) + at(0, -1) + at(0, 1));
//     });
//
// LAPPS checks each access, and therefore loses to hand-made copies (section 6.3). Here the checks leave the
// inner loop. There are three accessors:
// - StencilInterior: the whole neighbourhood is own. An access is a load at a constant distance.
// - StencilRows: some rows belong to other ranks. They are found once per row of centres, own or prefetched.
// - StencilBoundary: an access is a(i, j): local, else prefetched, else remote. It serves the ends of rows.

#include <nearfetch/array.hpp>

namespace nearfetch {

namespace detail {

/// Reads around a centre whose whole neighbourhood is own.
template <class T, std::size_t N>
class StencilInterior {
  public:
    StencilInterior(const T* centre, const Index<N>& strides) : centre_(centre), strides_(strides) {}

    template <std::convertible_to<std::int64_t>... I>
        requires(sizeof...(I) == N)
    const T& operator()(I... offsets) const {
        const Index<N> relative{static_cast<std::int64_t>(offsets)...};
        std::int64_t offset = 0;
        for (std::size_t d = 0; d < N; ++d)
            offset += relative[d] * strides_[d];
        return centre_[offset];
    }

  private:
    const T* centre_;
    Index<N> strides_;
};

/// Reads around the centres of one row. For each row of the neighbourhood it holds the address of the element
/// in the first centre's column. Rows of a plane are often contiguous, and then found together.
template <class T, std::size_t N>
class StencilRows {
  public:
    /// \param centres all centres to come; each row has the same length
    StencilRows(const BlockArray<T, N>& array, const Box<N>& centres, const Stencil& stencil)
        : array_(array), centres_(centres), stencil_(stencil), periodic_(stencil.is_periodic<N>()) {
        std::int64_t rows = 1;
        for (std::size_t d = N - 1; d-- > 0;) {
            strides_[d] = rows;
            middle_ += stencil.depth[d] * rows;
            rows *= 2 * stencil.depth[d] + 1;
            if (d + 2 == N) side_ = rows;
        }
        first_.resize(static_cast<std::size_t>(rows));
        looked_for_.resize(first_.size());
        row_groups_.resize(static_cast<std::size_t>(rows / side_));
    }

    /// Calls visit(index, element, at) for each centre of a row.
    /// \param element belongs to the first centre; the elements of the others follow it
    template <class U, class Visit>
    void visit(const Index<N>& first_centre, U* element, Visit&& visit) {
        begin(first_centre);
        if (!all_resident())
            visit_as<LookupAccess>(first_centre, element, visit);
        else if (shared_)
            visit_as_plainly<ResidentAccess<true>>(first_centre, element, visit);
        else
            visit_as_plainly<ResidentAccess<false>>(first_centre, element, visit);
    }

  private:
    /// Accessor when all rows can be read in place. \pre all_resident()
    template <bool Shared>
    class ResidentAccess {
      public:
        ResidentAccess(const StencilRows& rows, std::int64_t column)
            : first_(rows.first_.data() + rows.middle_), strides_(rows.strides_), column_(column) {}

        template <std::convertible_to<std::int64_t>... I>
            requires(sizeof...(I) == N)
        T operator()(I... offsets) const {
            const Index<N> relative{static_cast<std::int64_t>(offsets)...};
            return load<Shared>(first_[row(relative, strides_)][column_ + relative[N - 1]]);
        }

      private:
        const T* const* first_;
        Index<N> strides_;
        std::int64_t column_;
    };
    /// Accessor when some row may be remote. A row is found when its first element is read.
    class LookupAccess {
      public:
        LookupAccess(StencilRows& rows, std::int64_t column) : rows_(rows), column_(column) {}

        template <std::convertible_to<std::int64_t>... I>
            requires(sizeof...(I) == N)
        T operator()(I... offsets) const {
            const Index<N> relative{static_cast<std::int64_t>(offsets)...};
            const auto at = static_cast<std::size_t>(rows_.middle_ + row(relative, rows_.strides_));
            const T* const first = rows_.first_[at];
            if (first == nullptr) [[unlikely]]
                return rows_.find_and_read(at, relative, column_);
            return load<true>(first[column_ + relative[N - 1]]);
        }

      private:
        StencilRows& rows_;
        std::int64_t column_;
    };
    template <class Accessor, class U, class Visit>
    void visit_as(Index<N> i, U* element, Visit&& visit) {
        for (std::int64_t column = 0; column < centres_.extent(N - 1); ++column, ++i[N - 1])
            visit(std::as_const(i), element[column], Accessor(*this, column));
    }
    /// Flattened: GCC otherwise outlines the loop body, because there are several copies of it.
    template <class Accessor, class U, class Visit>
    [[gnu::flatten]] void visit_as_plainly(const Index<N>& first_centre, U* element, Visit&& visit) {
        visit_as<Accessor>(first_centre, element, visit);
    }

    /// Consecutive rows of a plane in contiguous memory.
    struct RowGroup {
        std::int64_t lower = 0;
        std::int64_t upper = 0;
        const T* first = nullptr;  ///< of the first row
        std::int64_t stride = 0;
        bool shared = false;
    };

    void begin(const Index<N>& centre) {
        Index<N> plane = centre;
        plane[N - 2] = begin_[N - 2];
        if (plane != begin_) std::ranges::fill(row_groups_, RowGroup());
        begin_ = centre;
        shared_ = false;
        std::ranges::fill(first_, nullptr);
        looked_for_.assign(first_.size(), false);
    }
    /// Finds all rows, if that costs less than the centres do. Fetches nothing.
    bool all_resident() {
        if (std::ssize(first_) > centres_.extent(N - 1)) return false;
        for (std::size_t at = 0; at < first_.size(); ++at)
            if (find(at, false) == nullptr) return false;
        return true;
    }
    static std::int64_t row(const Index<N>& relative, const Index<N>& strides) {
        std::int64_t number = 0;
        for (std::size_t d = 0; d + 1 < N; ++d)
            number += relative[d] * strides[d];
        return number;
    }
    [[gnu::noinline]] T find_and_read(std::size_t at, const Index<N>& relative, std::int64_t column) {
        find(at, true);
        Index<N> there = begin_;
        for (std::size_t d = 0; d < N; ++d)
            there[d] += relative[d];
        there[N - 1] += column;
        return array_.read(periodic_ ? wrapped_for(stencil_, there, array_.bounds()) : there);
    }
    /// \param fetch whether to fetch stale data \return nullptr if part of the row is not resident
    const T* find(std::size_t at, bool fetch) {
        if (first_[at] != nullptr || looked_for_[at]) return first_[at];
        const auto plane = static_cast<std::int64_t>(at) / side_;
        const std::int64_t i = begin_[N - 2] + static_cast<std::int64_t>(at) % side_ - stencil_.depth[N - 2];
        RowGroup& group = row_groups_[static_cast<std::size_t>(plane)];
        if (i < group.lower || i >= group.upper) group = find_row_group(plane, i, fetch);
        looked_for_[at] = fetch;
        if (i >= group.upper) return nullptr;
        shared_ = shared_ || group.shared;
        return first_[at] = group.first + (i - group.lower) * group.stride;
    }
    /// The rows of the plane from row i on, if they are resident; else row i alone; else none.
    RowGroup find_row_group(std::int64_t plane, std::int64_t i, bool fetch) const {
        if (!periodic_) return find_row_group_inside(plane, i, fetch);
        Index<N> row = begin_;
        row[N - 2] = i;
        const std::int64_t moved = i - wrapped_for(stencil_, row, array_.bounds())[N - 2];
        RowGroup group = find_row_group_inside(plane, i - moved, fetch);
        group.lower += moved;
        group.upper += moved;
        return group;
    }
    /// \pre the row is in bounds, or the stencil is not periodic in its dimension
    RowGroup find_row_group_inside(std::int64_t plane, std::int64_t i, bool fetch) const {
        Box<N> wanted(begin_, begin_);
        for (std::size_t d = 0; d + 2 < N; ++d) {
            const std::int64_t stride = strides_[d] / side_;
            wanted.lower[d] += plane / stride - stencil_.depth[d];
            if (periodic_) wanted.lower[d] = wrapped_for(stencil_, wanted.lower, array_.bounds())[d];
            wanted.upper[d] = wanted.lower[d] + 1;
            plane %= stride;
        }
        wanted.lower[N - 1] -= stencil_.depth[N - 1];
        wanted.upper[N - 1] = centres_.upper[N - 1] + stencil_.depth[N - 1];
        wanted.lower[N - 2] = i;
        // Other ranks' blocks begin at the bounds of this rank's block.
        const Box<N> own = array_.own_box();
        const std::int64_t last =
            std::min(centres_.upper[N - 2] + stencil_.depth[N - 2], array_.bounds().upper[N - 2]);
        const std::int64_t end = i < own.lower[N - 2]   ? own.lower[N - 2]
                                 : i < own.upper[N - 2] ? own.upper[N - 2]
                                                        : last;
        for (const std::int64_t upper : {std::min(end, last), i + 1}) {
            wanted.upper[N - 2] = upper;
            if (intersection(wanted, array_.bounds()) != wanted) continue;
            if (const nearfetch::Resident<T, N> resident = array_.resident(wanted, fetch))
                return {i, upper, resident.elements.data() + stencil_.depth[N - 1],
                        resident.elements.strides()[N - 2], resident.shared};
        }
        return {};
    }

    const BlockArray<T, N>& array_;
    Box<N> centres_;
    Stencil stencil_;
    bool periodic_;            ///< in some dimension
    std::int64_t side_ = 1;    ///< rows of a plane of the neighbourhood
    Index<N> strides_{};       ///< row numbers per step in each dimension
    std::int64_t middle_ = 0;  ///< row number of the centres
    Index<N> begin_{};
    std::vector<const T*> first_;
    std::vector<bool> looked_for_;
    std::vector<RowGroup> row_groups_;  ///< per plane, the group found last
    bool shared_ = false;               ///< whether a row found so far is shared
};
/// Shorter rows are read element by element: finding a row costs as much as some reads.
inline constexpr std::int64_t least_row_elements = 8;

/// Visits a row of centres whose whole neighbourhood is own. Flattened for the same reason as above.
template <class U, class T, std::size_t N, class Visit>
[[gnu::flatten]] void visit_interior(Index<N> i, std::int64_t count, U* element, const T* centre,
                                     const Index<N>& strides, Visit&& visit) {
    for (std::int64_t column = 0; column < count; ++column, ++i[N - 1])
        visit(std::as_const(i), element[column], StencilInterior<T, N>(centre + column, strides));
}

/// Reads around a centre by a(i, j), wherever the element is.
template <class T, std::size_t N>
class StencilBoundary {
  public:
    /// \param periodic nullptr if the stencil is in no dimension
    StencilBoundary(const BlockArray<T, N>& array, const Index<N>& centre, const Stencil* periodic)
        : array_(array), centre_(centre), periodic_(periodic) {}

    template <std::convertible_to<std::int64_t>... I>
        requires(sizeof...(I) == N)
    T operator()(I... offsets) const {
        Index<N> i{static_cast<std::int64_t>(offsets)...};
        for (std::size_t d = 0; d < N; ++d)
            i[d] += centre_[d];
        return array_.read(periodic_ != nullptr ? wrapped_for(*periodic_, i, array_.bounds()) : i);
    }

  private:
    const BlockArray<T, N>& array_;
    const Index<N>& centre_;
    const Stencil* periodic_;
};

}  // namespace detail

/// Calls visit(index, element, at) for each own element of `to` in a box, in index order. at(di, dj, ...) is
/// the element of `of` at that distance from the index; it has to be in bounds, unless the stencil is
/// periodic in that dimension.
/// \pre visit reads at most the stencil's depth away in each dimension
template <class T, class U, std::size_t N, class Visit>
void for_each_stencil(BlockArray<T, N>& to, const BlockArray<U, N>& of, const Box<N>& box,
                      const Stencil& stencil, Visit&& visit) {
    detail::check_stencil(stencil, N);
    const Stencil* const periodic = stencil.is_periodic<N>() ? &stencil : nullptr;
    const Box<N> wanted = intersection(to.own_box(), box);
    const Box<N> own = of.own_box();
    const View<U, N> local = of.local();
    Box<N> inner = wanted;  // the neighbourhood is own
    for (std::size_t d = 0; d < N; ++d) {
        inner.lower[d] = std::max(wanted.lower[d], own.lower[d] + stencil.depth[d]);
        inner.upper[d] = std::min(wanted.upper[d], own.upper[d] - stencil.depth[d]);
    }
    Box<N> rows = wanted;
    rows.upper[N - 1] = std::min(wanted.upper[N - 1], wanted.lower[N - 1] + 1);
    Box<N> inner_rows = wanted;  // only other rows of the neighbourhood may be remote
    inner_rows.lower[N - 1] = inner.lower[N - 1];
    inner_rows.upper[N - 1] = std::max(inner.lower[N - 1], inner.upper[N - 1]);
    const std::int64_t columns = inner_rows.extent(N - 1);
    detail::StencilRows<U, N> stencil_rows(of, inner_rows, stencil);
    for_each_index(rows, [&](Index<N> i) {
        std::int64_t& last = i[N - 1];
        T* element = to.own(i);
        const auto visit_boundary = [&](std::int64_t end) {
            for (; last < end; ++last, ++element)
                visit(std::as_const(i), *element, detail::StencilBoundary<U, N>(of, i, periodic));
        };
        Index<N> first = i;
        first[N - 1] = inner.lower[N - 1];
        const bool all_own = inner.contains(first);
        if (all_own || (N > 1 && columns >= detail::least_row_elements)) {
            visit_boundary(first[N - 1]);
            if (all_own)
                detail::visit_interior(i, columns, element, of.own(i), local.strides(), visit);
            else if constexpr (N > 1)
                stencil_rows.visit(i, element, visit);
            element += columns;
            last = inner.upper[N - 1];
        }
        visit_boundary(wanted.upper[N - 1]);
    });
}

template <class T, class U, std::size_t N, class Visit>
void for_each_stencil(BlockArray<T, N>& to, const BlockArray<U, N>& of, const Box<N>& box, std::int64_t depth,
                      Visit&& visit) {
    for_each_stencil(to, of, box, Stencil{.depth = depth}, std::forward<Visit>(visit));
}

}  // namespace nearfetch

// SPDX-License-Identifier: Apache-2.0
#pragma once

// The structure of a sparse matrix: each rank's rows in compressed sparse row format. Non-zeros are numbered
// from 0 in the order of rows and columns. Row starts and columns are readable by all ranks. A rank keeps the
// structure of the rows that it has prefetched. For sparse.hpp; nothing here is for programs.

#include <algorithm>
#include <cstdint>
#include <nearfetch/detail/array/collective.hpp>
#include <nearfetch/detail/array/distribution.hpp>
#include <nearfetch/detail/array/observe.hpp>
#include <nearfetch/detail/array/slices.hpp>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

namespace [[gnu::visibility("default")]] nearfetch {

namespace detail {

class SparseStructure {
  public:
    /// Collective. \throws Error for invalid sizes, or sizes or element sizes that differ between ranks
    SparseStructure(std::int64_t rows, std::int64_t columns, std::size_t element_bytes, Agreement& agreement,
                    const Where& where);

    const Layout<2>& layout() const { return layout_; }
    static std::pair<std::int64_t, std::int64_t> rows_of(Rank rank, std::int64_t rows);
    std::int64_t non_zeros() const;
    std::int64_t non_zeros(Rank of) const { return counts_[static_cast<std::size_t>(of)]; }

    void check(const Index<2>& i) const {
        if (!layout_.bounds().contains(i)) [[unlikely]]
            out_of_bounds(i, layout_.bounds().lower, layout_.bounds().upper);
    }
    /// \pre in bounds
    bool owns(const Index<2>& i) const { return first_row_ <= i[0] && i[0] < end_row_; }
    /// The number of an own index; -1 if it is not own or not present.
    std::int64_t own_number(const Index<2>& i) const {
        return owns(i) ? number_in(own_starts_[i[0] - first_row_], own_columns(i[0]), i[1]) : -1;
    }
    /// The number of any rank's index. Reads the owner's memory if it is not known. \throws Error out of
    /// bounds
    std::int64_t number(const Index<2>& i) const;
    /// The columns of an own row. \throws Error for another rank's row
    std::span<const std::int64_t> own_row(std::int64_t i) const {
        if (i < first_row_ || i >= end_row_) [[unlikely]]
            not_own(i);
        return own_columns(i);
    }
    /// The number of an own row's first non-zero.
    std::int64_t own_first(std::int64_t i) const { return own_starts_[i - first_row_]; }

    /// Of all own rows: the number of each one's first non-zero, and the end; and the columns.
    std::span<const std::int64_t> own_starts() const {
        return {own_starts_, static_cast<std::size_t>(end_row_ - first_row_ + 1)};
    }
    std::span<const std::int64_t> own_columns() const {
        return {own_columns_, static_cast<std::size_t>(own_starts().back())};
    }

    /// All own rows with indices to add, and the memory for them.
    struct Insertion {
        std::span<const std::int64_t> starts, columns;        ///< sorted by row and column
        std::vector<std::int64_t> made_starts, made_columns;  ///< what these are of, unless the program's
        std::vector<std::int64_t> numbers;                    ///< new numbers of the present non-zeros
        std::vector<Index<2>> given;  ///< the indices in the program's order, unless that is the rows'
        std::vector<std::int64_t> counts;
        ArrayMemory<std::int64_t> memory;  ///< for columns; empty: the present memory suffices
    };
    /// Prepares to add own indices, some of which may be present. Changes nothing, so that a later allocation
    /// may fail. Collective. \param distinct whether an index that is there twice is an Error
    Insertion prepare(const char* what, std::vector<Index<2>> indices, bool distinct,
                      Gathering& gathering) const;
    /// The same for all own rows of a matrix that has no indices. They stay until insert().
    /// \throws Error unless there is a start for each own row and the end, and for an index that is there
    /// twice
    Insertion prepare(std::span<const std::int64_t> starts, std::span<const std::int64_t> columns,
                      Gathering& gathering) const;
    void insert(Insertion insertion);
    /// Changes with the structure of own rows; unique in the process; not 0.
    std::uint64_t version() const { return version_; }
    /// Non-zeros that each rank has memory for after an insertion.
    std::size_t capacity(const Insertion& after) const {
        return std::max(columns_.size(), after.memory.size());
    }

    /// Fetches the structure of other ranks' rows that the boxes cover. \return the numbers of the boxes'
    /// non-zeros
    SetsByOwner fetch(std::span<const Box<2>> boxes, Code pack);
    bool knows_row(std::int64_t i) const { return known_.contains(i); }
    void forget_others() { known_.clear(); }

  private:
    struct Row {
        std::int64_t first = 0;
        std::vector<std::int64_t> columns;
    };
    [[noreturn]] void not_own(std::int64_t row) const;
    /// \pre the row is own
    std::span<const std::int64_t> own_columns(std::int64_t i) const {
        const std::int64_t* const starts = own_starts_ + (i - first_row_);
        return {own_columns_ + starts[0], static_cast<std::size_t>(starts[1] - starts[0])};
    }
    /// The number of a column in a row whose first non-zero has the number `first`.
    static std::int64_t number_in(std::int64_t first, std::span<const std::int64_t> columns,
                                  std::int64_t column) {
        const auto at = std::lower_bound(columns.begin(), columns.end(), column);
        return at != columns.end() && *at == column ? first + (at - columns.begin()) : -1;
    }
    /// Whether each row has its columns in ascending order, none of them twice.
    bool are_sorted(std::span<const std::int64_t> starts, std::span<const std::int64_t> columns) const;
    void make_room(Insertion& insertion, Gathering& gathering) const;
    void check_own(const char* what, std::span<const Index<2>> sorted, bool distinct) const;

    std::uint64_t version_ = 0;
    std::int64_t first_row_ = 0;
    std::int64_t end_row_ = 0;
    std::int64_t* own_starts_ = nullptr;
    std::int64_t* own_columns_ = nullptr;
    Layout<2> layout_;
    ArrayMemory<std::int64_t> starts_;  ///< one more than rows: the last is the end
    ArrayMemory<std::int64_t> columns_;
    std::vector<std::int64_t> counts_;  ///< non-zeros of each rank
    std::unordered_map<std::int64_t, Row> known_;
};

[[noreturn]] void no_such_index(const Index<2>& i);
[[noreturn]] void domain_is_static();
/// \throws Error unless there are as many
void check_values(std::size_t values, std::size_t columns);
/// \throws Error unless the vector has indices from 0 to the number of the matrix's rows or columns (`what`)
void check_vector(const char* what, std::int64_t elements, const Box<1>& bounds);
/// \throws Error unless there is one index per own non-zero
void check_gathered_columns(std::size_t indices, std::int64_t non_zeros);

}  // namespace detail

}  // namespace nearfetch

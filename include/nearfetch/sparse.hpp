// SPDX-License-Identifier: Apache-2.0
#pragma once

// Sparse matrices, whose rows are distributed over the ranks in blocks and stored in compressed sparse rows.
//
//     std::vector<Triplet<double>> own;                    // of the rows that this rank owns
//     SparseMatrix<double> a(rows, columns, own);
//     a.for_each([](const Index<2>& i, double& value) { ... });       // own non-zeros
//     const SparseRow<double> row = a.row(i);                         // spans of columns and values
//     double x = a(i, j);                                             // any element; 0 if not stored
//     a.prefetch_rows(table);                                         // remote rows, in a few messages
//
// Non-zeros are the stored indices; their values may be zero. Only the collective add() changes them. A
// pattern fetches the structure (metadata in LAPPS: Kayraklioglu, Ferguson and El-Ghazawi 2018, section 5.2):
// from each owner one message for the rows' lengths and one for the columns. Values are slices of the
// prefetch buffer with the consistency of dense arrays (detail/array/prefetch.hpp). Such a slice is a set of
// numbers of the owner's non-zeros.
//
// In the paper an owner checks at each request whether its domain has changed (section 5.3.2). Here add() is
// collective, so all ranks know, and it requests the patterns again. static_domain promises that add() is not
// called.
//
// Collective functions follow the rules of dense arrays (array.hpp).

#include <algorithm>
#include <functional>
#include <nearfetch/array.hpp>
#include <nearfetch/detail/array/collective.hpp>
#include <nearfetch/detail/array/prefetch.hpp>
#include <nearfetch/detail/array/sparse_structure.hpp>
#include <nearfetch/gather.hpp>
#include <span>
#include <utility>
#include <vector>

namespace nearfetch {

template <class T>
struct Triplet {
    std::int64_t row = 0;
    std::int64_t column = 0;
    T value{};
};

/// A row's non-zeros, sorted by column.
template <class T>
struct SparseRow {
    std::span<const std::int64_t> columns;
    std::span<T> values;
};

/// All rows of a rank in compressed sparse rows: row n of the rank has the non-zeros from starts[n] up to,
/// but not including, starts[n + 1].
template <class T>
struct SparseRows {
    std::span<const std::int64_t> starts;
    std::span<const std::int64_t> columns;
    std::span<T> values;
};

template <class T>
class SparseMatrix {
    static_assert(std::is_trivially_copyable_v<T>, "bytes are all that is moved");

  public:
    /// Indices from 0. Collective. Each rank gives the non-zeros of its own rows (own_rows()), in any order.
    /// Memory is reused as that of dense arrays is.
    /// \throws Error for invalid sizes, an index outside of the own rows or out of bounds, and an index given
    /// twice
    SparseMatrix(std::int64_t rows, std::int64_t columns, std::span<const Triplet<T>> own = {},
                 const Where& where = Where::current())
        : structure_(rows, columns, sizeof(T), agreement_, where) {
        const detail::Collective call("SparseMatrix", where);
        std::vector<Index<2>> indices;
        indices.reserve(own.size());
        for (const Triplet<T>& one : own)
            indices.push_back({one.row, one.column});
        const bool in_order = std::ranges::is_sorted(indices);  // then the n-th has the number n
        insert(structure_.prepare("SparseMatrix", std::move(indices), true, gathering_));
        for (std::size_t n = 0; n < own.size(); ++n) {
            const std::size_t number =
                in_order ? n : static_cast<std::size_t>(structure_.own_number({own[n].row, own[n].column}));
            own_values()[number] = own[n].value;
        }
        barrier();
    }
    /// The same of own rows in compressed sparse rows, the columns of a row in any order.
    SparseMatrix(std::int64_t rows, std::int64_t columns, const SparseRows<const T>& own,
                 const Where& where = Where::current())
        : structure_(rows, columns, sizeof(T), agreement_, where) {
        const detail::Collective call("SparseMatrix", where);
        detail::check_values(own.values.size(), own.columns.size());
        detail::SparseStructure::Insertion insertion =
            structure_.prepare(own.starts, own.columns, gathering_);
        const std::vector<Index<2>> given = std::move(insertion.given);
        insert(std::move(insertion));
        if (given.empty()) std::ranges::copy(own.values, own_);
        for (std::size_t n = 0; n < given.size(); ++n)
            own_[structure_.own_number(given[n])] = own.values[n];
        barrier();
    }
    SparseMatrix(const SparseMatrix&) = delete;
    SparseMatrix& operator=(const SparseMatrix&) = delete;

    const Layout<2>& layout() const { return structure_.layout(); }
    std::int64_t rows() const { return layout().bounds().upper[0]; }
    std::int64_t columns() const { return layout().bounds().upper[1]; }
    /// The rows of a rank: the first, and one past the last.
    static std::pair<std::int64_t, std::int64_t> rows_of(Rank rank, std::int64_t rows) {
        return detail::SparseStructure::rows_of(rank, rows);
    }
    std::pair<std::int64_t, std::int64_t> own_rows() const { return rows_of(rank_, rows()); }
    /// Of all ranks together, or of one.
    std::int64_t non_zeros() const { return structure_.non_zeros(); }
    std::int64_t non_zeros(Rank of) const { return structure_.non_zeros(of); }

    // Global view: any element, from any rank.

    /// Zero if the index is not stored. \throws Error out of bounds
    T operator()(std::int64_t i, std::int64_t j) const { return read({i, j}); }
    T read(const Index<2>& i) const {
        structure_.check(i);
        const std::int64_t own = structure_.own_number(i);
        if (own >= 0) [[likely]]
            return own_[own];
        return structure_.owns(i) ? T{} : read_remote(i);
    }
    /// \throws Error if the index is not stored
    void write(const Index<2>& i, const T& value) {
        const std::int64_t number = structure_.number(i);
        if (number < 0) detail::no_such_index(i);
        if (structure_.owns(i)) {
            own_[number] = value;
            return;
        }
        const Rank owner = layout().owner(i);
        const GlobalPtr<T> there = values_.at_rank(owner) + number;
        nearfetch::put(there, value);
        array_prefetch_.write_through(owner, Index<1>{number}, number, value, there.address());
    }
    bool contains(const Index<2>& i) const { return structure_.number(i) >= 0; }

    // Own elements.

    /// All own rows, in place. Valid until add().
    SparseRows<T> local() { return {structure_.own_starts(), structure_.own_columns(), own_values()}; }
    SparseRows<const T> local() const {
        return {structure_.own_starts(), structure_.own_columns(), own_values()};
    }
    /// \throws Error unless this rank owns the row
    SparseRow<T> row(std::int64_t i) {
        const std::span<const std::int64_t> columns = structure_.own_row(i);
        return {columns, {own_ + structure_.own_first(i), columns.size()}};
    }
    SparseRow<const T> row(std::int64_t i) const {
        const std::span<const std::int64_t> columns = structure_.own_row(i);
        return {columns, {own_ + structure_.own_first(i), columns.size()}};
    }
    /// Calls visit(index, value) for each own non-zero, in order.
    template <std::invocable<const Index<2>&, T&> Visit>
    void for_each(Visit&& visit) {
        const auto [first, end] = own_rows();
        for (std::int64_t i = first; i < end; ++i) {
            const SparseRow<T> own = row(i);
            for (std::size_t k = 0; k < own.columns.size(); ++k)
                visit(Index<2>{i, own.columns[k]}, own.values[k]);
        }
    }

    /// Adds the product with a vector to another vector, for own rows: y += A x. Not collective. Elements of
    /// x are read as x(j). If all of them are own or prefetched, no ownership check is made, and then threads
    /// of a rank take turns.
    /// \throws Error unless x has as many elements as the matrix has columns, and y as many as rows
    template <Distribution D>
    void add_product(DistributedArray<T, 1>& y, const DistributedArray<T, 1, D>& x) const {
        detail::check_vector("columns", columns(), x.bounds());
        const std::span<const std::int64_t> own = structure_.own_columns();
        if constexpr (D::contiguous) {
            const detail::ReplicaReading replica = x.read_replica(structure_.version(), own);
            if (replica)
                return add_rows(y, [&](std::size_t k) { return replica.template element<T>(own[k]); });
        }
        add_rows(y, [&](std::size_t k) { return x.read({own[k]}); });
    }
    /// The same with a vector that was gathered. \param gathered made of local().columns
    /// \throws Error unless it has one index per own non-zero (add() changes their number), and y fits the
    /// rows
    template <Distribution D>
    void add_product(DistributedArray<T, 1>& y, const Gather<T, D>& gathered) const {
        detail::check_gathered_columns(gathered.size(), non_zeros(rank_));
        add_rows(y, [&](std::size_t k) { return gathered[k]; });
    }

    // The whole matrix. Collective.

    /// Combines init and map(value) of all non-zeros, as for dense arrays.
    template <class U, class Combine, class Map = std::identity>
    U reduce(U init, Combine combine, Map map = {}, const Where& where = Where::current()) {
        const detail::Collective call("reduce", where);
        agreement_.check({{sizeof(U)}});
        return gathering_.reduce(std::span<const T>(own_values()), init, combine, map);
    }
    T sum(const Where& where = Where::current()) {
        const detail::Collective call("sum", where);
        return reduce(T{}, std::plus<>());
    }
    /// Adds indices with value zero; each rank gives those of its own rows. Prefetched patterns are requested
    /// again.
    /// \throws Error for an index outside of the own rows, and after a static_domain promise; in all ranks,
    /// with the matrix unchanged, when one of them has no memory
    void add(std::span<const Index<2>> own, const Where& where = Where::current()) {
        const detail::Collective call("add", where);
        agreement_.check({});
        for (const Pattern& pattern : patterns_)
            if (pattern.how.static_domain) detail::domain_is_static();
        insert(structure_.prepare("add", {own.begin(), own.end()}, false, gathering_));
        barrier();
        const std::vector<Pattern> patterns = std::exchange(patterns_, {});
        if (!patterns.empty()) {
            evict_prefetch();
            for (const Pattern& pattern : patterns) {
                array_prefetch_.begin(&detail::pack_at_owner, pattern.name);
                ask_for(pattern);
                patterns_.push_back(pattern);
            }
            if (std::ranges::any_of(patterns, [](const Pattern& one) { return !one.how.consistent; }))
                array_prefetch_.update(false);
        }
        barrier();
    }

    // Prefetching, as for dense arrays.

    /// All non-zeros of some rows. Row r of the table has the row ranges that rank r needs, each as the first
    /// row and one past the last. The table is the same on all ranks. \throws Error unless there is a row for
    /// each rank
    PrefetchPattern prefetch_rows(const std::vector<detail::IndexRanges>& table, const Prefetch& how = {},
                                  const Where& where = Where::current()) {
        std::vector<std::vector<Box<2>>> boxes;
        for (const detail::IndexRanges& ranges : table) {
            boxes.emplace_back();
            for (const auto& [first, end] : ranges)
                boxes.back().push_back(Box<2>({first, 0}, {end, columns()}));
        }
        return prefetch("prefetch_rows", boxes, how, where);
    }
    /// The non-zeros in boxes. Row r of the table has the boxes that rank r needs.
    PrefetchPattern prefetch_custom(const std::vector<std::vector<Box<2>>>& table, const Prefetch& how = {},
                                    const Where& where = Where::current()) {
        return prefetch("prefetch_custom", table, how, where);
    }
    /// All non-zeros.
    PrefetchPattern prefetch_all_to_all(const Prefetch& how = {}, const Where& where = Where::current()) {
        return prefetch(
            "prefetch_all_to_all",
            std::vector<std::vector<Box<2>>>(static_cast<std::size_t>(ranks()), {layout().bounds()}), how,
            where);
    }
    void update_prefetch() { array_prefetch_.update(true); }
    [[nodiscard]] PrefetchTransfer update_prefetch_async() { return array_prefetch_.start_update(); }
    void evict_prefetch() {
        array_prefetch_.evict();
        structure_.forget_others();
        patterns_.clear();
    }
    void evict_prefetch(PrefetchPattern pattern) {
        std::erase_if(patterns_, [&](const Pattern& other) { return other.name == pattern; });
        if (patterns_.empty())
            evict_prefetch();
        else
            array_prefetch_.evict(pattern);
    }
    /// Whether this rank can read the element without communication. True for the zeros of prefetched rows.
    bool is_prefetched(const Index<2>& i) const {
        structure_.check(i);
        if (structure_.owns(i) || !structure_.knows_row(i[0])) return false;
        const std::int64_t number = structure_.number(i);
        return number < 0 || find(layout().owner(i), number).first != nullptr;
    }

  private:
    struct Pattern {
        std::vector<Box<2>> boxes;
        Prefetch how;
        PrefetchPattern name;
    };

    /// \param x x(k) is the vector's element for own non-zero k
    template <class Element>
    void add_rows(DistributedArray<T, 1>& y, const Element& x) const {
        detail::check_vector("rows", rows(), y.bounds());
        const SparseRows<const T> own = local();
        std::size_t k = 0;
        y.for_each([&, row = std::size_t{0}](const Index<1>&, T& element) mutable {
            const auto end = static_cast<std::size_t>(own.starts[++row]);
            const auto product = [&](std::size_t at) { return own.values[at] * x(at); };
            // Adds in order, as the plain loop does. Unrolled by hand: GCC's vector code is slower on short
            // rows.
            T sum{};
            for (; k + 4 <= end; k += 4) {
                const T first = product(k), second = product(k + 1), third = product(k + 2),
                        fourth = product(k + 3);
                sum += first;
                sum += second;
                sum += third;
                sum += fourth;
            }
            for (; k < end; ++k)
                sum += product(k);
            element += sum;
        });
    }
    std::span<T> own_values() const { return {own_, static_cast<std::size_t>(non_zeros(rank_))}; }
    /// The slice that has a non-zero, and the position in it.
    std::pair<detail::PrefetchedSlice*, std::int64_t> find(Rank owner, std::int64_t number) const {
        return array_prefetch_.find(owner, Index<1>{number}, number);
    }
    T read_remote(const Index<2>& i) const {
        const std::int64_t number = structure_.number(i);
        if (number < 0) return T{};
        const Rank owner = layout().owner(i);
        T value;
        if (const auto [slice, position] = find(owner, number);
            slice != nullptr && detail::read_slice(*slice, array_prefetch_.packing(), position, value))
            return value;
        return nearfetch::get(values_.at_rank(owner) + number);
    }
    /// Makes room for new indices, and moves the values.
    void insert(detail::SparseStructure::Insertion insertion) {
        const std::vector<T> before(own_values().begin(), own_values().end());
        const std::vector<std::int64_t> numbers = insertion.numbers;
        if (const std::size_t capacity = structure_.capacity(insertion); capacity > values_.size()) {
            values_ = detail::ArrayMemory<T>(capacity);
            own_ = values_.local();
        }
        structure_.insert(std::move(insertion));
        if (!before.empty()) std::ranges::fill(own_values(), T{});  // else the memory is zero
        for (std::size_t n = 0; n < before.size(); ++n)
            own_values()[static_cast<std::size_t>(numbers[n])] = before[n];
    }
    PrefetchPattern prefetch(const char* what, const std::vector<std::vector<Box<2>>>& table,
                             const Prefetch& how, const Where& where) {
        detail::check_table(table.size());
        std::vector<std::uint64_t> arguments = detail::describe(table);
        arguments.insert(arguments.end(), {how.consistent, how.static_domain, how.later});
        const detail::Collective call(what, where);
        agreement_.check(arguments, how.barrier);
        const PrefetchPattern name = array_prefetch_.begin(&detail::pack_at_owner);
        const Pattern pattern{table[static_cast<std::size_t>(rank_)], how, name};
        ask_for(pattern);
        if (!how.consistent && !how.later) array_prefetch_.update(false);
        patterns_.push_back(pattern);
        return name;
    }
    void ask_for(const Pattern& pattern) {
        for (auto& [owner, numbers] : structure_.fetch(pattern.boxes, &detail::pack_at_owner)) {
            detail::Slice part{owner, values_.address(), sizeof(T)};
            part.part[3] = part.extent[3] = non_zeros(owner);
            array_prefetch_.request_set(part, std::move(numbers), {}, pattern.how);
        }
    }

    T* own_ = nullptr;
    Rank rank_ = nearfetch::rank();
    detail::Agreement agreement_;  // first: what follows allocates after an agreement
    detail::SparseStructure structure_;
    detail::Gathering gathering_;
    detail::ArrayMemory<T> values_;
    detail::ArrayPrefetch array_prefetch_;
    std::vector<Pattern> patterns_;
};

}  // namespace nearfetch

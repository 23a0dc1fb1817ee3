// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>
#include <functional>
#include <nearfetch/detail/array/sparse_structure.hpp>
#include <numeric>
#include <string>
#include <utility>

namespace nearfetch::detail {

namespace {

Layout<2> layout_of(std::int64_t rows, std::int64_t columns) {
    return Layout<2>(Box<2>({0, 0}, {rows, columns}), {ranks(), 1});
}

/// Numbers fetched from an owner: those of a set, packed.
struct Fetched {
    IndexSet set;
    std::vector<std::int64_t> packed;
    std::int64_t of(std::int64_t i) const { return packed[static_cast<std::size_t>(set.position(i))]; }
};
using FetchedByOwner = std::map<Rank, Fetched>;

/// \param from each owner's numbers \param count_of how many an owner has
template <class CountOf>
void fetch_all(FetchedByOwner& wanted, const ArrayMemory<std::int64_t>& from, const CountOf& count_of,
               Code pack) {
    std::vector<SliceMove> moves;
    for (auto& [owner, fetched] : wanted) {
        fetched.set.complete();
        fetched.packed.resize(static_cast<std::size_t>(fetched.set.size()));
        if (fetched.packed.empty()) continue;
        Slice slice{owner, from.address(), sizeof(std::int64_t)};
        slice.part[3] = slice.extent[3] = count_of(owner);
        moves.push_back({slice, reinterpret_cast<std::byte*>(fetched.packed.data()), &fetched.set});
    }
    get_slices(moves, Packer::owner, true, pack);
}

/// Adds the numbers of row `i`'s non-zeros that are in boxes. `first` is the row's first number.
void insert_wanted(IndexSet& numbers, std::int64_t i, std::int64_t first,
                   std::span<const std::int64_t> columns, std::span<const Box<2>> boxes) {
    std::vector<Box<2>> here;
    for (const Box<2>& box : boxes)
        if (box.lower[0] <= i && i < box.upper[0]) here.push_back(box);
    for (const std::int64_t j : columns) {
        if (std::ranges::any_of(here, [&](const Box<2>& box) { return box.contains({i, j}); }))
            numbers.insert(first);
        ++first;
    }
}

}  // namespace

SparseStructure::SparseStructure(std::int64_t rows, std::int64_t columns, std::size_t element_bytes,
                                 Agreement& agreement, const Where& where)
    : layout_(layout_of(rows, columns)), counts_(static_cast<std::size_t>(ranks())) {
    const Collective call("SparseMatrix", where);
    // Before any allocation whose size depends on the arguments.
    agreement.check({{static_cast<std::uint64_t>(rows), static_cast<std::uint64_t>(columns), element_bytes}});
    std::tie(first_row_, end_row_) = rows_of(rank(), rows);
    const std::int64_t most = rows_of(0, rows).second;  // the first rank has the most rows
    starts_ = ArrayMemory<std::int64_t>(static_cast<std::size_t>(most + 1));
    own_starts_ = starts_.local();
}

std::pair<std::int64_t, std::int64_t> SparseStructure::rows_of(Rank rank, std::int64_t rows) {
    const Layout<2> layout = layout_of(rows, 1);
    const std::int64_t count = layout.local_shape(rank)[0];
    const std::int64_t first = layout.global(rank, {0, 0})[0];
    return {first, first + count};
}

std::int64_t SparseStructure::non_zeros() const {
    return std::accumulate(counts_.begin(), counts_.end(), std::int64_t{0});
}

void SparseStructure::not_own(std::int64_t row) const {
    throw Error("row " + std::to_string(row) + " is not this rank's",
                "rank " + std::to_string(rank()) + " owns the rows " + std::to_string(first_row_) +
                    " up to, and without, " + std::to_string(end_row_),
                "ask for one of these, or read single elements");
}

std::int64_t SparseStructure::number(const Index<2>& i) const {
    check(i);
    if (owns(i)) return own_number(i);
    if (const auto row = known_.find(i[0]); row != known_.end())
        return number_in(row->second.first, row->second.columns, i[1]);
    const Location<2> location = layout_.locate({i[0], 0});
    std::int64_t bounds[2];
    nearfetch::get<std::int64_t>(starts_.at_rank(location.rank) + location.local[0], bounds);
    std::vector<std::int64_t> columns(static_cast<std::size_t>(bounds[1] - bounds[0]));
    nearfetch::get<std::int64_t>(columns_.at_rank(location.rank) + bounds[0], columns);
    return number_in(bounds[0], columns, i[1]);
}

void SparseStructure::check_own(const char* what, std::span<const Index<2>> sorted, bool distinct) const {
    for (std::size_t n = 0; n < sorted.size(); ++n) {
        const Index<2>& i = sorted[n];
        check(i);
        if (!owns(i))
            throw Error(std::string(what) + ": index " + text_of(i) + " is in a row of rank " +
                            std::to_string(layout_.owner(i)),
                        "each rank gives what is in its own rows", "give it to that rank");
        if (distinct && n > 0 && i == sorted[n - 1])
            throw Error(std::string(what) + ": index " + text_of(i) + " is there twice",
                        "which of the two values counts would be left to chance",
                        "add them up, or leave one out");
    }
}

SparseStructure::Insertion SparseStructure::prepare(const char* what, std::vector<Index<2>> indices,
                                                    bool distinct, Gathering& gathering) const {
    if (!std::ranges::is_sorted(indices)) std::ranges::sort(indices);
    check_own(what, indices, distinct);
    std::vector<Index<2>> before;
    for (std::int64_t i = first_row_; i < end_row_; ++i)
        for (const std::int64_t column : own_row(i))
            before.push_back({i, column});
    std::vector<Index<2>> after;
    after.reserve(before.size() + indices.size());
    std::set_union(before.begin(), before.end(), indices.begin(), indices.end(), std::back_inserter(after));
    after.erase(std::unique(after.begin(), after.end()), after.end());
    Insertion to;
    to.numbers.reserve(before.size());
    for (std::size_t n = 0; n < after.size() && to.numbers.size() < before.size(); ++n)
        if (before[to.numbers.size()] == after[n]) to.numbers.push_back(static_cast<std::int64_t>(n));
    to.made_starts.resize(own_starts().size());
    to.made_columns.reserve(after.size());
    for (const Index<2>& i : after) {
        to.made_columns.push_back(i[1]);
        ++to.made_starts[static_cast<std::size_t>(i[0] - first_row_ + 1)];
    }
    std::partial_sum(to.made_starts.begin(), to.made_starts.end(), to.made_starts.begin());
    to.starts = to.made_starts;
    to.columns = to.made_columns;
    make_room(to, gathering);
    return to;
}

SparseStructure::Insertion SparseStructure::prepare(std::span<const std::int64_t> starts,
                                                    std::span<const std::int64_t> columns,
                                                    Gathering& gathering) const {
    if (starts.size() != own_starts().size() || starts.front() != 0 || !std::ranges::is_sorted(starts) ||
        std::cmp_not_equal(starts.back(), columns.size()))
        throw Error("SparseMatrix: " + std::to_string(starts.size()) + " starts of rows, for " +
                        std::to_string(end_row_ - first_row_) + " own rows and " +
                        std::to_string(columns.size()) + " columns",
                    "each row begins where the one before it ends, the first at 0",
                    "give one more than own rows");
    Insertion to;
    if (are_sorted(starts, columns)) {
        to.starts = starts;
        to.columns = columns;
        make_room(to, gathering);
        return to;
    }
    std::vector<Index<2>> indices;
    indices.reserve(columns.size());
    for (std::size_t row = 0; row + 1 < starts.size(); ++row)
        for (auto n = static_cast<std::size_t>(starts[row]); std::cmp_less(n, starts[row + 1]); ++n)
            indices.push_back({first_row_ + static_cast<std::int64_t>(row), columns[n]});
    to = prepare("SparseMatrix", indices, true, gathering);
    to.given = std::move(indices);
    return to;
}

void SparseStructure::make_room(Insertion& to, Gathering& gathering) const {
    to.counts = gathering.all(static_cast<std::int64_t>(to.columns.size()));
    const auto most = static_cast<std::size_t>(*std::max_element(to.counts.begin(), to.counts.end()));
    // Grows by doubling, so that memory given up is at most as large as the memory in use.
    if (most > columns_.size() || columns_.size() == 0)
        to.memory = ArrayMemory<std::int64_t>(std::max({most, 2 * columns_.size(), std::size_t{1}}));
}

bool SparseStructure::are_sorted(std::span<const std::int64_t> starts,
                                 std::span<const std::int64_t> columns) const {
    for (std::size_t n = 1; n < starts.size(); ++n) {
        const auto row = columns.subspan(static_cast<std::size_t>(starts[n - 1]),
                                         static_cast<std::size_t>(starts[n] - starts[n - 1]));
        if (std::ranges::adjacent_find(row, std::greater_equal<>()) != row.end()) return false;
        if (row.empty()) continue;
        const std::int64_t i = first_row_ + static_cast<std::int64_t>(n) - 1;
        check({i, row.front()});
        check({i, row.back()});
    }
    return true;
}

void SparseStructure::insert(Insertion insertion) {
    static std::atomic<std::uint64_t> versions{0};
    version_ = ++versions;
    counts_ = std::move(insertion.counts);
    if (!insertion.memory.empty()) {
        columns_ = std::move(insertion.memory);
        own_columns_ = columns_.local();
    }
    std::ranges::copy(insertion.starts, own_starts_);
    std::ranges::copy(insertion.columns, own_columns_);
}

SetsByOwner SparseStructure::fetch(std::span<const Box<2>> boxes, Code pack) {
    SetsByOwner rows;
    for (const Box<2>& box : boxes)
        for_each_owner(layout_, product_of(box), [&](Rank owner, const Box<2>& local) {
            if (owner != rank()) rows[owner].insert_run(local.lower[0], local.extent(0));
        });
    FetchedByOwner starts, columns;
    for (auto& [owner, set] : rows) {
        set.complete();
        set.for_each_run(
            [&](std::int64_t first, std::int64_t count) { starts[owner].set.insert_run(first, count + 1); });
    }
    fetch_all(starts, starts_, [&](Rank owner) { return layout_.local_shape(owner)[0] + 1; }, pack);
    for (const auto& [owner, set] : rows)
        set.for_each_run([&](std::int64_t first, std::int64_t count) {
            const std::int64_t begin = starts[owner].of(first);
            columns[owner].set.insert_run(begin, starts[owner].of(first + count) - begin);
        });
    fetch_all(columns, columns_, [&](Rank owner) { return non_zeros(owner); }, pack);

    SetsByOwner numbers;
    for (const auto& [owner, set] : rows)
        set.for_each_run([&](std::int64_t first, std::int64_t count) {
            for (std::int64_t local = first; local < first + count; ++local) {
                const std::int64_t i = layout_.global(owner, {local, 0})[0];
                Row& row = known_[i] = {starts[owner].of(local), {}};
                for (std::int64_t n = row.first; n < starts[owner].of(local + 1); ++n)
                    row.columns.push_back(columns[owner].of(n));
                insert_wanted(numbers[owner], i, row.first, row.columns, boxes);
            }
        });
    return numbers;
}

void no_such_index(const Index<2>& i) {
    throw Error("index " + text_of(i), "the matrix has no element there", "add() it first");
}

void check_vector(const char* what, std::int64_t elements, const Box<1>& bounds) {
    if (bounds == Box<1>({0}, {elements})) return;
    throw Error(
        "add_product: a vector with the indices " + std::to_string(bounds.lower[0]) +
            " up to, and without, " + std::to_string(bounds.upper[0]),
        "the matrix has the " + std::string(what) + " 0 up to, and without, " + std::to_string(elements),
        "use a vector with one element for each");
}

void check_values(std::size_t values, std::size_t columns) {
    if (values == columns) return;
    throw Error(
        "SparseMatrix: " + std::to_string(values) + " values and " + std::to_string(columns) + " columns",
        "each non-zero has one of both", "give as many");
}

void check_gathered_columns(std::size_t indices, std::int64_t non_zeros) {
    if (std::cmp_equal(indices, non_zeros)) return;
    throw Error("add_product: a Gather of " + std::to_string(indices) + " indices",
                "this rank has " + std::to_string(non_zeros) + " non-zeros, each of which needs one",
                "make it of local().columns, and anew after add()");
}

void domain_is_static() {
    throw Error("add: something is prefetched with static_domain",
                "that promises that the matrix gets no more indices",
                "evict_prefetch() first, or do not promise it");
}

}  // namespace nearfetch::detail

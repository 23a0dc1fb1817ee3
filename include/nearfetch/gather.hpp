// SPDX-License-Identifier: Apache-2.0
#pragma once

// Repeated reads of x(index[k]) for the same indices: a product with a sparse matrix, or a loop over the
// neighbours in an unstructured mesh.
//
//     Gather gathered(x, a.local().columns);          // once: who owns each element
//     for (int n = 0; n < iterations; ++n) {
//         barrier();
//         gathered.update();                          // a few messages from each owner
//         for (...) sum += values[k] * gathered[k];   // x(columns[k]) as of update()
//         barrier();
//     }
//
// This is the inspector/executor scheme of Saltz et al. 1990, "Run-time scheduling and execution of loops on
// message passing machines". The constructor inspects the indices once. Each distinct element, own ones
// included, gets a slot in one buffer. Then gathered[k] is two loads without a branch.
//
// A Gather is a copy. Later writes become visible with the next update().

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <nearfetch/array.hpp>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace [[gnu::visibility("default")]] nearfetch {

namespace detail {

/// The elements of a Gather that one rank owns.
class GatherPart {
  public:
    /// \param position in the owner's part
    void add(std::int64_t position) {
        set_.insert(position);
        first_ = std::min(first_, position);
        last_ = std::max(last_, position);
    }
    /// Ends the additions. \param first the part's first slot in the buffer
    /// \return the number of slots it takes
    std::uint64_t complete(std::uint64_t first, std::uint64_t element_bytes);
    /// The element's slot in the buffer. \pre it was added
    std::uint64_t local_index(std::int64_t position) const {
        return begin_ +
               static_cast<std::uint64_t>(keeps_owner_layout_ ? position - first_ : set_.position(position));
    }
    /// Frees what local_index() needs. \pre local_index() is not called again
    void release_positions() { set_.release_positions(); }
    /// Whether the elements keep the owner's layout, gaps included. True when at least a quarter of the range
    /// is wanted.
    bool keeps_owner_layout() const { return keeps_owner_layout_; }
    const IndexSet& set() const { return set_; }
    /// Address of the part's first slot. \param elements the buffer
    std::byte* elements_in(std::byte* elements, std::uint64_t element_bytes) const {
        return elements + begin_ * element_bytes;
    }
    /// The slice from the first to the last wanted element. \param part all that the owner has
    Slice covering_slice(Slice part) const;
    /// Scatters packed elements to their slots. \pre keeps_owner_layout()
    void unpack(const std::byte* packed, std::byte* elements, std::uint64_t element_bytes) const;

  private:
    IndexSet set_;
    std::int64_t first_ = std::numeric_limits<std::int64_t>::max();
    std::int64_t last_ = -1;
    std::uint64_t begin_ = 0;
    bool keeps_owner_layout_ = false;
};

/// The indices of a Gather. Unless the array is much larger, a table of all its indices finds repeated ones,
/// so that each is located once.
class DistinctIndices {
  public:
    /// \param lower,extent bounds of the array. The indices are in them, and outlive this object.
    DistinctIndices(std::span<const std::int64_t> indices, std::int64_t lower, std::int64_t extent);

    /// Calls visit(index) for each distinct one; without the table for each.
    template <class Visit>
    void for_each(const Visit& visit) const {
        if (table_.empty()) {
            for (const std::int64_t i : indices_)
                visit(i);
            return;
        }
        for (std::size_t n = 0; n < table_.size(); ++n)
            if (table_[n] != absent) visit(lower_ + static_cast<std::int64_t>(n));
    }
    /// A position for each of the indices. \param position_of position_of(index) is that of a distinct one
    template <class PositionOf>
    std::vector<std::uint32_t> positions(const PositionOf& position_of) {
        const bool is_known = !table_.empty();
        if (is_known) for_each([&](std::int64_t i) { slot(i) = position_of(i); });
        std::vector<std::uint32_t> all;
        all.reserve(indices_.size());
        for (const std::int64_t i : indices_)
            all.push_back(is_known ? slot(i) : position_of(i));
        return all;
    }

  private:
    static constexpr std::uint32_t absent = ~std::uint32_t{0};
    std::uint32_t& slot(std::int64_t i) { return table_[static_cast<std::size_t>(i - lower_)]; }

    std::span<const std::int64_t> indices_;
    std::int64_t lower_;
    std::vector<std::uint32_t> table_;  ///< for each index of the array
};

/// \throws Error for more elements than 32-bit positions can name
void check_gathered(std::uint64_t elements);
[[noreturn]] void gathered_is_resized();

std::shared_ptr<StrategySelector> make_strategy_selector();
/// Fetches the elements. \param part_of(owner) all that the owner has \param selector chooses whole ranges or
/// packed elements
void gather(const std::map<Rank, GatherPart>& parts, const std::function<Slice(Rank)>& part_of,
            std::byte* elements, StrategySelector& selector, Code pack);

/// The elements of a Gather: whose they are, and where they stand in its buffer.
class GatherPlan {
  public:
    /// \param locate locate(index) is the owner of an element, and its position in the owner's part
    template <class Locate>
    GatherPlan(DistinctIndices distinct, std::uint64_t element_bytes, const Locate& locate) {
        distinct.for_each([&](std::int64_t i) {
            const auto [owner, position] = locate(i);
            parts_[owner].add(position);
        });
        for (auto& [owner, part] : parts_)
            elements_ += part.complete(elements_, element_bytes);
        check_gathered(elements_);
        positions_ = distinct.positions([&](std::int64_t i) {
            const auto [owner, position] = locate(i);
            return static_cast<std::uint32_t>(parts_[owner].local_index(position));
        });
        for (auto& [owner, part] : parts_)
            part.release_positions();
    }

    /// How many elements the buffer has.
    std::uint64_t elements() const { return elements_; }
    /// Of each index: its element's in the buffer.
    const std::vector<std::uint32_t>& positions() const { return positions_; }
    /// As gather().
    void fetch(const std::function<Slice(Rank)>& part_of, std::byte* elements, Code pack) const {
        gather(parts_, part_of, elements, *strategy_selector_, pack);
    }

  private:
    std::map<Rank, GatherPart> parts_;
    std::uint64_t elements_ = 0;
    std::vector<std::uint32_t> positions_;
    /// of this Gather alone
    std::shared_ptr<StrategySelector> strategy_selector_ = make_strategy_selector();
};

/// The numbers of indices in a box, in index order. \throws Error out of bounds
template <std::size_t M>
std::vector<std::int64_t> numbers_of(const Box<M>& box, std::span<const Index<M>> indices) {
    std::vector<std::int64_t> numbers;
    numbers.reserve(indices.size());
    for (const Index<M>& i : indices) {
        if (!box.contains(i)) out_of_bounds(i, box.lower, box.upper);
        numbers.push_back(position(box, i));
    }
    return numbers;
}

/// What a Gather of elements has (Inner = 0), and one of rows, which have all values of the last index (1).
template <class T, std::size_t N, Distribution D, std::size_t Inner>
class GatherBase {
  public:
    static constexpr std::size_t dimensions = N - Inner;  ///< of the indices

    GatherBase(const GatherBase&) = delete;
    GatherBase& operator=(const GatherBase&) = delete;
    GatherBase(GatherBase&&) noexcept = default;

    /// Fetches the current elements: what the owners wrote before the last barrier, or later. Not collective.
    /// A strategy selector decides whether owners pack the elements or whole ranges are fetched.
    /// \throws Error when the array was resized
    void update() {
        if (array_.layout() != layout_) gathered_is_resized();
        const auto part_of = [this](Rank owner) {
            Slice part = array_.part_of(owner);
            part.element_bytes *= static_cast<std::uint64_t>(inner_);
            part.part = part.extent = {1, 1, 1, part.elements() / inner_};
            return part;
        };
        plan_.fetch(part_of, reinterpret_cast<std::byte*>(elements_.data()), &pack_at_owner);
    }

    /// The number of indices.
    std::size_t size() const { return plan_.positions().size(); }
    /// elements()[positions()[k]] is the element of the k-th index. For libraries that take their own index
    /// array. Of rows they count rows.
    std::span<const std::uint32_t> positions() const { return plan_.positions(); }
    /// The distinct elements, owner by owner. Gaps between them may be present too, with older values.
    std::span<const T> elements() const { return elements_.span(); }

  protected:
    using Array = DistributedArray<T, N, D>;
    GatherBase(const Array& array, std::span<const std::int64_t> indices)
        requires(dimensions == 1)
        : GatherBase(array, DistinctIndices(checked(array, indices), bounds(array).lower[0],
                                            bounds(array).extent(0))) {}
    GatherBase(const Array& array, std::span<const Index<dimensions>> indices)
        requires(dimensions > 1)
        : GatherBase(array, DistinctIndices(numbers_of(bounds(array), indices), 0, bounds(array).size())) {}
    /// Elements of a row.
    std::int64_t inner() const { return inner_; }

  private:
    GatherBase(const Array& array, DistinctIndices distinct)
        : array_(array),
          layout_(array.layout()),
          inner_(inner_of(layout_)),
          plan_(std::move(distinct), sizeof(T) * static_cast<std::uint64_t>(inner_),
                [this](std::int64_t number) {
                    const Location<N> location = layout_.locate(first_of(number));
                    return std::pair(location.rank, location.position / inner_);
                }),
          elements_(plan_.elements() * static_cast<std::uint64_t>(inner_)) {}

    /// Of the indices.
    static Box<dimensions> bounds(const Array& array) {
        Box<dimensions> box;
        std::copy_n(array.bounds().lower.begin(), dimensions, box.lower.begin());
        std::copy_n(array.bounds().upper.begin(), dimensions, box.upper.begin());
        return box;
    }
    static std::span<const std::int64_t> checked(const Array& array, std::span<const std::int64_t> indices) {
        const Box<dimensions> box = bounds(array);
        for (const std::int64_t i : indices)
            if (!box.contains({i})) out_of_bounds(std::array{i}, box.lower, box.upper);
        return indices;
    }
    static std::int64_t inner_of(const Layout<N, D>& layout) {
        if constexpr (Inner == 0) return 1;
        if (layout.grid()[N - 1] != 1)
            throw Error("Gather: rows that are distributed over several ranks", "a row is of one rank",
                        "make the array on a grid with one rank in the last dimension");
        return std::max<std::int64_t>(1, layout.bounds().extent(N - 1));
    }
    /// The index of an element, or of a row's first one.
    Index<N> first_of(std::int64_t number) const {
        Index<N> i = layout_.bounds().lower;
        if constexpr (dimensions == 1) {
            i[0] = number;
        } else {
            const Index<dimensions> from_first = index_at(bounds(array_).shape(), number);
            for (std::size_t d = 0; d < dimensions; ++d)
                i[d] += from_first[d];
        }
        return i;
    }

    const Array& array_;
    Layout<N, D> layout_;
    std::int64_t inner_;
    GatherPlan plan_;
    Buffer<T> elements_;
};

}  // namespace detail

/// \tparam D the array's distribution \tparam N its dimensions
template <class T, Distribution D = Block, std::size_t N = 1>
class Gather : public detail::GatherBase<T, N, D, 0> {
  public:
    /// Not collective. The elements are zero before the first update(). The array outlives the Gather.
    /// \param indices into the array, in any order, repeats allowed
    /// \throws Error for an index out of bounds, and for more than 2^32 distinct indices
    Gather(const DistributedArray<T, 1, D>& array, std::span<const std::int64_t> indices)
        requires(N == 1)
        : detail::GatherBase<T, N, D, 0>(array, indices) {}
    Gather(const DistributedArray<T, N, D>& array, std::type_identity_t<std::span<const Index<N>>> indices)
        requires(N > 1)
        : detail::GatherBase<T, N, D, 0>(array, indices) {}

    /// The array's element of the k-th index, as of the last update().
    const T& operator[](std::size_t k) const { return this->elements()[this->positions()[k]]; }
};

/// In place of an element type: the rows of an array.
template <class T>
struct Row;

/// Repeated reads of whole rows: of all elements that differ in the last index only.
/// \tparam N dimensions of the indices, one less than the array has
template <class T, Distribution D, std::size_t N>
class Gather<Row<T>, D, N> : public detail::GatherBase<T, N + 1, D, 1> {
  public:
    /// As for elements. \param indices without the last number
    /// \throws Error as for elements, and if the last dimension is distributed
    Gather(const DistributedArray<T, 2, D>& array, std::span<const std::int64_t> indices)
        requires(N == 1)
        : detail::GatherBase<T, N + 1, D, 1>(array, indices) {}
    Gather(const DistributedArray<T, N + 1, D>& array,
           std::type_identity_t<std::span<const Index<N>>> indices)
        requires(N > 1)
        : detail::GatherBase<T, N + 1, D, 1>(array, indices) {}

    /// The row of the k-th index, as of the last update().
    std::span<const T> operator[](std::size_t k) const {
        const auto count = static_cast<std::size_t>(this->inner());
        return this->elements().subspan(this->positions()[k] * count, count);
    }
};

}  // namespace nearfetch

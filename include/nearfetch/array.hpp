// SPDX-License-Identifier: Apache-2.0
#pragma once

// Distributed arrays: a box of indices dealt out to the ranks of a program, each element of which every rank
// reads and writes by its index.
//
//     nearfetch::launch({.ranks = 4}, [] {
//         nearfetch::BlockArray<double, 2> a({1000, 1000}), b({1000, 1000});   // zero; on a 2 x 2 grid of
//         ranks a.for_each([](const nearfetch::Index<2>& i, double& x) { x = 1000.0 * i[0] + i[1]; });   //
//         one's own nearfetch::barrier(); b.for_each([&](const nearfetch::Index<2>& i, double& x) { x =
//         a(i[1], i[0]); });         // anybody's const double sum = b.sum();
//     });
//
// Where an element is follows from its index (distribution.hpp). One's own are plain memory: an access costs
// the computation of its place and a branch. Others' are read and written through the page cache (pgas.hpp),
// whose rule holds here, too: two accesses to an element, one of them a write, are ordered by a barrier or
// whatever else releases and acquires. An index out of bounds is an Error, always: an element of one's own is
// inside, so that the check is made for others' only, where the next step is far more expensive (a contiguous
// distribution; else it is one of the comparisons of every access).
//
// What is collective is called by all ranks in the same order with the same arguments; that they are the same
// is checked, and an Error if not. Collective functions begin and end with a barrier.

#include <functional>
#include <initializer_list>
#include <nearfetch/array_slices.hpp>
#include <nearfetch/array_view.hpp>
#include <nearfetch/distribution.hpp>
#include <nearfetch/pgas.hpp>
#include <string_view>

namespace nearfetch {

namespace detail {

/// A barrier at which all ranks find out whether they call the same with the same arguments.
class Agreement {
  public:
    /// Collective.
    Agreement();
    /// \throws Error in at least two ranks if not all say the same
    void check(std::string_view what, std::span<const std::uint64_t> arguments);

  private:
    GlobalPtr<std::uint64_t> said_;  ///< by the rank before: of this call, and of the one before it
    std::uint64_t calls_ = 0;
};

[[noreturn]] void out_of_bounds(std::span<const std::int64_t> index, std::span<const std::int64_t> lower,
                                std::span<const std::int64_t> upper);
[[noreturn]] void wrong_size(const char* what, std::size_t size, std::int64_t indices);
void check_ranks(std::span<const Rank> grid);
/// Each rank's bytes, in the order of the ranks. Collective.
void all_gather(GlobalPtr<std::byte> scratch, const void* from, std::size_t bytes, std::byte* to);

}  // namespace detail

template <class T, std::size_t N, Distribution D = Block>
class DistributedArray {
    static_assert(std::is_trivially_copyable_v<T>, "bytes are all that is moved");

  public:
    class Element;

    /// The elements are zero. Collective. Their memory is allocate()d: it lives as long as the program.
    /// \param block of each dimension, for BlockCyclic
    /// \throws Error when the bounds, the grid or the blocks make no sense, or the grid is not all ranks
    explicit DistributedArray(const Box<N>& bounds,
                              const std::array<Rank, N>& grid = balanced_grid<N>(ranks()),
                              const Index<N>& block = Layout<N, D>::ones())
        : layout_(bounds, grid, block), rank_(nearfetch::rank()) {
        detail::check_ranks(grid);
        agree("DistributedArray", describe(bounds, grid, block));
        parts_ = allocate<T>(static_cast<std::size_t>(layout_.most()));
        own_shape_ = layout_.local_shape(rank_);
        std::int64_t stride = 1;
        for (std::size_t d = N; d-- > 0; stride *= own_shape_[d])
            own_strides_[d] = stride;
        if (const Box<N> own({}, own_shape_); !own.empty()) {
            own_lower_ = layout_.global(rank_, {});
            own_ = parts_.local();
        }
        barrier();
    }
    /// Indices from 0.
    explicit DistributedArray(const Index<N>& shape) : DistributedArray(Box<N>({}, shape)) {}
    DistributedArray(const DistributedArray&) = delete;
    DistributedArray& operator=(const DistributedArray&) = delete;

    const Layout<N, D>& layout() const { return layout_; }
    const Box<N>& bounds() const { return layout_.bounds(); }
    /// \throws Error out of bounds
    Rank owner(const Index<N>& i) const {
        check(i);
        return layout_.owner(i);
    }

    // Global view: any element, from any rank. \throws Error out of bounds

    Element operator[](const Index<N>& i) { return Element(*this, i); }
    T operator[](const Index<N>& i) const { return read(i); }
    template <std::convertible_to<std::int64_t>... I>
        requires(sizeof...(I) == N)
    Element operator()(I... i) {
        return Element(*this, {static_cast<std::int64_t>(i)...});
    }
    template <std::convertible_to<std::int64_t>... I>
        requires(sizeof...(I) == N)
    T operator()(I... i) const {
        return read({static_cast<std::int64_t>(i)...});
    }
    T read(const Index<N>& i) const {
        if (const T* const mine = own(i)) [[likely]]
            return *mine;
        return read_far(i);
    }
    void write(const Index<N>& i, const T& value) {
        if (T* const mine = own(i)) [[likely]]
            *mine = value;
        else
            write_far(i, value);
    }
    /// The element's address in this process if this rank owns it, else nullptr.
    T* own(const Index<N>& i) const {
        std::int64_t offset = 0;
        bool mine = true;
        if constexpr (D::contiguous) {
            for (std::size_t d = 0; d < N; ++d) {
                // Differences of whatever the program asks for.
                const auto local = static_cast<std::int64_t>(static_cast<std::uint64_t>(i[d]) -
                                                             static_cast<std::uint64_t>(own_lower_[d]));
                mine = mine && static_cast<std::uint64_t>(local) < static_cast<std::uint64_t>(own_shape_[d]);
                offset += static_cast<std::int64_t>(static_cast<std::uint64_t>(local) *
                                                    static_cast<std::uint64_t>(own_strides_[d]));
            }
        } else {
            if (!bounds().contains(i)) return nullptr;
            const Place<N> place = layout_.place(i);
            mine = place.rank == rank_;
            for (std::size_t d = 0; d < N; ++d)
                offset += place.local[d] * own_strides_[d];
        }
        return mine ? own_ + offset : nullptr;
    }

    // One's own.

    /// In local numbers, from 0; for a contiguous distribution that is own_box() moved to 0.
    View<T, N> local() const { return View<T, N>(own_, own_shape_); }
    /// What this rank owns.
    Box<N> own_box() const
        requires(D::contiguous)
    {
        Box<N> box(own_lower_, own_lower_);
        for (std::size_t d = 0; d < N; ++d)
            box.upper[d] += own_shape_[d];
        return box;
    }
    /// Calls visit(index, element) for each element that this rank owns, in their order.
    template <std::invocable<const Index<N>&, T&> Visit>
    void for_each(Visit&& visit) {
        T* element = own_;
        for_each_index(Box<N>({}, own_shape_), [&](const Index<N>& local) {
            if constexpr (D::contiguous) {
                Index<N> i;
                for (std::size_t d = 0; d < N; ++d)
                    i[d] = own_lower_[d] + local[d];
                visit(std::as_const(i), *element++);
            } else {
                visit(layout_.global(rank_, local), *element++);
            }
        });
    }

    // Bulk: the elements of a box, side by side here in the order of their indices. At most one slice for
    // each owner, which is one message or a few.
    // \throws Error when the box is not inside, or the sizes differ

    void get(const Box<N>& box, std::span<T> to) const {
        check("get", box, to.size());
        std::vector<Part> parts = parts_of(detail::product_of(box));
        for (Part& part : parts)
            part.prepare(box, to.data(), *this);
        fetch(parts, detail::Packer::owner, false);
        for (const Part& part : parts)
            if (!part.packed.empty())
                part.for_each_row(*this, box, [&](std::int64_t there, std::int64_t here, std::int64_t n) {
                    std::copy_n(part.packed.data() + there, n, to.data() + here);
                });
    }
    void put(const Box<N>& box, std::span<const T> from) {
        check("put", box, from.size());
        std::vector<Part> parts = parts_of(detail::product_of(box));
        std::vector<detail::SliceMove> moves;
        for (Part& part : parts) {
            part.prepare(box, const_cast<T*>(from.data()), *this);  // a PUT only reads it
            if (!part.packed.empty())
                part.for_each_row(*this, box, [&](std::int64_t there, std::int64_t here, std::int64_t n) {
                    std::copy_n(from.data() + here, n, part.packed.data() + there);
                });
            moves.push_back(part.move());
        }
        detail::put_slices(moves, &detail::unpack_at_owner);
    }

    // The whole array. Collective.

    void fill(const T& value) {
        agree("fill", {});
        std::fill_n(own_, Box<N>({}, own_shape_).size(), value);
        barrier();
    }
    /// Another one's elements, whatever its distribution. \throws Error when the bounds differ
    template <Distribution Other>
    void assign(const DistributedArray<T, N, Other>& from) {
        if (from.bounds() != bounds())
            throw Error("assign: an array of other bounds", "each index gets the element of the same index",
                        "use arrays of the same bounds");
        agree("assign", {});
        detail::IndexProduct<N> mine;
        for (std::size_t d = 0; d < N; ++d)
            mine[d] = detail::owned_ranges(layout_, rank_, d);
        auto parts = from.parts_of(mine);
        for (auto& part : parts)
            part.packed.resize(static_cast<std::size_t>(part.local.size()));
        from.fetch(parts, detail::Packer::owner, false);
        for (const auto& part : parts) {
            const T* element = part.packed.data();
            for_each_index(part.local, [&](const Index<N>& local) {
                if (T* const to = own(from.layout().global(part.owner, local))) *to = *element;
                ++element;
            });
        }
        barrier();
    }
    /// combine() of init and map(element) of all elements; the same in all ranks: first each rank's own in
    /// their order, then the ranks' in theirs. `combine` is associative.
    template <class U, class Combine, class Map = std::identity>
    U reduce(U init, Combine combine, Map map = {}) {
        static_assert(std::is_trivially_copyable_v<U>);
        struct Sum {
            U value;
            bool any;
        };
        agree("reduce", {{sizeof(Sum)}});
        Sum own_sum{init, false};
        for (const T& element : std::span(own_, static_cast<std::size_t>(Box<N>({}, own_shape_).size()))) {
            own_sum.value = own_sum.any ? static_cast<U>(combine(own_sum.value, map(element)))
                                        : static_cast<U>(map(element));
            own_sum.any = true;
        }
        const std::size_t all = static_cast<std::size_t>(ranks()) * sizeof(Sum);
        if (all > scratch_bytes_) {
            scratch_ = allocate<std::byte>(all);
            scratch_bytes_ = all;
        }
        std::vector<Sum> sums(static_cast<std::size_t>(ranks()), own_sum);
        detail::all_gather(scratch_, &own_sum, sizeof(Sum), reinterpret_cast<std::byte*>(sums.data()));
        for (const Sum& sum : sums)
            if (sum.any) init = combine(init, sum.value);
        return init;
    }
    T sum() { return reduce(T{}, std::plus<>()); }

  private:
    template <class, std::size_t, Distribution>
    friend class DistributedArray;

    /// What one owner has of something: a slice of the array, and its elements.
    struct Part {
        Rank owner;
        Box<N> local;
        detail::Slice slice;
        std::vector<T> packed;
        T* direct = nullptr;  ///< where they go in place of `packed`

        /// Where all of its elements lie side by side in the program's memory, that is where they go.
        void prepare(const Box<N>& box, T* program, const DistributedArray& array) {
            bool side_by_side = D::contiguous;
            bool is_one = true;
            for (std::size_t d = 0; d < N; ++d) {
                side_by_side = side_by_side && (is_one || local.extent(d) == box.extent(d));
                is_one = is_one && local.extent(d) == 1;
            }
            if (side_by_side)
                direct = program + position(box, array.layout_.global(owner, local.lower));
            else
                packed.resize(static_cast<std::size_t>(local.size()));
        }
        detail::SliceMove move() {
            return {slice, reinterpret_cast<std::byte*>(direct != nullptr ? direct : packed.data())};
        }
        /// Calls visit(position among these, position in the box, how many side by side in both).
        template <class Visit>
        void for_each_row(const DistributedArray& array, const Box<N>& box, Visit&& visit) const {
            Box<N> rows = local;
            std::int64_t row = 1;
            if constexpr (D::contiguous) {
                row = local.extent(N - 1);
                rows.upper[N - 1] = rows.lower[N - 1] + 1;
            }
            std::int64_t there = 0;
            for_each_index(rows, [&](const Index<N>& i) {
                visit(there, position(box, array.layout_.global(owner, i)), row);
                there += row;
            });
        }
    };

    static std::int64_t position(const Box<N>& box, const Index<N>& i) {
        std::int64_t sum = 0;
        for (std::size_t d = 0; d < N; ++d)
            sum = sum * box.extent(d) + i[d] - box.lower[d];
        return sum;
    }
    std::vector<Part> parts_of(const detail::IndexProduct<N>& wanted) const {
        std::vector<Part> parts;
        detail::for_each_owner(layout_, wanted, [&](Rank owner, const Box<N>& local) {
            parts.push_back(
                {owner, local, detail::make_slice(layout_, owner, local, parts_.address(), sizeof(T)), {}});
        });
        return parts;
    }
    static void fetch(std::vector<Part>& parts, detail::Packer packer, bool around) {
        std::vector<detail::SliceMove> moves;
        for (Part& part : parts)
            moves.push_back(part.move());
        detail::get_slices(moves, packer, around, &detail::pack_at_owner);
    }

    static std::vector<std::uint64_t> describe(const Box<N>& bounds, const std::array<Rank, N>& grid,
                                               const Index<N>& block) {
        std::vector<std::uint64_t> words{N, sizeof(T), D::contiguous};
        for (std::size_t d = 0; d < N; ++d)
            for (const std::int64_t word :
                 {bounds.lower[d], bounds.upper[d], std::int64_t{grid[d]}, block[d]})
                words.push_back(static_cast<std::uint64_t>(word));
        return words;
    }
    void agree(std::string_view what, std::vector<std::uint64_t> arguments) {
        agreement_.check(what, arguments);
    }
    void check(const Index<N>& i) const {
        if (!bounds().contains(i)) [[unlikely]]
            detail::out_of_bounds(i, bounds().lower, bounds().upper);
    }
    void check(const char* what, const Box<N>& box, std::size_t size) const {
        if (static_cast<std::int64_t>(size) != box.size()) detail::wrong_size(what, size, box.size());
        if (box.empty()) return;
        Index<N> last = box.upper;
        for (std::int64_t& i : last)
            --i;
        check(box.lower);
        check(last);
    }
    GlobalPtr<T> pointer(const Place<N>& place) const {
        const Index<N> shape = layout_.local_shape(place.rank);
        std::int64_t offset = 0;
        for (std::size_t d = 0; d < N; ++d)
            offset = offset * shape[d] + place.local[d];
        return parts_.at_rank(place.rank) + offset;
    }
    T read_far(const Index<N>& i) const {
        check(i);
        return nearfetch::get(pointer(layout_.place(i)));
    }
    void write_far(const Index<N>& i, const T& value) {
        check(i);
        nearfetch::put(pointer(layout_.place(i)), value);
    }

    // What an access to one's own element reads stands first.
    T* own_ = nullptr;
    Index<N> own_lower_{};
    Index<N> own_shape_{};
    Index<N> own_strides_{};
    Layout<N, D> layout_;
    Rank rank_;
    detail::Agreement agreement_;
    GlobalPtr<T> parts_;
    GlobalPtr<std::byte> scratch_;
    std::size_t scratch_bytes_ = 0;
};

/// An element that reads and writes like a T. `auto` gives another one of these, not a T.
template <class T, std::size_t N, Distribution D>
class DistributedArray<T, N, D>::Element {
  public:
    Element(DistributedArray& array, const Index<N>& i) : array_(array), i_(i), own_(array.own(i)) {}
    Element(const Element&) = default;

    operator T() const {
        if (own_ != nullptr) [[likely]]
            return *own_;
        return array_.read_far(i_);
    }
    const Element& operator=(const T& value) const {
        if (own_ != nullptr) [[likely]]
            *own_ = value;
        else
            array_.write_far(i_, value);
        return *this;
    }
    const Element& operator=(const Element& other) const { return *this = static_cast<T>(other); }
    const Element& operator+=(const T& value) const { return *this = static_cast<T>(*this) + value; }
    const Element& operator-=(const T& value) const { return *this = static_cast<T>(*this) - value; }
    const Element& operator*=(const T& value) const { return *this = static_cast<T>(*this) * value; }
    const Element& operator/=(const T& value) const { return *this = static_cast<T>(*this) / value; }

  private:
    DistributedArray& array_;
    Index<N> i_;
    T* own_;
};

template <class T, std::size_t N>
using BlockArray = DistributedArray<T, N, Block>;
template <class T, std::size_t N>
using CyclicArray = DistributedArray<T, N, Cyclic>;
template <class T, std::size_t N>
using BlockCyclicArray = DistributedArray<T, N, BlockCyclic>;

}  // namespace nearfetch

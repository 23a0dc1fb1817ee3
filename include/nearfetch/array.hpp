// SPDX-License-Identifier: Apache-2.0
#pragma once

// Distributed arrays: a box of indices distributed over the ranks. Every rank reads and writes each element
// by its index.
//
//     using namespace nearfetch;
//     launch({.ranks = 4}, [] {
//         BlockArray<double, 2> a({1000, 1000}), b({1000, 1000});  // zero; on a 2 x 2 grid of ranks
//         a.for_each([](const Index<2>& i, double& x) { x = 1000.0 * i[0] + i[1]; });  // own elements
//         barrier();
//         a.prefetch_transpose();                                                // in a few messages
//         b.for_each([&](const Index<2>& i, double& x) { x = a(i[1], i[0]); });  // any element
//         const double sum = b.sum();
//     });
//
// An access is local, else prefetched, else remote. Own elements are plain memory. Remote ones go through the
// page cache (pgas.hpp) and follow its rule: two accesses to an element, one of them a write, are ordered by
// a release and an acquire, for example a barrier. An index out of bounds is always an Error.
//
// A pattern prefetches what a rank is going to read (LAPPS: Kayraklioglu, Ferguson and El-Ghazawi 2018). The
// paper's names in ours:
//   stencilPrefetch(depth, corners), ...  prefetch_stencil(depth, corners), prefetch_row_wise(), ...
//   consistent, staticDomain              Prefetch{.consistent, .static_domain}, the last argument of each
//   updatePrefetch, evictPrefetch         update_prefetch(), evict_prefetch()
// For irregular accesses there are observe() and gather.hpp; for stencil loops, stencil.hpp.
//
// All ranks call collective functions in the same order with the same arguments. A difference is a
// CollectiveError, which names each rank's function and source line. Collective functions begin and end with
// a barrier; patterns only begin with one.

#include <functional>
#include <memory>
#include <nearfetch/detail/array/collective.hpp>
#include <nearfetch/detail/array/distribution.hpp>
#include <nearfetch/detail/array/ghosts.hpp>
#include <nearfetch/detail/array/observe.hpp>
#include <nearfetch/detail/array/packing.hpp>
#include <nearfetch/detail/array/prefetch.hpp>
#include <nearfetch/detail/array/scattered.hpp>
#include <nearfetch/detail/array/slices.hpp>
#include <nearfetch/detail/array/tasks.hpp>
#include <nearfetch/detail/array/view.hpp>
#include <nearfetch/distribution.hpp>
#include <nearfetch/pgas.hpp>
#include <span>
#include <string_view>
#include <vector>

namespace nearfetch {

template <class T, Distribution D>
class Gather;
template <class T, std::size_t N, Distribution D>
class PrefetchedElement;

/// It also has accesses to scattered elements, and atomic updates: see detail::ScatteredAccess.
template <class T, std::size_t N, Distribution D = Block>
class DistributedArray : public detail::ScatteredAccess<DistributedArray<T, N, D>, T, N> {
    static_assert(std::is_trivially_copyable_v<T>, "bytes are all that is moved");

  public:
    class Element;

    /// Zero-initialised. Collective. The memory is reused when the array has ended in all ranks and a later
    /// allocation finds no other. \param block of each dimension, for BlockCyclic
    /// \throws Error for invalid bounds, grid or blocks, and for a grid that does not have all ranks; in all
    /// ranks, when one of them has no memory
    explicit DistributedArray(const Box<N>& bounds,
                              const std::array<Rank, N>& grid = balanced_grid<N>(ranks()),
                              const Index<N>& block = Layout<N, D>::ones(),
                              const Where& where = Where::current())
        : layout_(bounds, grid, block), rank_(nearfetch::rank()), block_(block) {
        detail::check_ranks(layout_.ranks());
        const detail::Collective call("DistributedArray", where);
        agreement_.check(detail::describe(layout_, block, sizeof(T)));
        parts_ = detail::ArrayMemory<T>(static_cast<std::size_t>(layout_.most()));
        find_own();
        barrier();
    }
    /// Indices from 0.
    explicit DistributedArray(const Index<N>& shape, const Where& where = Where::current())
        : DistributedArray(Box<N>({}, shape), balanced_grid<N>(ranks()), Layout<N, D>::ones(), where) {}
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
        return read_remote(i);
    }
    void write(const Index<N>& i, const T& value) {
        if (T* const mine = own(i)) [[likely]]
            *mine = value;
        else
            write_remote(i, value);
    }
    /// The element's address if this rank owns it, else nullptr.
    T* own(const Index<N>& i) const {
        if constexpr (D::contiguous) {
            std::uint64_t offset = 0;
            for (std::size_t d = 0; d < N; ++d) {
                // Unsigned: a program may ask for any index.
                const std::uint64_t local =
                    static_cast<std::uint64_t>(i[d]) - static_cast<std::uint64_t>(own_lower_[d]);
                const auto extent = static_cast<std::uint64_t>(own_shape_[d]);
                if (local >= extent) return nullptr;
                offset = offset * extent + local;
            }
            T* const mine = own_ + offset;
            if (mine == nullptr) __builtin_unreachable();  // lets the compiler drop the caller's check
            return mine;
        } else {
            if (!bounds().contains(i)) return nullptr;
            const Location<N> location = layout_.locate(i);
            return location.rank == rank_ ? own_ + location.position : nullptr;
        }
    }

    // Own elements.

    /// Indexed by local numbers from 0. For a contiguous distribution that is own_box() shifted to 0.
    View<T, N> local() const { return View<T, N>(own_, own_shape_); }
    /// The indices that this rank owns.
    Box<N> own_box() const
        requires(D::contiguous)
    {
        Box<N> box(own_lower_, own_lower_);
        for (std::size_t d = 0; d < N; ++d)
            box.upper[d] += own_shape_[d];
        return box;
    }
    /// Calls visit(index, element) for each own element. One task visits them in index order. Several visit
    /// a share each, at the same time: see in_tasks(). \throws Error for less than one task
    template <std::invocable<const Index<N>&, T&> Visit>
    void for_each(Visit&& visit, int tasks = 1) {
        for_each(bounds(), visit, tasks);
    }
    /// The same for the own elements in a box.
    template <std::invocable<const Index<N>&, T&> Visit>
    void for_each(const Box<N>& box, Visit&& visit, int tasks = 1) {
        const Box<N> part = layout_.local_part(rank_, box);
        detail::for_each_share(part, tasks, [&](const Box<N>& share) { visit_own(share, visit); });
    }

    // Bulk transfers: the elements of a box, contiguous here in index order. At most one slice per owner,
    // which is one message or a few. Prefetched elements are read locally.
    // \throws Error when the box is out of bounds, or the size differs

    void get(const Box<N>& box, std::span<T> to) const;
    /// The same with the owners' values: prefetched elements are fetched, too.
    void get_from_owners(const Box<N>& box, std::span<T> to) const;
    void put(const Box<N>& box, std::span<const T> from);

    // The whole array. Collective.

    void fill(const T& value, const Where& where = Where::current()) {
        const detail::Collective call("fill", where);
        agreement_.check(detail::describe_value(value));
        std::fill_n(own_, local().size(), value);
        barrier();
    }
    /// Copies an array of any distribution. `axes` orders its dimensions: {1, 0} transposes.
    /// \throws Error for other bounds, and for itself in another order
    template <Distribution Other>
    void assign(const DistributedArray<T, N, Other>& from, const Axes<N>& axes = detail::in_order<N>(),
                const Where& where = Where::current());
    /// Changes the bounds, on the same or another grid of ranks. Indices in both bounds keep their elements,
    /// new ones are zero. Prefetched patterns are requested again for the new bounds: a stencil surrounds the
    /// elements that the rank owns now; tables and observations lose indices that are out of bounds. Memory
    /// is given back only if the array needs more than ever before. Meanwhile a rank holds its
    /// elements twice.
    ///
    /// Invalidates views, addresses of elements and Element proxies. wait() of a pending transfer is an
    /// Error. No other thread of any rank may use the array meanwhile.
    /// \throws Error in all ranks, with the array unchanged: for invalid bounds or grid, exhausted memory, a
    /// static_domain promise, or contributions that were not accumulated
    void resize(const Box<N>& bounds, const std::array<Rank, N>& grid, const Where& where = Where::current());
    void resize(const Box<N>& bounds, const Where& where = Where::current()) {
        resize(bounds, layout_.grid(), where);
    }
    /// Indices from 0.
    void resize(const Index<N>& shape, const Where& where = Where::current()) {
        resize(Box<N>({}, shape), where);
    }
    /// Combines init and map(element) of all elements, with the same result in all ranks: each rank's own
    /// elements in order, then the ranks' results in rank order. `combine` is associative. The map may take
    /// the index before the element, for example to find where the least element is.
    template <class U, class Combine, class Map = std::identity>
    U reduce(U init, Combine combine, Map map = {}, const Where& where = Where::current()) {
        const detail::Collective call("reduce", where);
        agreement_.check({{sizeof(U)}});
        if constexpr (std::invocable<Map&, const Index<N>&, const T&>)
            return gathering_.reduce_each(init, combine, [&](const auto& take) {
                for_each([&](const Index<N>& i, const T& element) { take(map(i, element)); });
            });
        else
            return gathering_.reduce(std::span<const T>(own_, static_cast<std::size_t>(local().size())), init,
                                     combine, map);
    }
    T sum(const Where& where = Where::current()) {
        const detail::Collective call("sum", where);
        return reduce(T{}, std::plus<>());
    }

    // Prefetching (LAPPS, appendix A). Patterns say what this rank is going to read of other ranks' elements.
    // They are collective, and add up. a(i, j) reads what they fetched until it is evicted; a write of this
    // rank is written through to it. With manual consistency it has the values of the pattern's call or
    // later, and owners change them after a barrier.

    /// Elements up to `depth` away from own ones: in all dimensions at once, or (without corners) along one.
    /// \throws Error for a depth below 1
    PrefetchPattern prefetch_stencil(std::int64_t depth = 1, bool corners = true, const Prefetch& how = {},
                                     const Where& where = Where::current()) {
        return prefetch_stencil(Stencil{.depth = depth, .corners = corners}, how, where);
    }
    /// The same, periodic or with a depth for each dimension.
    PrefetchPattern prefetch_stencil(const Stencil& stencil, const Prefetch& how = {},
                                     const Where& where = Where::current());
    /// Elements that differ from own ones in the last, or first, index only.
    PrefetchPattern prefetch_row_wise(const Prefetch& how = {}, const Where& where = Where::current());
    PrefetchPattern prefetch_column_wise(const Prefetch& how = {}, const Where& where = Where::current());
    /// The same in another index. \pre dimension < N
    PrefetchPattern prefetch_lines(std::size_t dimension, const Prefetch& how = {},
                                   const Where& where = Where::current());
    /// a(j, i, ...) for each own a(i, j, ...), if it is in bounds.
    PrefetchPattern prefetch_transpose(const Prefetch& how = {}, const Where& where = Where::current())
        requires(N >= 2);
    /// All elements.
    PrefetchPattern prefetch_all_to_all(const Prefetch& how = {}, const Where& where = Where::current());
    /// Row r of the table says what rank r needs; the table is the same on all ranks. Own indices and indices
    /// out of bounds are skipped. \throws Error unless there is a row for each rank
    PrefetchPattern prefetch_custom(const std::vector<std::vector<Box<N>>>& table, const Prefetch& how = {},
                                    const Where& where = Where::current());
    /// The same by a function: wanted(layout, rank) gives a rank's boxes, as std::vector<Box<N>>. All ranks
    /// use the same one. After resize() it is called again, with the new layout.
    template <std::invocable<const Layout<N, D>&, Rank> Wanted>
    PrefetchPattern prefetch_custom(const Wanted& wanted, const Prefetch& how = {},
                                    const Where& where = Where::current()) {
        return prefetch_boxes(wanted, detail::name_of(wanted), how, where);
    }
    /// Starts to record which remote elements this rank reads one by one. Drops earlier records. Not
    /// collective; no other thread of the rank may read the array meanwhile.
    /// \param most_bytes limit of the memory for the record
    void observe(std::uint64_t most_bytes = std::uint64_t{16} << 20) {
        observer_ = std::make_unique<detail::Observer>(most_bytes);
    }
    /// What was recorded so far.
    Observation observed() const { return observer_ != nullptr ? observer_->seen() : Observation(); }
    /// Prefetches what was read since observe(), and ends the recording. \return what was recorded
    /// \throws Error unless observe() was called
    Observation prefetch_observed(const Prefetch& how = {}, const Where& where = Where::current());
    /// Fetches all prefetched elements again, with their values at the last barrier or later. Not collective.
    /// With manual consistency no other thread of the rank may read the array meanwhile.
    /// \throws Error when there is no pattern, or it was evicted
    void update_prefetch() { array_prefetch_.update(true); }
    /// Starts the update and returns. Compute the interior, then wait(). Owners stay passive.
    [[nodiscard]] PrefetchTransfer update_prefetch_async() { return array_prefetch_.start_update(); }
    /// Asks for a stencil (`later`), starts its fetch, and returns.
    [[nodiscard]] PrefetchTransfer prefetch_stencil_async(std::int64_t depth = 1, bool corners = true,
                                                          const Prefetch& how = {},
                                                          const Where& where = Where::current()) {
        return prefetch_stencil_async(Stencil{.depth = depth, .corners = corners}, how, where);
    }
    [[nodiscard]] PrefetchTransfer prefetch_stencil_async(const Stencil& stencil, const Prefetch& how = {},
                                                          const Where& where = Where::current());
    /// Drops all prefetched elements and their memory. Not collective; no other thread of the rank may read
    /// the array meanwhile.
    void evict_prefetch();
    /// The same for what no other pattern needs. One that was called several times stays as often.
    void evict_prefetch(PrefetchPattern pattern);
    /// Whether a(i) reads prefetched data on this rank. \throws Error out of bounds
    bool is_prefetched(const Index<N>& i) const;
    /// The element if it is prefetched: found once, it is read without a search (LAPPS: accessPrefetch).
    /// \throws Error out of bounds
    PrefetchedElement<T, N, D> prefetched(const Index<N>& i) const;
    /// A box's elements in place, if all are own or all are in one prefetched slice that is not a set. They
    /// have the values of a(i, j). Valid until the thread acquires, or prefetched data is updated or evicted.
    /// Elements of several words are resident only if they are own or of manual consistency.
    /// \param fetch whether to fetch stale data; else it is not resident
    /// \throws Error when the box is out of bounds
    Resident<T, N> resident(const Box<N>& box, bool fetch = true) const
        requires(D::contiguous);

    // Adding to ghosts (detail/array/ghosts.hpp).

    /// Adds to an element: at once if it is own; to a local sum if it is prefetched, until
    /// accumulate_ghosts(). One thread of the rank at a time.
    /// \throws Error out of bounds, and for a remote element that is not prefetched
    template <class Add = detail::Plus>
    void contribute(const Index<N>& i, const T& value, const Add& add = {});
    /// Adds all ranks' contributions to the elements, in rank order. Collective.
    template <class Add = detail::Plus>
    void accumulate_ghosts(const Add& add = {}, const Where& where = Where::current());

  private:
    template <class, std::size_t, Distribution>
    friend class DistributedArray;
    template <class, Distribution>
    friend class Gather;
    template <class>
    friend class SparseMatrix;
    friend detail::ScatteredAccess<DistributedArray, T, N>;
    using Part = detail::ArrayPart<T, N, D>;
    /// A pattern that was called, to request it again.
    struct Pattern {
        std::string_view what;
        std::vector<std::uint64_t> arguments;
        Prefetch how;
        std::function<void(const Layout<N, D>& before)> ask;
        PrefetchPattern name{};
        int calls = 0;  ///< that were not evicted
    };
    using Wanted = std::function<std::vector<detail::IndexProduct<N>>()>;

    /// Caches the address, lower bound and shape of the own elements.
    void find_own() {
        own_shape_ = layout_.local_shape(rank_);
        const bool any = !local().empty();
        own_lower_ = any ? layout_.global(rank_, {}) : Index<N>{};
        own_ = any ? parts_.local() : nullptr;
    }

    template <class Visit>
    void visit_own(Box<N> local, Visit& visit);
    std::vector<Part> parts_of(const detail::IndexProduct<N>& wanted) const;
    /// All that a rank owns.
    detail::Slice part_of(Rank owner) const {
        return detail::make_slice(layout_, owner, Box<N>({}, layout_.local_shape(owner)), parts_.address(),
                                  sizeof(T));
    }
    static void fetch(std::vector<Part>& parts, bool around);
    /// Fetches what the calling rank owns in another layout.
    std::vector<Part> fetch_for(const Layout<N, D>& owned) const;
    /// Copies parts that were fetched packed into this rank's own elements.
    void take(const auto& layout, const auto& parts, const Axes<N>& axes = detail::in_order<N>());
    /// Refreshes the stale consistent slices of these parts.
    void refresh_stale_slices(std::span<const Part> parts) const;
    /// Reads what is prefetched of a part. \return one flag per element: whether it was
    void get_parts(const Box<N>& box, std::span<T> to, bool use_prefetched) const;
    std::vector<char> get_prefetched(const Part& part, const Box<N>& box, std::span<T> to) const;

    void check(const Index<N>& i) const {
        if (!bounds().contains(i)) [[unlikely]]
            detail::out_of_bounds(i, bounds().lower, bounds().upper);
    }
    void check(const char* what, const Box<N>& box, std::size_t size) const {
        if (!box.empty()) {
            Index<N> last = box.upper;
            for (std::int64_t& i : last)
                --i;
            check(box.lower);
            check(last);
        }
        const std::int64_t indices = box.empty() ? 0 : box.size();
        if (static_cast<std::int64_t>(size) != indices) detail::wrong_size(what, size, indices);
    }
    GlobalPtr<T> pointer(const Location<N>& location) const {
        return parts_.at_rank(location.rank) + location.position;
    }
    /// Reads a remote element. In one dimension the prefetched read is inlined into the program's loop. In
    /// several it is not: a loop over neighbours would have many copies of it, which slows down its own
    /// reads.
    T read_remote(const Index<N>& i) const {
        if constexpr (D::contiguous && N == 1)
            return read_last_or_find(i);
        else
            return read_out_of_the_loop(i);
    }
    [[gnu::noinline]] T read_out_of_the_loop(const Index<N>& i) const { return read_last_or_find(i); }
    [[gnu::always_inline]] T read_last_or_find(const Index<N>& i) const {
        if constexpr (D::contiguous) {
            T value;
            if (array_prefetch_.read_last(i, value)) [[likely]]
                return value;
        }
        return find_and_read(i);
    }
    // Takes a copy of the index, so that the prefetched read needs none.
    [[gnu::noinline]] T find_and_read(Index<N> i) const {
        check(i);
        const Location<N> location = layout_.locate(i);
        T value;
        if (read_prefetched(i, location, value)) return value;
        observe_read(location);
        return nearfetch::get(pointer(location));
    }
    /// Reads an element, if it is prefetched. \return whether it was read
    bool read_prefetched(const Index<N>& i, const Location<N>& location, T& value) const {
        if (!may_be_prefetched(i)) return false;
        const auto [slice, position] = array_prefetch_.find(location.rank, location.local, location.position);
        if (slice == nullptr) return false;
        if constexpr (D::contiguous) array_prefetch_.remember_used(i, slice);
        return detail::read_slice(*slice, array_prefetch_.packing(), position, value);
    }
    void observe_read(const Location<N>& location) const {
        if (observer_ != nullptr) [[unlikely]]
            observer_->read(location.rank, location.position);
    }
    void write_remote(const Index<N>& i, const T& value) {
        check(i);
        const Location<N> location = layout_.locate(i);
        const GlobalPtr<T> there = pointer(location);
        nearfetch::put(there, value);
        if constexpr (D::contiguous) {
            if (array_prefetch_.write_through_last(i, value)) return;
        }
        if (may_be_prefetched(i)) {
            detail::PrefetchedSlice* const slice = array_prefetch_.write_through(
                location.rank, location.local, location.position, value, there.address());
            if (D::contiguous && slice != nullptr) array_prefetch_.remember_used(i, slice);
        }
    }
    bool may_be_prefetched(const Index<N>& i) const {
        if constexpr (D::contiguous)
            return array_prefetch_.may_contain(i);
        else
            return true;
    }
    /// Writes the elements of a bulk put through to slices.
    void write_through(const Part& part);
    void agree(std::vector<std::uint64_t> arguments, const Prefetch& how);
    void ask_for(const std::vector<detail::IndexProduct<N>>& wanted, const Prefetch& how);
    void make_replica(std::int64_t elements, std::int64_t least_part);
    /// Unchecked reads, for a contiguous distribution; arguments as in ReplicaReading.
    detail::ReplicaReading read_replica(std::uint64_t reader, std::span<const std::int64_t> indices) const
        requires(N == 1)
    {
        if (own_box() == bounds()) return {own_, bounds().lower[0], sizeof(T)};
        return {array_prefetch_, reader, indices, own_box(), own_};
    }
    PrefetchPattern prefetch(Pattern pattern);
    PrefetchPattern prefetch_wanted(const char* what, std::vector<std::uint64_t> arguments,
                                    const Prefetch& how, const Wanted& wanted, const Where& where);
    /// \param name equal for the same function; 0: not known
    PrefetchPattern prefetch_boxes(
        const std::function<std::vector<Box<N>>(const Layout<N, D>&, Rank)>& wanted, std::uint64_t name,
        const Prefetch& how, const Where& where);
    void ask_for_observed(detail::SetsByOwner sets, const Prefetch& how);
    std::uint64_t resize_state();
    void move_to(const Layout<N, D>& layout);
    /// Translates element numbers of an old layout to the present one.
    detail::SetsByOwner renumbered(const detail::EncodedSets& sets, const Layout<N, D>& before) const;

    // Read by each access to an own element.
    T* own_ = nullptr;
    Index<N> own_lower_{};
    Index<N> own_shape_{};
    Layout<N, D> layout_;
    Rank rank_;
    Index<N> block_;
    detail::Agreement agreement_;
    detail::ArrayMemory<T> parts_;
    detail::Gathering gathering_;
    detail::ArrayPrefetch array_prefetch_;
    std::unique_ptr<detail::Observer> observer_;
    std::vector<Pattern> patterns_;
    std::uint64_t distinct_ = 0;  ///< tells patterns apart that no arguments do
    detail::GhostSums<T> ghosts_;
    detail::GhostExchange exchange_;
};

template <class T, std::size_t N>
using BlockArray = DistributedArray<T, N, Block>;
template <class T, std::size_t N>
using CyclicArray = DistributedArray<T, N, Cyclic>;
template <class T, std::size_t N>
using BlockCyclicArray = DistributedArray<T, N, BlockCyclic>;

}  // namespace nearfetch

#include <nearfetch/detail/array/bulk.hpp>
#include <nearfetch/detail/array/element.hpp>
#include <nearfetch/detail/array/loops.hpp>
#include <nearfetch/detail/array/patterns.hpp>
#include <nearfetch/detail/array/resident.hpp>
#include <nearfetch/detail/array/resize.hpp>

// SPDX-License-Identifier: Apache-2.0
#pragma once

// Distributed arrays: a box of indices dealt out to the ranks of a program, each element of which every rank
// reads and writes by its index.
//
//     using namespace nearfetch;
//     launch({.ranks = 4}, [] {
//         BlockArray<double, 2> a({1000, 1000}), b({1000, 1000});  // zero; on a 2 x 2 grid of ranks
//         a.for_each([](const Index<2>& i, double& x) { x = 1000.0 * i[0] + i[1]; });  // one's own
//         barrier();
//         a.prefetch_transpose();                                                // in a few messages
//         b.for_each([&](const Index<2>& i, double& x) { x = a(i[1], i[0]); });  // anybody's
//         const double sum = b.sum();
//     });
//
// Where an element is follows from its index (distribution.hpp). One's own are plain memory: an access costs
// the computation of its place and a branch. Others' are read and written through the page cache (pgas.hpp),
// whose rule holds here, too: two accesses to an element, one of them a write, are ordered by a barrier or
// whatever else releases and acquires. An index out of bounds is an Error, always: an element of one's own is
// inside, so that the check is made for others' only, where the next step is far more expensive (a contiguous
// distribution; else it is one of the comparisons of every access).
//
// A program that knows which elements of others it is going to read says so by a pattern (LAPPS:
// Kayraklioglu, Ferguson and El-Ghazawi 2018): these are then fetched in a few messages, kept here, and read
// by the same a(i, j) (detail/array/prefetch.hpp); loops over stencils: stencil.hpp. The access goes local,
// else prefetched, else remote. The paper's names in ours:
//   stencilPrefetch(depth, corners), rowWise-, colWise-, transpose-, allToAll-, customPrefetch(table)
//                                       prefetch_stencil(depth, corners), prefetch_row_wise(), ...
//   consistent, staticDomain            Prefetch{.consistent, .static_domain}, the last argument of each
//   updatePrefetch, evictPrefetch       update_prefetch(), evict_prefetch()
// A program that does not know it, because it reads a(index[i]), lets the array find out: observe(), then
// prefetch_observed() (detail/array/observe.hpp). One that has its indices in an array brings what they mean
// to where it is read without being looked for (gather.hpp).
//
// What is collective is called by all ranks in the same order with the same arguments; that they are the same
// is checked, and a CollectiveError if not (of a value of fill() where T has no padding): it names what the
// ranks are in, and where (`where`) they called it. Collective functions begin with a barrier (patterns
// unless they are told not to), and end with one but for patterns.
//
// Here is what an array can do, and what an access to an element does; how boxes and whole arrays move stands
// in detail/array/bulk.hpp, where what is prefetched can be read in place in detail/array/resident.hpp (loops
// that do so: detail/array/parts.hpp), what patterns ask for, and how a halo goes back, in
// detail/array/patterns.hpp, how bounds change in detail/array/resize.hpp.

#include <functional>
#include <memory>
#include <nearfetch/detail/array/collective.hpp>
#include <nearfetch/detail/array/distribution.hpp>
#include <nearfetch/detail/array/ghosts.hpp>
#include <nearfetch/detail/array/observe.hpp>
#include <nearfetch/detail/array/prefetch.hpp>
#include <nearfetch/detail/array/slices.hpp>
#include <nearfetch/detail/array/view.hpp>
#include <nearfetch/pgas.hpp>
#include <span>
#include <string_view>
#include <vector>

namespace nearfetch {

template <class T, Distribution D>
class Gather;

template <class T, std::size_t N, Distribution D = Block>
class DistributedArray {
    static_assert(std::is_trivially_copyable_v<T>, "bytes are all that is moved");

  public:
    class Element;

    /// The elements are zero. Collective. Their memory is part of the segment (LaunchOptions). When the array
    /// has ended in all ranks, it is there for later ones; they find out when the segment has no room, in
    /// whatever is collective and allocates.
    /// \param block of each dimension, for BlockCyclic
    /// \throws Error when the bounds, the grid or the blocks make no sense, or the grid is not all ranks
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
        if constexpr (D::contiguous) {
            std::uint64_t offset = 0;
            for (std::size_t d = 0; d < N; ++d) {
                // Differences of whatever the program asks for.
                const std::uint64_t local =
                    static_cast<std::uint64_t>(i[d]) - static_cast<std::uint64_t>(own_lower_[d]);
                const auto extent = static_cast<std::uint64_t>(own_shape_[d]);
                if (local >= extent) return nullptr;
                offset = offset * extent + local;
            }
            T* const mine = own_ + offset;
            if (mine == nullptr) __builtin_unreachable();  // whoever compares again need not
            return mine;
        } else {
            if (!bounds().contains(i)) return nullptr;
            const Place<N> place = layout_.place(i);
            return place.rank == rank_ ? own_ + place.position : nullptr;
        }
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
        for_each(bounds(), visit);
    }
    /// Of these, the ones in a box.
    template <std::invocable<const Index<N>&, T&> Visit>
    void for_each(const Box<N>& box, Visit&& visit) {
        Box<N> rows = layout_.local_part(rank_, box);
        const std::int64_t width = rows.extent(N - 1);
        if (width == 0) return;
        rows.upper[N - 1] = rows.lower[N - 1] + 1;
        for_each_index(rows, [&](const Index<N>& first) {
            Index<N> i = layout_.global(rank_, first);
            Index<N> local = first;
            T* element = own_ + detail::position(Box<N>({}, own_shape_), first);
            for (std::int64_t n = 0; n < width; ++n, ++local[N - 1], ++i[N - 1]) {
                if constexpr (!D::contiguous) i = layout_.global(rank_, local);
                visit(std::as_const(i), element[n]);
            }
        });
    }

    // Bulk: the elements of a box, side by side here in the order of their indices. At most one slice for
    // each owner, which is one message or a few. What is prefetched is read here, as by a(i, j).
    // \throws Error when the box is not inside, or the sizes differ

    void get(const Box<N>& box, std::span<T> to) const;
    void put(const Box<N>& box, std::span<const T> from);

    // The whole array. Collective.

    void fill(const T& value, const Where& where = Where::current()) {
        const detail::Collective call("fill", where);
        agreement_.check(detail::describe_value(value));
        std::fill_n(own_, local().size(), value);
        barrier();
    }
    /// Another one's elements, whatever its distribution. \throws Error when the bounds differ
    template <Distribution Other>
    void assign(const DistributedArray<T, N, Other>& from, const Where& where = Where::current());
    /// From now on the array has other bounds, on the same grid of ranks or another one. Indices that it had
    /// before keep their elements, new ones are zero; who owns what follows from the new bounds. What is
    /// prefetched is asked for again, for the new bounds: a stencil goes around the elements that the rank
    /// owns now, tables and what was observed lose the indices that are no more. So is an observation under
    /// way. Memory is given back to the segment where more is needed than the array ever had, and kept
    /// otherwise; what a rank has of the array is in memory twice meanwhile.
    ///
    /// Views, addresses of elements, and a(i, j) that was kept are of no use any more, wait() of what was on
    /// its way is an Error, and no other thread of any rank uses the array meanwhile.
    /// \throws Error in all ranks, which leaves the array as it was, when the bounds or the grid make no
    /// sense, the segment has no room, static_domain was promised, or contributions were not accumulated
    void resize(const Box<N>& bounds, const std::array<Rank, N>& grid, const Where& where = Where::current());
    void resize(const Box<N>& bounds, const Where& where = Where::current()) {
        resize(bounds, layout_.grid(), where);
    }
    /// Indices from 0.
    void resize(const Index<N>& shape, const Where& where = Where::current()) {
        resize(Box<N>({}, shape), where);
    }
    /// combine() of init and map(element) of all elements; the same in all ranks: first each rank's own in
    /// their order, then the ranks' in theirs. `combine` is associative.
    template <class U, class Combine, class Map = std::identity>
    U reduce(U init, Combine combine, Map map = {}, const Where& where = Where::current()) {
        const detail::Collective call("reduce", where);
        agreement_.check({{sizeof(U)}});
        return gathering_.reduce(std::span<const T>(own_, static_cast<std::size_t>(local().size())), init,
                                 combine, map);
    }
    T sum(const Where& where = Where::current()) {
        const detail::Collective call("sum", where);
        return reduce(T{}, std::plus<>());
    }

    // Prefetching (LAPPS, appendix A): what this rank is going to read of others' elements. Patterns are
    // collective, and add up. What they bring is read by a(i, j) as everything is, until it is evicted; what
    // this rank writes is written through to it. With manual consistency it is what its owners have when the
    // pattern is called, or later: they change it after a barrier, as with update_prefetch(). A program that
    // has had a barrier since they wrote it saves the pattern's own: Prefetch{.barrier = false}.

    /// What lies up to `depth` away from own elements: in all dimensions at once, or without corners along
    /// one.
    /// \throws Error for a depth below 1
    void prefetch_stencil(std::int64_t depth = 1, bool corners = true, const Prefetch& how = {},
                          const Where& where = Where::current());
    /// All that differs from own elements in the last index only.
    void prefetch_row_wise(const Prefetch& how = {}, const Where& where = Where::current());
    /// All that differs from own elements in the first index only.
    void prefetch_column_wise(const Prefetch& how = {}, const Where& where = Where::current());
    /// a(j, i) for each own a(i, j), where there is one.
    void prefetch_transpose(const Prefetch& how = {}, const Where& where = Where::current())
        requires(N == 2);
    /// Everything.
    void prefetch_all_to_all(const Prefetch& how = {}, const Where& where = Where::current());
    /// What rank r needs stands in row r, the same table on all ranks. Own indices, and such as do not exist,
    /// are left out. \throws Error unless there is a row for each rank
    void prefetch_custom(const std::vector<std::vector<Box<N>>>& table, const Prefetch& how = {},
                         const Where& where = Where::current());
    /// Remembers from now on which elements this rank reads from others, one by one and unprefetched. What it
    /// remembered before it forgets. Not collective; no other thread of the rank reads the array meanwhile.
    /// \param most_bytes of memory for that
    void observe(std::uint64_t most_bytes = std::uint64_t{16} << 20) {
        observer_ = std::make_unique<detail::Observer>(most_bytes);
    }
    /// What has been observed so far.
    Observation observed() const { return observer_ != nullptr ? observer_->seen() : Observation(); }
    /// What was read since observe(), which ends there. \return what that was
    /// \throws Error unless observe() was called
    Observation prefetch_observed(const Prefetch& how = {}, const Where& where = Where::current());
    /// Fetches all that this rank has prefetched: what was there at the last barrier, or later. Not
    /// collective; with manual consistency no other thread of the rank reads the array meanwhile.
    /// \throws Error when no pattern was called, or what it had brought was evicted
    void update_prefetch() { array_prefetch_.update(true); }
    /// The same while the rank computes: start it, work on the interior, wait. Owners are passive.
    [[nodiscard]] PrefetchTransfer update_prefetch_async() { return array_prefetch_.start_update(); }
    /// Likewise.
    [[nodiscard]] PrefetchTransfer prefetch_stencil_async(std::int64_t depth = 1, bool corners = true,
                                                          const Prefetch& how = {},
                                                          const Where& where = Where::current());
    /// Forgets it, and gives its memory back. Not collective; no other thread of the rank reads the array
    /// meanwhile.
    void evict_prefetch() {
        array_prefetch_.evict();
        patterns_.clear();
    }
    /// Whether this rank reads the element from what it has prefetched. \throws Error out of bounds
    bool is_prefetched(const Index<N>& i) const;
    /// Where the elements of a box lie in this process, with the values that a(i, j) has: if all are own, or
    /// all in one slice that is prefetched and no set. Until the thread acquires, or what is prefetched is
    /// updated or evicted. Elements of several words are resident only where they are own or of manual
    /// consistency.
    /// \param fetch what is stale; else it is not resident
    /// \throws Error when the box is not inside
    Resident<T, N> resident(const Box<N>& box, bool fetch = true) const
        requires(D::contiguous);

    // Adding to what was prefetched (detail/array/ghosts.hpp).

    /// Adds to an element: at once where it is this rank's own; where it is prefetched, to a sum of this
    /// rank, which accumulate_ghosts() adds to it. By one thread of the rank at a time.
    /// \throws Error out of bounds, and for an element of another rank that is not prefetched
    template <class Add = detail::Plus>
    void contribute(const Index<N>& i, const T& value, const Add& add = {});
    /// Adds what ranks have contributed to elements of others, in the order of the ranks. Collective.
    template <class Add = detail::Plus>
    void accumulate_ghosts(const Add& add = {}, const Where& where = Where::current());

  private:
    template <class, std::size_t, Distribution>
    friend class DistributedArray;
    template <class, Distribution>
    friend class Gather;
    template <class>
    friend class SparseMatrix;
    using Part = detail::ArrayPart<T, N, D>;
    /// What was prefetched, to ask for it again.
    struct Pattern {
        std::string_view what;
        std::vector<std::uint64_t> arguments;
        Prefetch how;
        std::function<void(const Layout<N, D>& before)> ask;
    };
    using Wanted = std::function<std::vector<detail::IndexProduct<N>>()>;

    /// Where this rank's own elements are.
    void find_own() {
        own_shape_ = layout_.local_shape(rank_);
        const bool any = !local().empty();
        own_lower_ = any ? layout_.global(rank_, {}) : Index<N>{};
        own_ = any ? parts_.local() : nullptr;
    }

    std::vector<Part> parts_of(const detail::IndexProduct<N>& wanted) const;
    /// All that a rank owns.
    detail::Slice part_of(Rank owner) const {
        return detail::make_slice(layout_, owner, Box<N>({}, layout_.local_shape(owner)), parts_.address(),
                                  sizeof(T));
    }
    static void fetch(std::vector<Part>& parts, bool around);
    /// What of this array the calling rank owns in another layout.
    template <Distribution Other>
    std::vector<Part> fetch_for(const Layout<N, Other>& owned, bool around) const;
    /// Takes over what of parts of a layout this rank owns here.
    template <Distribution Other>
    void take(const Layout<N, Other>& layout, const std::vector<detail::ArrayPart<T, N, Other>>& parts);
    /// What is prefetched of parts is up to date, as far as it has to be.
    void freshen(std::span<const Part> parts) const;
    /// Of a part that is wanted for a box: what is prefetched. \return for each element whether it was
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
    GlobalPtr<T> pointer(const Place<N>& place) const { return parts_.at_rank(place.rank) + place.position; }
    /// Another rank's element. In one dimension what is prefetched is read in the program's own loop. In
    /// several that is often a loop over neighbours, which would have so many copies of it that what it does
    /// with own elements is four times slower.
    T read_far(const Index<N>& i) const {
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
    // The index is copied here, not where it would be on the way of what is prefetched.
    [[gnu::noinline]] T find_and_read(Index<N> i) const {
        check(i);
        const Place<N> place = layout_.place(i);
        if (may_be_prefetched(i)) {
            T value;
            if (const auto [slice, position] = array_prefetch_.find(place.rank, place.local, place.position);
                slice != nullptr) {
                if constexpr (D::contiguous) array_prefetch_.used(i, slice);
                return array_prefetch_.read(*slice, position, value) ? value : nearfetch::get(pointer(place));
            }
        }
        if (observer_ != nullptr) [[unlikely]]
            observer_->read(place.rank, place.position);
        return nearfetch::get(pointer(place));
    }
    void write_far(const Index<N>& i, const T& value) {
        check(i);
        const Place<N> place = layout_.place(i);
        const GlobalPtr<T> there = pointer(place);
        nearfetch::put(there, value);
        if constexpr (D::contiguous) {
            if (array_prefetch_.wrote_last(i, value)) return;
        }
        if (may_be_prefetched(i)) {
            detail::PrefetchedSlice* const slice =
                array_prefetch_.wrote(place.rank, place.local, place.position, value, there.address());
            if (D::contiguous && slice != nullptr) array_prefetch_.used(i, slice);
        }
    }
    bool may_be_prefetched(const Index<N>& i) const {
        if constexpr (D::contiguous)
            return array_prefetch_.reaches(i);
        else
            return true;
    }
    /// What was put in bulk.
    void write_through(const Part& part);
    template <std::invocable Ask>
    void request(std::vector<std::uint64_t> arguments, const Prefetch& how, Ask&& ask);
    void ask_for(const std::vector<detail::IndexProduct<N>>& wanted, const Prefetch& how, bool later);
    void make_replica(std::int64_t elements, std::int64_t least_part);
    /// Elements without a check, of a contiguous distribution; as in ReplicaReading.
    detail::ReplicaReading read_replica(std::uint64_t reader, std::span<const std::int64_t> indices) const
        requires(N == 1)
    {
        if (own_box() == bounds()) return {own_, bounds().lower[0], sizeof(T)};
        return {array_prefetch_, reader, indices, own_box(), own_};
    }
    template <std::invocable Ask>
    void prefetch(std::vector<std::uint64_t> arguments, const Prefetch& how, Ask&& ask);
    void prefetch_wanted(const char* what, std::vector<std::uint64_t> arguments, const Prefetch& how,
                         const Wanted& wanted, const Where& where);
    void remember(Pattern pattern);
    void ask_for_observed(detail::SetsByOwner sets, const Prefetch& how);
    std::uint64_t resize_state();
    void move_to(const Layout<N, D>& layout);
    /// Elements of owners as they are numbered now.
    detail::SetsByOwner renumbered(const detail::SetTexts& sets, const Layout<N, D>& before) const;

    // What an access to one's own element reads stands first.
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

// In this order: each may use what stands above it.
// clang-format off
#include <nearfetch/detail/array/bulk.hpp>
#include <nearfetch/detail/array/element.hpp>
#include <nearfetch/detail/array/patterns.hpp>
#include <nearfetch/detail/array/resident.hpp>
#include <nearfetch/detail/array/resize.hpp>
#include <nearfetch/detail/array/parts.hpp>
// clang-format on

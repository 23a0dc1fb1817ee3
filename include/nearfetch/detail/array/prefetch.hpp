// SPDX-License-Identifier: Apache-2.0
#pragma once

// Prefetching for distributed arrays: patterns, and an array's part of the rank's prefetch buffer (LAPPS,
// sections 4 and 5, appendix A).
//
// A pattern asks for index products: the indices that have one of the given numbers in each dimension. Each
// owner's share becomes one slice, the smallest box of its local numbers that covers it. For blocks that is
// exactly the share. For other distributions the box may cover indices in between, which are fetched too.
// Tables of several boxes and observed patterns ask for sets of elements (detail/array/observe.hpp).

#include <atomic>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <memory>
#include <nearfetch/detail/array/halo.hpp>
#include <nearfetch/detail/array/replica.hpp>
#include <nearfetch/detail/array/slices.hpp>
#include <optional>
#include <typeinfo>
#include <utility>
#include <vector>

namespace [[gnu::visibility("default")]] nearfetch {

/// How prefetched data is kept consistent with its owner.
struct Prefetch {
    /// True: an access after an acquire sees what the owner had then. Stale data is fetched at the next
    /// access. False: data is as old as the last update_prefetch(), and an access checks no clock.
    bool consistent = true;
    /// True: the program promises not to resize the array (LAPPS, 5.3.2), and owners stay passive. Scattered
    /// elements are fetched by GETs of runs. An owner still packs if that takes more than 16 messages or 16
    /// KiB of unwanted bytes. False: owners pack scattered elements.
    bool static_domain = false;
    /// True: the pattern begins with a barrier. False: it waits for no rank. It then sees what owners wrote
    /// before the program's last barrier. The array's next collective function checks that all ranks called
    /// the same.
    bool barrier = true;
    /// True: the call fetches nothing. What is asked for arrives with the next update_prefetch() or
    /// update_prefetch_async(); until then it is read from its owners.
    bool later = false;
    friend bool operator==(const Prefetch&, const Prefetch&) = default;
};

/// Names one call of a pattern. evict_prefetch(name) drops what no other call needs.
enum class PrefetchPattern : std::uint64_t {};

/// Counters of this rank, over all arrays.
struct PrefetchStatistics {
    std::uint64_t entries = 0;          ///< slices in the prefetch buffer
    std::uint64_t bytes = 0;            ///< of their elements
    std::uint64_t updates = 0;          ///< fetches of a slice
    std::uint64_t updated_bytes = 0;    ///< of the elements that these fetched
    std::uint64_t replica_reads = 0;    ///< sparse products that read a replica
    std::uint64_t bytes_from_node = 0;  ///< of updated_bytes: those that other ranks of the node have fetched
    std::uint64_t shared_bytes = 0;     ///< of bytes: those that ranks of the node hold once for all
};
PrefetchStatistics prefetch_statistics();

/// A fetch of slices that runs while the rank computes. For the thread that started it. The array outlives
/// it.
class PrefetchTransfer {
  public:
    class State;
    explicit PrefetchTransfer(std::unique_ptr<State> state);
    PrefetchTransfer(PrefetchTransfer&&) noexcept;
    PrefetchTransfer& operator=(PrefetchTransfer&&) = delete;
    /// Without wait() the fetched data is dropped.
    ~PrefetchTransfer();

    /// Whether wait() would return at once.
    bool test();
    /// Makes the fetched data visible. Until then elements are read as if it had not been asked for.
    /// \throws Error when a message failed, or the prefetched data was evicted
    void wait();

  private:
    std::unique_ptr<State> state_;
};

namespace detail {

/// An array's slices in the prefetch buffer of this rank.
class ArrayPrefetch {
  public:
    ArrayPrefetch();
    ~ArrayPrefetch();
    ArrayPrefetch(const ArrayPrefetch&) = delete;
    ArrayPrefetch& operator=(const ArrayPrefetch&) = delete;

    /// Begins a pattern, even one that needs no element of another rank. What is requested from here on is
    /// requested for it.
    /// \param again a pattern that was called before; by default it is a new one
    PrefetchPattern begin(const SlicePacking& packing, PrefetchPattern again = {});
    /// Asks for a slice. Consistent slices are fetched at their first access (LAPPS, 5.3.1).
    /// \param first index of its first element, for a contiguous distribution
    void request(const Slice& slice, std::span<const std::int64_t> first, const Prefetch& how) {
        request(slice, nullptr, first, how);
    }
    /// Asks for some elements of an owner's part. They become a box if they form one.
    /// \param first index of the part's first element, for a contiguous distribution
    void request_set(const Slice& part, IndexSet set, std::span<const std::int64_t> first,
                     const Prefetch& how);
    /// Later requests go to a replica of the array, if there is memory for one.
    /// \pre one dimension, contiguous
    void make_replica(std::int64_t lower, std::int64_t elements, std::uint64_t element_bytes);
    /// nullptr if there is none.
    Replica* replica() const { return replica_.get(); }
    /// Fetches all slices of manual consistency, and on request the consistent ones.
    void update(bool consistent_too);
    /// Starts to fetch all slices.
    PrefetchTransfer start_update();
    /// Whether a pattern was called, and not evicted.
    bool is_requested() const { return packing_.pack != nullptr; }
    /// How often slices were evicted.
    std::uint64_t evictions() const { return evictions_; }
    /// Evicts what was requested for this pattern only; by default, everything. Nothing happens if the
    /// pattern was evicted before.
    void evict(std::optional<PrefetchPattern> pattern = {});

    /// The program's, for slices that are fetched at an access.
    const SlicePacking& packing() const { return packing_; }
    /// An owner's slices, the consistent ones first.
    std::span<PrefetchedSlice* const> of(Rank owner) const {
        if (by_owner_.empty()) return {};
        return by_owner_[static_cast<std::size_t>(owner)];
    }

    /// The first slice that has an element, and the position in it; or nullptr.
    template <std::size_t N>
    std::pair<PrefetchedSlice*, std::int64_t> find(Rank owner, const Index<N>& local,
                                                   std::int64_t number) const {
        for (PrefetchedSlice* const slice : of(owner))
            if (const std::int64_t position = slice->position(local, number); position >= 0)
                return {slice, position};
        return {nullptr, -1};
    }

    // For contiguous distributions:

    /// Whether an element may be prefetched: it is in the bounding box of all requests.
    template <std::size_t N>
    bool may_contain(const Index<N>& i) const {
        bool inside = true;
        for (std::size_t d = 0; d < N; ++d)
            inside = inside &&
                     static_cast<std::uint64_t>(i[d]) - static_cast<std::uint64_t>(bounds_lower_[4 - N + d]) <
                         bounds_extent_[4 - N + d];
        return inside;
    }
    /// Reads from the slice that was used last for nearby indices, which is usually the right one.
    /// \return false: search for the slice
    template <class T, std::size_t N>
    bool read_last(const Index<N>& i, T& value) const {
        const PrefetchedSlice& slice = *last_used_slot(i).load(std::memory_order_relaxed);
        const std::int64_t position = slice.position_of(i);
        return position >= 0 && slice.read(position, value);
    }
    /// Writes an element that was put through to that slice, if no other slice may have it.
    /// \return false: call write_through()
    template <class T, std::size_t N>
    bool write_through_last(const Index<N>& i, const T& value) {
        PrefetchedSlice& slice = *last_used_slot(i).load(std::memory_order_relaxed);
        const std::int64_t position = slice.position_of(i);
        if (position < 0 || !one_slice_per_owner_ || !slice.may_write()) return false;
        slice.write(position, value);
        return true;
    }
    /// The slice that was used last for nearby indices, and the position in it; -1: search for the slice.
    template <std::size_t N>
    std::pair<PrefetchedSlice*, std::int64_t> find_last(const Index<N>& i) const {
        PrefetchedSlice* const slice = last_used_slot(i).load(std::memory_order_relaxed);
        return {slice, slice->position_of(i)};
    }
    template <std::size_t N>
    void remember_used(const Index<N>& i, PrefetchedSlice* slice) const {
        if (slice->consistent || !any_consistent_) last_used_slot(i).store(slice, std::memory_order_relaxed);
    }

    /// Writes an element that was put at that address through. \return the first slice that has it, or
    /// nullptr
    template <class T, std::size_t N>
    PrefetchedSlice* write_through(Rank owner, const Index<N>& local, std::int64_t number, const T& value,
                                   std::uint64_t address);
    /// Notes a write to another rank, for slices whose transfer is pending.
    void note_write() {
        if (!pending_.empty()) [[unlikely]]
            writes_.fetch_add(1, std::memory_order_relaxed);
    }

  private:
    friend class PrefetchTransfer::State;
    void request(const Slice& slice, std::unique_ptr<const IndexSet> only,
                 std::span<const std::int64_t> first, const Prefetch& how);
    std::byte* location_in_replica(const Slice& slice, std::span<const std::int64_t> first) const;
    void make_visible(PrefetchedSlice* slice);
    void reset_last_used();
    /// Each block of the distribution has its own slot for the slice that was used last there.
    template <std::size_t N>
    std::atomic<PrefetchedSlice*>& last_used_slot(const Index<N>& i) const {
        std::uint64_t place = 0;
        for (std::size_t d = 0; d < N; ++d)
            place = 5 * place + static_cast<std::uint64_t>(i[d] >> block_bits_[4 - N + d]);
        return last_[place % last_.size()];
    }
    void extend_bounds(const PrefetchedSlice& slice);
    void evict_all();
    void review_slices();
    void require_request() const;

    /// Consistent slices only, if there are any; never nullptr.
    mutable std::array<std::atomic<PrefetchedSlice*>, 16> last_;
    std::array<std::uint8_t, 4> block_bits_{};  ///< log2 of the extents of parts
    std::array<std::int64_t, 4> bounds_lower_{};
    std::array<std::uint64_t, 4> bounds_extent_{};
    std::unique_ptr<Replica> replica_;
    std::vector<PrefetchedSlice*> pending_;
    std::atomic<std::uint64_t> writes_{0};
    std::vector<PrefetchTransfer::State*> transfers_;  ///< that were started and have not ended
    std::uint64_t evictions_ = 0;
    std::uint64_t begun_ = 0;                              ///< patterns, ever
    std::vector<PrefetchPattern> patterns_;                ///< that are not evicted
    PrefetchPattern current_{};                            ///< the one that is requested
    std::vector<std::vector<PrefetchedSlice*>> by_owner_;  ///< empty if there are no slices
    bool any_consistent_ = false;
    bool any_owner_has_several_ = false;
    bool one_slice_per_owner_ = true;  ///< no owner has several, and none is pending
    SlicePacking packing_;
};

/// Reads elements of a consistent slice. \return false: read them from the owner
bool read_prefetched(PrefetchedSlice& slice, const SlicePacking& packing, std::int64_t position, void* to,
                     std::int64_t count);
/// Fetches the stale ones of the consistent slices together. \pre sorted by owner, and for each owner in the
/// order of ArrayPrefetch::of()
void refresh_stale(std::span<PrefetchedSlice* const> slices, const SlicePacking& packing,
                   const OverlapWork& overlap_work = {});
/// Writes `count` elements that were put at that address through, for either consistency.
void write_prefetched(PrefetchedSlice& slice, std::int64_t position, const void* from, std::int64_t count,
                      std::uint64_t address);

/// Reads consecutive elements of a slice of either consistency. \param packing ArrayPrefetch::packing()
/// \return false: read them from the owner
template <class T>
bool read_slice(PrefetchedSlice& slice, const SlicePacking& packing, std::int64_t position, T* to,
                std::int64_t count) {
    if (slice.consistent) return read_prefetched(slice, packing, position, to, count);
    std::memcpy(to, slice.data + static_cast<std::size_t>(position) * sizeof(T),
                static_cast<std::size_t>(count) * sizeof(T));
    return true;
}
template <class T>
bool read_slice(PrefetchedSlice& slice, const SlicePacking& packing, std::int64_t position, T& value) {
    return slice.read(position, value) || read_slice(slice, packing, position, &value, 1);
}

template <class T, std::size_t N>
PrefetchedSlice* ArrayPrefetch::write_through(Rank owner, const Index<N>& local, std::int64_t number,
                                              const T& value, std::uint64_t address) {
    PrefetchedSlice* first = nullptr;
    for (PrefetchedSlice* const slice : of(owner)) {
        const std::int64_t position = slice->position(local, number);
        if (position < 0) continue;
        if (first == nullptr) first = slice;
        if (slice->may_write())
            slice->write(position, value);
        else
            write_prefetched(*slice, position, &value, 1, address);
    }
    note_write();
    return first;
}

/// What matters of a rank when the bounds change, as bits.
struct ResizeState {
    static constexpr std::uint64_t static_domain = 1;  ///< was promised
    static constexpr std::uint64_t contributions = 2;  ///< were not accumulated
    static constexpr std::uint64_t manual = 4;         ///< a pattern has manual consistency
};
/// \throws Error unless all ranks' states allow a resize \return the union of the states
std::uint64_t check_resize(std::span<const std::uint64_t> states);

/// \throws Error unless the table has a row for each rank
void check_table(std::size_t rows);

/// A layout or table as words, to be compared between ranks.
template <std::size_t N, Distribution D>
std::vector<std::uint64_t> describe(const Layout<N, D>& layout, const Index<N>& block,
                                    std::size_t element_bytes) {
    std::vector<std::uint64_t> words{N, element_bytes, D::contiguous};
    for (std::size_t d = 0; d < N; ++d)
        for (const std::int64_t word :
             {layout.bounds().lower[d], layout.bounds().upper[d], std::int64_t{layout.grid()[d]}, block[d]})
            words.push_back(static_cast<std::uint64_t>(word));
    return words;
}
template <std::size_t N>
std::vector<std::uint64_t> describe(const std::vector<std::vector<Box<N>>>& table) {
    std::vector<std::uint64_t> words;
    for (const auto& row : table) {
        words.push_back(row.size());
        for (const Box<N>& box : row)
            for (std::size_t d = 0; d < N; ++d) {
                words.push_back(static_cast<std::uint64_t>(box.lower[d]));
                words.push_back(static_cast<std::uint64_t>(box.upper[d]));
            }
    }
    return words;
}

/// Names a function in this process: equal for the same function, 0 if it has a state.
template <class Function>
std::uint64_t name_of(const Function& function) {
    if constexpr (std::is_pointer_v<std::decay_t<const Function&>>)
        return reinterpret_cast<std::uint64_t>(+function);
    else
        return std::is_empty_v<Function> ? typeid(Function).hash_code() : 0;
}

/// All of one dimension, and what the rank owns in the others.
template <std::size_t N, Distribution D>
std::vector<IndexProduct<N>> line_pattern(const Layout<N, D>& layout, Rank rank, std::size_t dimension) {
    IndexProduct<N> wanted = own_product(layout, rank);
    if (Box<N>({}, layout.local_shape(rank)).empty()) return {};
    wanted[dimension] = product_of(layout.bounds())[dimension];
    return {wanted};
}

/// (j, i, ...) for each own (i, j, ...).
template <std::size_t N, Distribution D>
    requires(N >= 2)
std::vector<IndexProduct<N>> transpose_pattern(const Layout<N, D>& layout, Rank rank) {
    IndexProduct<N> wanted = own_product(layout, rank);
    std::swap(wanted[0], wanted[1]);
    return {std::move(wanted)};
}

}  // namespace detail

}  // namespace nearfetch

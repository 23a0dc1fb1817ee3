// SPDX-License-Identifier: Apache-2.0
#pragma once

// Prefetching for distributed arrays: the patterns, as sets of indices that a rank wants beside its own, and
// an array's side of the rank's prefetch buffer (LAPPS, sections 4 and 5, appendix A).
//
// A pattern asks for products: indices that have one of given numbers in each dimension. Each owner's share
// of a product is one slice, the smallest box of its local numbers that has it. For blocks this is exactly
// what the pattern says. For other distributions it may have indices in between, which are fetched along.
// Tables of several boxes, and patterns that are learned, ask for sets of elements
// (detail/array/observe.hpp).

#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <nearfetch/detail/array/replica.hpp>
#include <nearfetch/detail/array/slices.hpp>
#include <utility>
#include <vector>

namespace [[gnu::visibility("default")]] nearfetch {

/// How prefetched data stays what its owner has.
struct Prefetch {
    /// True: an access after an acquire sees what its owner had then; what is stale is fetched anew when it
    /// is touched. False: data is as old as the last update_prefetch(), and an access costs no look at a
    /// clock.
    bool consistent = true;
    /// True: the program promises that the array keeps its indices (LAPPS, 5.3.2), and owners are left alone:
    /// scattered elements are fetched run by run, or with what is in between, but where that takes more than
    /// 16 messages, or 16 KiB in vain, from one of them. False: the owner packs these.
    bool static_domain = false;
    /// True: the pattern begins with a barrier. False: it waits for nobody, as update_prefetch(): what owners
    /// have written is there if the program has had a barrier since. Whether all ranks have called the same
    /// is then found out by the array's next collective function.
    bool barrier = true;
    friend bool operator==(const Prefetch&, const Prefetch&) = default;
};

/// Of this rank, all arrays.
struct PrefetchStatistics {
    std::uint64_t entries = 0;        ///< slices that are kept
    std::uint64_t bytes = 0;          ///< of their elements
    std::uint64_t updates = 0;        ///< times that one was fetched
    std::uint64_t updated_bytes = 0;  ///< by these
    std::uint64_t replica_reads = 0;  ///< products of sparse matrices that asked for no element whose it is
};
PrefetchStatistics prefetch_statistics();

/// Slices that are on their way while the rank computes. For the thread that started it; the array outlives
/// it.
class PrefetchTransfer {
  public:
    class State;
    explicit PrefetchTransfer(std::unique_ptr<State> state);
    PrefetchTransfer(PrefetchTransfer&&) noexcept;
    PrefetchTransfer& operator=(PrefetchTransfer&&) = delete;
    /// What was not waited for is not kept.
    ~PrefetchTransfer();

    /// Whether wait() would not wait.
    bool test();
    /// From now on what has come is what is read. Before, elements are read as if it had not been asked for.
    /// \throws Error when a message failed, or the array's prefetched data was evicted meanwhile
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

    /// Wants a slice; those that are consistent are fetched when they are touched (LAPPS, 5.3.1).
    /// \param first its first index, where the distribution is contiguous
    /// \param later not read before a transfer has brought it, unless it is consistent
    void request(const Slice& slice, std::span<const std::int64_t> first, const Prefetch& how,
                 bool later = false) {
        request(slice, nullptr, first, how, later);
    }
    /// Wants some elements of a whole part: a box where they are one.
    /// \param first the index of the part's first element, where the distribution is contiguous
    void request_set(const Slice& part, IndexSet set, std::span<const std::int64_t> first,
                     const Prefetch& how);
    /// What is asked for from now on stands in a replica of the array, where there is memory for one.
    /// \pre of one dimension and contiguous
    void make_replica(std::int64_t lower, std::int64_t elements, std::uint64_t element_bytes);
    /// nullptr: there is none.
    Replica* replica() const { return replica_.get(); }
    /// Fetches all those of manual consistency, and of the others too if asked.
    void update(bool consistent_too);
    /// Begins to fetch all of them.
    PrefetchTransfer start_update();
    /// Something was asked for, if only nothing of others' elements was among it.
    void requested(Code pack_code);
    bool is_requested() const { return pack_ != nullptr; }
    /// So often were all slices evicted.
    std::uint64_t evictions() const { return evictions_; }
    void evict();

    /// The program's; for slices that are fetched when they are touched.
    Code pack() const { return pack_; }
    /// Those of an owner, the consistent ones first.
    std::span<PrefetchedSlice* const> of(Rank owner) const {
        if (by_owner_.empty()) return {};
        return by_owner_[static_cast<std::size_t>(owner)];
    }

    /// The first of them that has an element, and where in it; or nullptr.
    template <std::size_t N>
    std::pair<PrefetchedSlice*, std::int64_t> find(Rank owner, const Index<N>& local,
                                                   std::int64_t number) const {
        for (PrefetchedSlice* const slice : of(owner))
            if (const std::int64_t position = slice->position(local, number); position >= 0)
                return {slice, position};
        return {nullptr, -1};
    }

    // Of a contiguous distribution:

    /// Whether an element may be prefetched, or on its way: it is in the smallest box that has all that is.
    template <std::size_t N>
    bool reaches(const Index<N>& i) const {
        bool inside = true;
        for (std::size_t d = 0; d < N; ++d)
            inside = inside &&
                     static_cast<std::uint64_t>(i[d]) - static_cast<std::uint64_t>(reach_lower_[4 - N + d]) <
                         reach_extent_[4 - N + d];
        return inside;
    }
    /// From the slice that was used last near there, which is what will be used next more often than not.
    /// \return false: look closer
    template <class T, std::size_t N>
    bool read_last(const Index<N>& i, T& value) const {
        const PrefetchedSlice& slice = *last_near(i).load(std::memory_order_relaxed);
        const std::int64_t position = slice.position_of(i);
        return position >= 0 && slice.read(position, value);
    }
    /// Writes an element that was put through to that slice, where no other may have it.
    /// \return false: call wrote()
    template <class T, std::size_t N>
    bool wrote_last(const Index<N>& i, const T& value) {
        PrefetchedSlice& slice = *last_near(i).load(std::memory_order_relaxed);
        const std::int64_t position = slice.position_of(i);
        if (position < 0 || !one_each_ || !slice.may_write()) return false;
        slice.write(position, value);
        return true;
    }
    template <std::size_t N>
    void used(const Index<N>& i, PrefetchedSlice* slice) const {
        if (slice->consistent || !any_consistent_) last_near(i).store(slice, std::memory_order_relaxed);
    }

    /// Elements of a slice that are side by side there. \return false: to be fetched otherwise
    template <class T>
    bool read(PrefetchedSlice& slice, std::int64_t position, T* to, std::int64_t count) const;
    template <class T>
    bool read(PrefetchedSlice& slice, std::int64_t position, T& value) const {
        return slice.read(position, value) || read(slice, position, &value, 1);
    }
    /// An element was put at that address. \return the first slice that has it, or nullptr
    template <class T, std::size_t N>
    PrefetchedSlice* wrote(Rank owner, const Index<N>& local, std::int64_t number, const T& value,
                           std::uint64_t address);
    /// The rank has written elements of others; what is on its way and not in of() may be among them.
    void wrote() {
        if (!later_.empty()) [[unlikely]]
            writes_.fetch_add(1, std::memory_order_relaxed);
    }

  private:
    friend class PrefetchTransfer::State;
    void request(const Slice& slice, std::unique_ptr<const IndexSet> only,
                 std::span<const std::int64_t> first, const Prefetch& how, bool later);
    std::byte* place_of(const Slice& slice, std::span<const std::int64_t> first) const;
    void show(PrefetchedSlice* slice);
    void forget_last();
    /// Where the indices are dealt out in blocks, each block has a place or a few, as good as its own.
    template <std::size_t N>
    std::atomic<PrefetchedSlice*>& last_near(const Index<N>& i) const {
        std::uint64_t place = 0;
        for (std::size_t d = 0; d < N; ++d)
            place = 5 * place + static_cast<std::uint64_t>(i[d] >> block_bits_[4 - N + d]);
        return last_[place % last_.size()];
    }
    void reach(const PrefetchedSlice& slice);
    void require_request() const;

    /// Consistent if any slice is; never nullptr.
    mutable std::array<std::atomic<PrefetchedSlice*>, 16> last_;
    std::array<std::uint8_t, 4> block_bits_{};  ///< of the extents of parts
    std::array<std::int64_t, 4> reach_lower_{};
    std::array<std::uint64_t, 4> reach_extent_{};
    std::unique_ptr<Replica> replica_;
    std::vector<PrefetchedSlice*> later_;
    std::atomic<std::uint64_t> writes_{0};
    std::uint64_t evictions_ = 0;
    std::vector<std::vector<PrefetchedSlice*>> by_owner_;  ///< empty: there are none at all
    bool any_consistent_ = false;
    bool any_several_ = false;  ///< of one owner
    bool one_each_ = true;      ///< not several of any, and none on its way
    Code pack_ = nullptr;
};

/// Elements of a consistent slice. \return false: to be fetched otherwise
bool read_prefetched(PrefetchedSlice& slice, Code pack, std::int64_t position, void* to, std::int64_t count);
/// Fetches those of the consistent ones that are stale, all at the same time. \pre in the order of their
/// owners, and for each owner in that of ArrayPrefetch::of()
void freshen_prefetched(std::span<PrefetchedSlice* const> slices, Code pack, const Meanwhile& meanwhile = {});
/// Writes `count` elements through, which were put at that address. Of either consistency.
void write_prefetched(PrefetchedSlice& slice, std::int64_t position, const void* from, std::int64_t count,
                      std::uint64_t address);

template <class T>
bool ArrayPrefetch::read(PrefetchedSlice& slice, std::int64_t position, T* to, std::int64_t count) const {
    if (slice.consistent) return read_prefetched(slice, pack_, position, to, count);
    std::memcpy(to, slice.data + static_cast<std::size_t>(position) * sizeof(T),
                static_cast<std::size_t>(count) * sizeof(T));
    return true;
}

template <class T, std::size_t N>
PrefetchedSlice* ArrayPrefetch::wrote(Rank owner, const Index<N>& local, std::int64_t number, const T& value,
                                      std::uint64_t address) {
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
    wrote();
    return first;
}

/// What of a rank concerns a change of bounds, as bits.
struct ResizeState {
    static constexpr std::uint64_t static_domain = 1;  ///< was promised
    static constexpr std::uint64_t contributions = 2;  ///< were not accumulated
    static constexpr std::uint64_t manual = 4;         ///< something is prefetched with manual consistency
};
/// \throws Error unless all ranks' states allow it \return all of them in one
std::uint64_t check_resize(std::span<const std::uint64_t> states);

/// \throws Error unless there is a table of so many ranks, and a depth that makes sense
void check_table(std::size_t rows);
void check_depth(std::int64_t depth);

/// What a layout and a table say, to be compared.
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

/// What of a dimension's indices lies up to `depth` away from these, and they themselves.
inline IndexRanges widened(const IndexRanges& ranges, std::int64_t depth, std::int64_t first,
                           std::int64_t end) {
    IndexRanges wide;
    for (const auto& [from, to] : ranges) {
        const std::int64_t before = from - std::min(depth, from - first);
        const std::int64_t after = to + std::min(depth, end - to);
        if (!wide.empty() && before <= wide.back().second)
            wide.back().second = after;
        else
            wide.emplace_back(before, after);
    }
    return wide;
}

template <std::size_t N, Distribution D>
IndexProduct<N> own_product(const Layout<N, D>& layout, Rank rank) {
    IndexProduct<N> own;
    for (std::size_t d = 0; d < N; ++d)
        own[d] = owned_ranges(layout, rank, d);
    return own;
}

/// Within `depth` of own elements in all dimensions at once, or (without corners) along one of them.
template <std::size_t N, Distribution D>
std::vector<IndexProduct<N>> stencil_pattern(const Layout<N, D>& layout, Rank rank, std::int64_t depth,
                                             bool corners) {
    const IndexProduct<N> own = own_product(layout, rank);
    std::vector<IndexProduct<N>> wanted(corners ? 1 : N, own);
    for (std::size_t d = 0; d < N; ++d)
        wanted[corners ? 0 : d][d] =
            widened(own[d], depth, layout.bounds().lower[d], layout.bounds().upper[d]);
    return wanted;
}

/// All of one dimension, and in the others what the rank owns.
template <std::size_t N, Distribution D>
std::vector<IndexProduct<N>> line_pattern(const Layout<N, D>& layout, Rank rank, std::size_t dimension) {
    IndexProduct<N> wanted = own_product(layout, rank);
    if (Box<N>({}, layout.local_shape(rank)).empty()) return {};
    wanted[dimension] = product_of(layout.bounds())[dimension];
    return {wanted};
}

/// (j, i) for each own (i, j).
template <Distribution D>
std::vector<IndexProduct<2>> transpose_pattern(const Layout<2, D>& layout, Rank rank) {
    const IndexProduct<2> own = own_product(layout, rank);
    return {{own[1], own[0]}};
}

}  // namespace detail

}  // namespace nearfetch

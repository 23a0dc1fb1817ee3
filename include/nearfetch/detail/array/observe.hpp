// SPDX-License-Identifier: Apache-2.0
#pragma once

// Irregular patterns: tables of index sets, and patterns that an array observes. LAPPS has the tables
// (appendix A, customPrefetch). Observation goes beyond it: there a program that reads A[B[i]] prefetches all
// of A or computes the table itself.
//
//     a.observe();
//     for (int n = 0; n < iterations; ++n) {
//         for (...) sum += a(index[i]);              // first iteration: one by one
//         if (n == 0) a.prefetch_observed();         // then: one message from each owner
//         barrier();
//     }
//
// The observer sees only remote reads that were not prefetched, so other accesses pay nothing. It keeps a set
// of element numbers for each owner, up to a memory limit. Reads beyond the limit are counted, not kept. With
// automatic consistency, gaps of up to 16 bytes between observed elements are fetched too.

#include <cstdint>
#include <map>
#include <mutex>
#include <nearfetch/detail/array/prefetch.hpp>
#include <nearfetch/detail/cache/index_set.hpp>
#include <span>
#include <utility>
#include <vector>

namespace [[gnu::visibility("default")]] nearfetch {

/// What an array's observer has seen on this rank.
struct Observation {
    std::uint64_t elements = 0;  ///< distinct remote elements read; they can be prefetched
    std::uint64_t left_out = 0;  ///< reads of further elements, beyond the memory limit
};

namespace detail {

/// Longest gap between two observed elements that is fetched too.
inline constexpr std::size_t most_closed_bytes = 16;

/// Elements of several owners, numbered from the start of each owner's part.
using SetsByOwner = std::map<Rank, IndexSet>;
/// The same in the encoding that messages use, which takes less memory.
using EncodedSets = std::map<Rank, std::vector<std::byte>>;
/// Also completes the sets.
EncodedSets encode_sets(SetsByOwner& sets);

class Observer {
  public:
    /// \param most_bytes limit of the memory for the sets
    explicit Observer(std::uint64_t most_bytes) : most_bytes_(most_bytes) {}
    /// Records a read. Thread-safe.
    void read(Rank owner, std::int64_t number);
    Observation seen() const;
    /// Returns the sets and clears them.
    SetsByOwner take();
    /// Replaces what was observed.
    void seen(SetsByOwner sets);

  private:
    mutable std::mutex mutex_;
    SetsByOwner sets_;
    std::uint64_t most_bytes_;
    std::uint64_t bytes_ = 0;
    Observation seen_;
};

/// \throws Error if observe() was not called
void require_observer(const Observer* observer);

/// Adds the numbers of a part's elements that are in a box.
template <std::size_t N>
void insert_box(IndexSet& set, const Index<N>& part, const Box<N>& box) {
    Box<N> rows = box;
    if (box.empty()) return;
    rows.upper[N - 1] = rows.lower[N - 1] + 1;
    for_each_index(
        rows, [&](const Index<N>& i) { set.insert_run(position(Box<N>({}, part), i), box.extent(N - 1)); });
}

/// Asks for the boxes of a table's row: one slice for each owner. Skips own elements and indices out of
/// bounds.
template <std::size_t N, Distribution D>
void request_boxes(ArrayPrefetch& array, const Layout<N, D>& layout, Rank self, std::span<const Box<N>> boxes,
                   std::uint64_t address, std::uint64_t element_bytes, const Prefetch& how) {
    std::map<Rank, std::vector<Box<N>>> shares;
    for (const Box<N>& box : boxes)
        for_each_owner(layout, product_of(box), [&](Rank owner, const Box<N>& local) {
            if (owner != self) shares[owner].push_back(local);
        });
    for (const auto& [owner, share] : shares) {
        const Index<N> shape = layout.local_shape(owner);
        if (share.size() == 1) {
            array.request(make_slice(layout, owner, share[0], address, element_bytes),
                          layout.global(owner, share[0].lower), how);
            continue;
        }
        IndexSet set;
        for (const Box<N>& box : share)
            insert_box(set, shape, box);
        array.request_set(make_slice(layout, owner, Box<N>({}, shape), address, element_bytes),
                          std::move(set), layout.global(owner, {}), how);
    }
}

}  // namespace detail

}  // namespace nearfetch

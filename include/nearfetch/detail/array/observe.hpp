// SPDX-License-Identifier: Apache-2.0
#pragma once

// Patterns that are no boxes: tables of index sets, and what an array saw a program read. (LAPPS, appendix A,
// customPrefetch; that a pattern is learned is beyond the paper: there a program that reads A[B[i]]
// prefetches all of A, or computes the table itself.)
//
//     a.observe();
//     for (int n = 0; n < iterations; ++n) {
//         for (...) sum += a(index[i]);              // the first time one by one,
//         if (n == 0) a.prefetch_observed();         // from then on in one message from each owner
//         barrier();
//     }
//
// The observer sees what is read from elsewhere and is not prefetched: accesses to own elements, and to what
// is prefetched, do not know that it exists. What it remembers is a set of element numbers for each owner, in
// memory up to a limit; what does not fit is not remembered, read as before, and counted. With automatic
// consistency what lies between two of them comes along, and is kept, where that is 16 bytes or less.

#include <cstdint>
#include <map>
#include <mutex>
#include <nearfetch/detail/array/prefetch.hpp>
#include <nearfetch/detail/cache/index_set.hpp>
#include <span>
#include <utility>
#include <vector>

namespace [[gnu::visibility("default")]] nearfetch {

/// What an array's observer has seen, of this rank.
struct Observation {
    std::uint64_t elements = 0;  ///< of others that were read; these will be prefetched
    std::uint64_t left_out = 0;  ///< reads of further ones, for which there was no room
};

namespace detail {

/// Between two elements that are learned.
inline constexpr std::size_t most_closed_bytes = 16;

/// Elements of one or more owners, numbered from the beginning of each one's part.
using SetsByOwner = std::map<Rank, IndexSet>;
/// The same in less memory: as they travel.
using SetTexts = std::map<Rank, std::vector<std::byte>>;
/// Completes them, too.
SetTexts texts_of(SetsByOwner& sets);

class Observer {
  public:
    /// Remembers in memory of so many bytes.
    explicit Observer(std::uint64_t most_bytes) : most_bytes_(most_bytes) {}
    /// An element was read. Any thread.
    void read(Rank owner, std::int64_t number);
    Observation seen() const;
    /// And forgets it.
    SetsByOwner take();
    /// As if these had been read, and nothing else.
    void seen(SetsByOwner sets);

  private:
    mutable std::mutex mutex_;
    SetsByOwner sets_;
    std::uint64_t most_bytes_;
    std::uint64_t bytes_ = 0;
    Observation seen_;
};

/// \throws Error unless something is observed
void require_observer(const Observer* observer);

/// The numbers of a part's elements that are in a box of it.
template <std::size_t N>
void insert_box(IndexSet& set, const Index<N>& part, const Box<N>& box) {
    Box<N> rows = box;
    if (box.empty()) return;
    rows.upper[N - 1] = rows.lower[N - 1] + 1;
    for_each_index(
        rows, [&](const Index<N>& i) { set.insert_run(position(Box<N>({}, part), i), box.extent(N - 1)); });
}

/// Asks for boxes of a table's row: one slice for each owner. Own elements, and such as do not exist, are
/// left out.
template <std::size_t N, Distribution D>
void request_boxes(ArrayPrefetch& hook, const Layout<N, D>& layout, Rank self, std::span<const Box<N>> boxes,
                   std::uint64_t address, std::uint64_t element_bytes, const Prefetch& how) {
    std::map<Rank, std::vector<Box<N>>> shares;
    for (const Box<N>& box : boxes)
        for_each_owner(layout, product_of(box), [&](Rank owner, const Box<N>& local) {
            if (owner != self) shares[owner].push_back(local);
        });
    for (const auto& [owner, share] : shares) {
        const Index<N> shape = layout.local_shape(owner);
        if (share.size() == 1) {
            hook.request(make_slice(layout, owner, share[0], address, element_bytes),
                         layout.global(owner, share[0].lower), how);
            continue;
        }
        IndexSet set;
        for (const Box<N>& box : share)
            insert_box(set, shape, box);
        hook.request_set(make_slice(layout, owner, Box<N>({}, shape), address, element_bytes), std::move(set),
                         layout.global(owner, {}), how);
    }
}

}  // namespace detail

}  // namespace nearfetch

// SPDX-License-Identifier: Apache-2.0
#pragma once

// Adding to elements of others: the way back of a halo (beyond LAPPS, which only reads what is near). A loop
// that scatters, forces between particles or the contributions of finite elements, adds to what is around its
// own elements, too:
//
//     force.prefetch_stencil();                       // which elements of others: those around one's own
//     for (...) {
//         force.contribute({i, j}, f);                // own, at once; a ghost, to a sum that is kept here
//         force.contribute({i, j + 1}, -f);
//     }
//     force.accumulate_ghosts();                      // all sums go to their owners, which add them
//
// What is contributed is not what is read: a(i) of a ghost is what its owner has, before and after. An owner
// gets one message from each rank that has something for it, and adds: first came its own contributions, then
// those of the other ranks in their order. So sums of floating-point numbers are the same in every run. What
// it is to add may be said: add(sum, value), where sums begin as T{}; the same in both functions.

#include <functional>
#include <map>
#include <nearfetch/detail/array/collective.hpp>
#include <nearfetch/detail/array/prefetch.hpp>
#include <span>
#include <utility>
#include <vector>

namespace [[gnu::visibility("default")]] nearfetch {

namespace detail {

/// Which elements of another rank.
struct GhostSlice {
    explicit GhostSlice(const PrefetchedSlice& from);
    Slice slice;
    std::vector<std::byte> text;  ///< of these; empty: all
};

/// An array's letters to the owners of what it contributes to.
class GhostExchange {
  public:
    /// Called with elements that lie side by side: where in the own part, what is added, how much; in bytes.
    using Take = std::function<void(std::uint64_t there, const std::byte* sums, std::uint64_t bytes)>;
    /// Once, before the first round. Collective.
    void prepare();
    bool is_prepared() const { return !announced_.empty(); }
    /// \param round another one each time, the same in all ranks; not 0. It is over without receive() where
    /// not all ranks have called the same
    /// \param sums of each slice, packed
    void send(std::uint64_t round, std::span<const GhostSlice> slices,
              std::span<const std::span<const std::byte>> sums);
    /// After a barrier: what others sent in a round, in the order of the ranks.
    void receive(std::uint64_t round, const Take& take);

  private:
    ArrayMemory<std::uint64_t> announced_;  ///< by each rank, the round of its last letter
};

/// As numbers add.
struct Plus {
    template <class T>
    void operator()(T& sum, const T& value) const {
        sum += value;
    }
};

/// What a rank contributes to elements that it has prefetched. One thread at a time.
template <class T>
class GhostSums {
  public:
    /// \param evictions so often were the array's slices evicted: they may be others now
    template <class Add>
    void add(const PrefetchedSlice& slice, std::int64_t position, const T& value, std::uint64_t evictions,
             const Add& add) {
        if (evictions != evictions_) {
            current_.clear();
            last_ = {};
            evictions_ = evictions;
        }
        if (last_.first != &slice) last_ = {&slice, sums_of(slice)};
        add(sums_[last_.second][static_cast<std::size_t>(slice.packed_position(position))], value);
    }
    bool empty() const { return sums_.empty(); }
    void clear() {
        slices_.clear();
        sums_.clear();
        current_.clear();
        last_ = {};
    }
    void send(GhostExchange& exchange, std::uint64_t round) const {
        std::vector<std::span<const std::byte>> sums;
        for (const Buffer<T>& each : sums_)
            sums.push_back(std::as_bytes(each.span()));
        exchange.send(round, slices_, sums);
    }

  private:
    std::size_t sums_of(const PrefetchedSlice& slice) {
        const auto [at, is_new] = current_.try_emplace(&slice, sums_.size());
        if (is_new) {
            slices_.emplace_back(slice);
            sums_.emplace_back(static_cast<std::size_t>(slice.bytes() / sizeof(T)));
        }
        return at->second;
    }

    // In the order in which they were first contributed to.
    std::vector<GhostSlice> slices_;
    std::vector<Buffer<T>> sums_;
    std::map<const PrefetchedSlice*, std::size_t> current_;
    std::pair<const PrefetchedSlice*, std::size_t> last_;
    std::uint64_t evictions_ = 0;
};

[[noreturn]] void not_a_ghost(std::span<const std::int64_t> index);

}  // namespace detail

}  // namespace nearfetch

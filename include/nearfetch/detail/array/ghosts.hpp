// SPDX-License-Identifier: Apache-2.0
#pragma once

// Adding to ghost elements, and the reverse halo exchange. LAPPS only reads ghosts. A loop that scatters
// (particle forces, finite elements) also adds to elements of neighbour ranks:
//
//     force.prefetch_stencil();                       // names the ghosts
//     for (...) {
//         force.contribute({i, j}, f);                // own: added at once; ghost: added to a local sum
//         force.contribute({i, j + 1}, -f);
//     }
//     force.accumulate_ghosts();                      // owners add the sums of all ranks
//
// Reading a ghost gives the owner's value, without the contributions. An owner gets one message from each
// contributing rank. It adds its own contributions first, then those of the other ranks in rank order, so
// floating-point sums are reproducible. The addition can be given as add(sum, value), the same in both
// functions; sums begin as T{}.

#include <functional>
#include <map>
#include <nearfetch/detail/array/collective.hpp>
#include <nearfetch/detail/array/prefetch.hpp>
#include <span>
#include <utility>
#include <vector>

namespace [[gnu::visibility("default")]] nearfetch {

namespace detail {

/// The elements of another rank that a slice has.
struct GhostSlice {
    explicit GhostSlice(const PrefetchedSlice& from);
    Slice slice;
    std::vector<std::byte> encoded_set;  ///< of these elements; empty: all
};

/// Sends an array's contributions to their owners.
class GhostExchange {
  public:
    /// Called with contiguous elements. Offset in the own part and size are in bytes.
    using Take = std::function<void(std::uint64_t part_offset, const std::byte* sums, std::uint64_t bytes)>;
    /// Once, before the first round. Collective.
    void prepare();
    bool is_prepared() const { return !announced_.empty(); }
    /// \param round not 0, unique, and the same in all ranks. Without a receive() the round is dropped.
    /// \param sums of each slice, packed
    void send(std::uint64_t round, std::span<const GhostSlice> slices,
              std::span<const std::span<const std::byte>> sums);
    /// After a barrier: delivers what others sent in a round, in rank order.
    void receive(std::uint64_t round, const Take& take);

  private:
    ArrayMemory<std::uint64_t> announced_;  ///< the last round in which each rank sent a message
};

/// Ordinary addition.
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
    /// \param evictions count of evictions; after another one slices have changed
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

    // In the order of their first contribution.
    std::vector<GhostSlice> slices_;
    std::vector<Buffer<T>> sums_;
    std::map<const PrefetchedSlice*, std::size_t> current_;
    std::pair<const PrefetchedSlice*, std::size_t> last_;
    std::uint64_t evictions_ = 0;
};

[[noreturn]] void not_a_ghost(std::span<const std::int64_t> index);

}  // namespace detail

}  // namespace nearfetch

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <ranges>
#include <vector>

#include "base/types.hpp"

namespace nearfetch {

/// A value for each rank of a group, in memory for those that have been asked for by make(): about 1 KiB for
/// ranks near one another, and 8 bytes for each 1 KiB of values. All others share one. It may be read while
/// one thread calls make().
template <class T>
class PerRank {
  public:
    /// \param others what each has at first \throws std::bad_alloc
    explicit PerRank(Rank ranks, const T& others = {})
        : ranks_(ranks), others_(std::make_unique<Leaf>()), leaves_(leaves_for(ranks)) {
        others_->fill(others);
        for (std::atomic<Leaf*>& leaf : leaves_)
            leaf.store(others_.get(), std::memory_order_relaxed);
    }

    /// \param of_each in order \throws std::bad_alloc
    template <std::ranges::sized_range Values>
    PerRank(const Values& of_each) : PerRank(static_cast<Rank>(std::ranges::size(of_each))) {
        Rank rank = 0;
        for (const T& value : of_each)
            make(rank++) = value;
    }

    Rank ranks() const noexcept { return ranks_; }
    const T& operator[](Rank rank) const noexcept {
        const auto i = static_cast<std::size_t>(rank);
        return (*leaves_[i / per_leaf].load(std::memory_order_acquire))[i % per_leaf];
    }
    /// The same, to be changed. \throws std::bad_alloc
    T& make(Rank rank) {
        const auto i = static_cast<std::size_t>(rank);
        std::atomic<Leaf*>& at = leaves_[i / per_leaf];
        Leaf* leaf = at.load(std::memory_order_relaxed);
        if (leaf == others_.get()) [[unlikely]] {
            made_.push_back(std::make_unique<Leaf>(*others_));
            leaf = made_.back().get();
            at.store(leaf, std::memory_order_release);
        }
        return (*leaf)[i % per_leaf];
    }

  private:
    static constexpr std::size_t per_leaf = std::max<std::size_t>(1024 / sizeof(T), 1);
    using Leaf = std::array<T, per_leaf>;
    static std::size_t leaves_for(Rank ranks) noexcept {
        return (static_cast<std::size_t>(ranks) + per_leaf - 1) / per_leaf;
    }

    Rank ranks_;
    std::unique_ptr<Leaf> others_;
    std::vector<std::atomic<Leaf*>> leaves_;
    std::vector<std::unique_ptr<Leaf>> made_;
};

}  // namespace nearfetch

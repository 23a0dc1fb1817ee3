// SPDX-License-Identifier: Apache-2.0
#pragma once

// A replica: memory for all of a one-dimensional array, with each prefetched element at its index. It is used
// when a large part of the array is prefetched. Own elements are copied in by the reader. A loop over indices
// that are all present then needs no ownership check, as in a hand-made copy. Nothing prefetched changes
// while a ReplicaReading lives.
//
// For array.hpp and sparse.hpp; nothing here is for programs.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <nearfetch/detail/array/distribution.hpp>
#include <nearfetch/detail/cache/slice.hpp>
#include <span>
#include <vector>

namespace nearfetch {
class PrivatePages;
}

namespace [[gnu::visibility("default")]] nearfetch {

namespace detail {

class ArrayPrefetch;

/// Memory for all elements, in whole pages. Slices point into it (PrefetchedSlice::data).
class Replica {
  public:
    /// \throws std::bad_alloc
    Replica(std::int64_t lower, std::int64_t elements, std::uint64_t element_bytes);
    ~Replica();
    Replica(const Replica&) = delete;
    Replica& operator=(const Replica&) = delete;

    std::byte* at(std::int64_t index) const {
        return memory_ + static_cast<std::uint64_t>(index - lower_) * element_bytes_;
    }
    bool has(const PrefetchedSlice& slice) const { return slice.data == at(slice.first[3]); }
    /// For the sets that are stored here.
    StrategySelector& strategy_selector() const { return *strategy_selector_; }
    /// Call when the set of slices has changed.
    void changed() { reader_ = 0; }

  private:
    friend class ReplicaReading;
    /// Whether all indices are own or in slices that are stored here. Sets wanted_.
    bool find(const ArrayPrefetch& array, std::uint64_t reader, std::span<const std::int64_t> indices,
              const Box<1>& own);

    std::int64_t lower_;
    std::uint64_t element_bytes_;
    std::unique_ptr<StrategySelector> strategy_selector_;
    std::unique_ptr<PrivatePages> pages_;
    std::byte* memory_;
    std::atomic<bool> locked_{false};
    // Result of the last search. A search costs as much as reading the elements.
    std::uint64_t reader_ = 0;
    bool found_ = false;
    std::vector<PrefetchedSlice*> wanted_;  ///< in the order of their owners
};

/// Exclusive use of a replica: nobody else changes or reads it.
class ReplicaReading {
  public:
    /// For an array that is entirely own.
    ReplicaReading(const void* own_elements, std::int64_t lower, std::uint64_t element_bytes)
        : origin_(address_of_zero(own_elements, lower, element_bytes)), ready_(true) {}
    /// Fetches the stale slices.
    /// \param reader identifies the indices: another number for other indices; not 0
    /// \param own the range of own elements
    ReplicaReading(const ArrayPrefetch& array, std::uint64_t reader, std::span<const std::int64_t> indices,
                   const Box<1>& own, const void* own_elements);
    ~ReplicaReading();
    ReplicaReading(const ReplicaReading&) = delete;
    ReplicaReading& operator=(const ReplicaReading&) = delete;

    /// Whether all indices are present; else read the elements one by one.
    explicit operator bool() const { return ready_; }
    /// \pre i is one of the indices
    template <class T>
    const T& element(std::int64_t i) const {
        return *reinterpret_cast<const T*>(origin_ + static_cast<std::uint64_t>(i) * sizeof(T));
    }

  private:
    struct Unlock {
        void operator()(Replica* replica) const { replica->locked_.store(false, std::memory_order_release); }
    };
    static std::uintptr_t address_of_zero(const void* first, std::int64_t lower,
                                          std::uint64_t element_bytes) {
        return reinterpret_cast<std::uintptr_t>(first) - static_cast<std::uint64_t>(lower) * element_bytes;
    }

    std::uintptr_t origin_ = 0;
    bool ready_ = false;
    std::unique_ptr<Replica, Unlock> replica_;
    std::size_t locked_ = 0;  ///< slices of wanted_ that are locked
};

}  // namespace detail

}  // namespace nearfetch

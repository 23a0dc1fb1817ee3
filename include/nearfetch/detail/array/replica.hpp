// SPDX-License-Identifier: Apache-2.0
#pragma once

// A one-dimensional array in one piece of memory: where much of one is prefetched, each element stands where
// its index says, as in a copy that somebody made by hand. Own elements leave a gap, and are copied into it
// by who reads the replica. A loop over indices that are all there then needs no check whose an element is:
// nobody changes what is prefetched while an ReplicaReading lives.
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

namespace [[gnu::visibility("default")]] nearfetch {

namespace detail {

class ArrayPrefetch;

/// Memory for all elements, of which slices have what they are asked for (PrefetchedSlice::data).
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
    /// Of the sets that stand here.
    StrategySelector& strategy_selector() const { return *strategy_selector_; }
    /// Other slices are there than before.
    void changed() { reader_ = 0; }

  private:
    friend class ReplicaReading;
    /// Whether all of these indices are own, or in slices that are here: wanted_.
    bool find(const ArrayPrefetch& hook, std::uint64_t reader, std::span<const std::int64_t> indices,
              const Box<1>& own);

    std::int64_t lower_;
    std::uint64_t element_bytes_;
    std::unique_ptr<StrategySelector> strategy_selector_;
    std::byte* memory_;
    std::atomic<bool> locked_{false};
    // Of who read it last: looking for indices takes as long as reading what they mean.
    std::uint64_t reader_ = 0;
    bool found_ = false;
    std::vector<PrefetchedSlice*> wanted_;  ///< in the order of their owners
};

/// While it lives nobody else changes or reads the replica.
class ReplicaReading {
  public:
    /// Of an array that is all the rank's own.
    ReplicaReading(const void* own_elements, std::int64_t lower, std::uint64_t element_bytes)
        : origin_(address_of_zero(own_elements, lower, element_bytes)), ready_(true) {}
    /// What of it is stale is fetched.
    /// \param reader another number where the indices are others; not 0
    /// \param own which elements are the rank's own, and where
    ReplicaReading(const ArrayPrefetch& hook, std::uint64_t reader, std::span<const std::int64_t> indices,
                   const Box<1>& own, const void* own_elements);
    ~ReplicaReading();
    ReplicaReading(const ReplicaReading&) = delete;
    ReplicaReading& operator=(const ReplicaReading&) = delete;

    /// Whether all of the indices are there; else they are to be read one by one.
    explicit operator bool() const { return ready_; }
    /// \pre one of the indices
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
    std::size_t locked_ = 0;  ///< of the slices that are wanted
};

}  // namespace detail

}  // namespace nearfetch

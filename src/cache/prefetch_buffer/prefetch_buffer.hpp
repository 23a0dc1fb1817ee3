// SPDX-License-Identifier: Apache-2.0
#pragma once

// A rank's prefetch buffer (LAPPS, section 4): slices that arrays asked for, kept until they are evicted. It
// is separate from the page cache, so that other accesses do not evict them (section 5.4). As in the paper
// its size has no limit. If memory is exhausted, a slice is not prefetched, and accesses to it are remote.
//
// One thread at a time adds or evicts, while no other thread reads (section 4, concurrency).

#include <algorithm>
#include <list>

#include "cache/prefetch_buffer/prefetch_entry.hpp"

namespace nearfetch {

class PrefetchBuffer {
  public:
    using ArrayKey = const void*;

    /// Adds an entry, or finds the array's entry of that consistency that covers the slice. The address stays
    /// valid until eviction. \param only, location as in the entry \return nullptr if memory is exhausted
    PrefetchEntry* add(ArrayKey array, const detail::Slice& slice, bool consistent, detail::Packer packer,
                       std::unique_ptr<const detail::IndexSet> only = nullptr,
                       const EntryLocation& location = {});
    /// Evicts the entries of an array for which leaves(entry).
    template <class Leaves>
    void evict(ArrayKey array, Leaves&& leaves) noexcept {
        entries_.remove_if([&](ArrayEntry& other) {
            if (other.array != array || !leaves(other.entry)) return false;
            bytes_ -= other.entry.bytes();
            return true;
        });
    }
    /// Evicts all entries of an array.
    void evict(ArrayKey array) noexcept {
        evict(array, [](PrefetchEntry&) { return true; });
    }
    /// Calls visit(entry) for each entry of the same array, including this one.
    template <class Visit>
    void for_each_of_same_array(const PrefetchEntry& entry, Visit&& visit) {
        const auto same = [&](const ArrayEntry& one) { return &one.entry == &entry; };
        const ArrayKey array = std::ranges::find_if(entries_, same)->array;
        for (ArrayEntry& other : entries_)
            if (other.array == array) visit(other.entry);
    }

    std::uint64_t entries() const noexcept { return entries_.size(); }
    std::uint64_t bytes() const noexcept { return bytes_; }
    /// Of these bytes: those in memory that ranks of the node share.
    std::uint64_t shared_bytes() const noexcept {
        std::uint64_t bytes = 0;
        for (const ArrayEntry& each : entries_)
            if (each.entry.memory.is_shown()) bytes += each.entry.bytes();
        return bytes;
    }

    /// Counts a fetch of an entry. Thread-safe.
    void count_update(std::uint64_t bytes) noexcept {
        updates_.fetch_add(1, std::memory_order_relaxed);
        updated_bytes_.fetch_add(bytes, std::memory_order_relaxed);
    }
    /// Counts bytes of fetches that came from other ranks of the node. Thread-safe.
    void count_from_node(std::uint64_t bytes) noexcept {
        bytes_from_node_.fetch_add(bytes, std::memory_order_relaxed);
    }
    /// Counts a loop over a replica. Thread-safe.
    void count_replica_read() noexcept { replica_reads_.fetch_add(1, std::memory_order_relaxed); }
    std::uint64_t updates() const noexcept { return updates_.load(std::memory_order_relaxed); }
    std::uint64_t updated_bytes() const noexcept { return updated_bytes_.load(std::memory_order_relaxed); }
    std::uint64_t bytes_from_node() const noexcept {
        return bytes_from_node_.load(std::memory_order_relaxed);
    }
    std::uint64_t replica_reads() const noexcept { return replica_reads_.load(std::memory_order_relaxed); }

  private:
    struct ArrayEntry {
        ArrayKey array;
        PrefetchEntry entry;
        ArrayEntry(ArrayKey whose, const detail::Slice& slice, bool consistent, detail::Packer packer,
                   std::unique_ptr<const detail::IndexSet> only, const EntryLocation& location)
            : array(whose), entry(slice, consistent, packer, std::move(only), location) {}
    };
    std::list<ArrayEntry> entries_;
    std::uint64_t bytes_ = 0;
    std::atomic<std::uint64_t> updates_{0};
    std::atomic<std::uint64_t> updated_bytes_{0};
    std::atomic<std::uint64_t> bytes_from_node_{0};
    std::atomic<std::uint64_t> replica_reads_{0};
};

}  // namespace nearfetch

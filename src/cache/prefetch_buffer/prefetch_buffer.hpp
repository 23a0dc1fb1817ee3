// SPDX-License-Identifier: Apache-2.0
#pragma once

// The prefetch buffer of a rank: what its threads asked for, until they say that they want it no more (LAPPS,
// section 4). One entry for each slice, and for all arrays; each entry belongs to a hook, which is the
// array's side of it. Beside the page cache, not in it: what a program asks for has to stay, whatever else is
// read (section 5.4). So its size has no bound of its own, as the paper argues; where there is no memory left
// a slice is not prefetched, and accessed as if it had not been asked for.
//
// Adding and evicting is for one thread at a time, while no other reads (section 4, concurrency).

#include <algorithm>
#include <list>

#include "cache/prefetch_buffer/prefetch_entry.hpp"

namespace nearfetch {

class PrefetchBuffer {
  public:
    using Hook = const void*;

    /// A new entry, or the one of that hook and consistency that has the slice already. Stays where it is
    /// until it is evicted. \param only, place as in the entry \return nullptr: there is no memory
    PrefetchEntry* add(Hook hook, const detail::Slice& slice, bool consistent, detail::Packer packer,
                       std::unique_ptr<const detail::IndexSet> only = nullptr,
                       const EntryLocation& place = {});
    /// All of a hook's.
    void evict(Hook hook) noexcept;
    /// Calls visit(entry) for each of the hook that an entry belongs to, itself among them.
    template <class Visit>
    void for_each_beside(const PrefetchEntry& entry, Visit&& visit) {
        const auto same = [&](const Hooked& one) { return &one.entry == &entry; };
        const Hook hook = std::ranges::find_if(entries_, same)->hook;
        for (Hooked& other : entries_)
            if (other.hook == hook) visit(other.entry);
    }

    std::uint64_t entries() const noexcept { return entries_.size(); }
    std::uint64_t bytes() const noexcept { return bytes_; }

    /// An entry was fetched, by any thread.
    void count_update(std::uint64_t bytes) noexcept {
        updates_.fetch_add(1, std::memory_order_relaxed);
        updated_bytes_.fetch_add(bytes, std::memory_order_relaxed);
    }
    /// An array was read in one run, by any thread.
    void count_replica_read() noexcept { replica_reads_.fetch_add(1, std::memory_order_relaxed); }
    std::uint64_t updates() const noexcept { return updates_.load(std::memory_order_relaxed); }
    std::uint64_t updated_bytes() const noexcept { return updated_bytes_.load(std::memory_order_relaxed); }
    std::uint64_t replica_reads() const noexcept { return replica_reads_.load(std::memory_order_relaxed); }

  private:
    struct Hooked {
        Hook hook;
        PrefetchEntry entry;
        Hooked(Hook whose, const detail::Slice& slice, bool consistent, detail::Packer packer,
               std::unique_ptr<const detail::IndexSet> only, const EntryLocation& place)
            : hook(whose), entry(slice, consistent, packer, std::move(only), place) {}
    };
    std::list<Hooked> entries_;
    std::uint64_t bytes_ = 0;
    std::atomic<std::uint64_t> updates_{0};
    std::atomic<std::uint64_t> updated_bytes_{0};
    std::atomic<std::uint64_t> replica_reads_{0};
};

}  // namespace nearfetch

// SPDX-License-Identifier: Apache-2.0
#pragma once

// An entry of the prefetch buffer: a slice of remote data, and the state that keeps it consistent (LAPPS,
// sections 4 and 5.1).
//
// Automatic consistency: the entry carries the clock's stamp of its fetch. A reader whose last acquire is
// later finds it stale. Many threads read while at most one updates. Unlike in the paper readers take no
// lock. Data as recent as the last acquire of any thread is fresh for all, which is one comparison
// (PrefetchedSlice::read). Only otherwise a thread compares with its own last acquire.
//
// The bytes are atomic words. A one-word element may be read during an update: nobody writes it between the
// reader's acquires, so old and new value are equal. A longer element is read as in a seqlock, between two
// reads of a sequence number.
//
// An entry is locked to publish fetched data, or to write a put through. A put may still be in its thread's
// page cache, where a fetch does not see it. So the entry remembers the thread until it has released. Until
// then others do not refresh the entry but read from the owner, and that thread writes without a lock. A
// failed attempt to lock yields and retries.
//
// Manual consistency: readers use `data` as it is, and no thread may read during an update.
//
// Ranks of a node may share the bytes of a large entry (EntryMemory). A put is then the rank's own all the
// same, and readers know nothing of it.

#include <algorithm>
#include <atomic>
#include <memory>
#include <nearfetch/detail/cache/slice.hpp>
#include <span>
#include <vector>

#include "base/assert.hpp"
#include "cache/prefetch_buffer/entry_memory.hpp"
#include "cache/sync_clock/rank_clock.hpp"

namespace nearfetch {

/// Where an entry's data is stored, in PrivatePages that outlive it; nullptr: memory of its own.
struct EntryLocation {
    std::byte* data = nullptr;
    StrategySelector* strategy_selector = nullptr;  ///< as in PrefetchedSlice
};

class PrefetchEntry : public detail::PrefetchedSlice {
  public:
    /// Counts a thread's releases.
    using Releases = std::shared_ptr<std::atomic<std::uint64_t>>;

    /// Allocates the slice's memory; the entry is stale. \throws std::bad_alloc
    PrefetchEntry(const detail::Slice& what, bool is_consistent, detail::Packer who_packs,
                  std::unique_ptr<const detail::IndexSet> which = nullptr,
                  const EntryLocation& location = {});
    PrefetchEntry(const PrefetchEntry&) = delete;
    PrefetchEntry& operator=(const PrefetchEntry&) = delete;

    /// Copies whole elements. \return false: stale for a thread that acquired at that stamp, or being updated
    bool read(std::uint64_t offset_bytes, void* to, std::uint64_t size_bytes, Stamp acquired) const noexcept;
    bool is_fresh(Stamp acquired) const noexcept { return stamp.load(std::memory_order_acquire) >= acquired; }

    /// Exclusive right to change the entry.
    bool try_lock() noexcept { return !locked_.exchange(true, std::memory_order_acquire); }
    void unlock() noexcept { locked_.store(false, std::memory_order_release); }

    // \pre the caller holds the lock

    /// Stores packed elements that were fetched by GETs issued at that time.
    void publish(const std::byte* packed, Stamp issued) noexcept;
    // Between begin_update() and end_update() readers retry.
    void begin_update() noexcept;
    /// Stores bytes of `data`.
    void publish_fragment(std::uint64_t offset_bytes, std::span<const std::byte> run) noexcept {
        store(offset_bytes, run.data(), run.size());
    }
    /// Stores all elements of the slice.
    void publish_packed(const std::byte* packed) noexcept;
    void end_update() noexcept;
    /// GETs issued at that time have stored `data`.
    void mark_fetched(Stamp issued) noexcept { stamp.store(issued, std::memory_order_release); }
    /// The same, but the entry stays stale until publish_unread(). So was_used() tells whether anybody wants
    /// it.
    void mark_fetched_unread(Stamp issued) noexcept { unread_ = issued; }
    /// `data` is incomplete.
    void mark_lost() noexcept {
        unread_ = 0;
        stamp.store(0, std::memory_order_release);
    }
    /// Makes data fetched unread visible. \return whether the entry is fresh now
    bool publish_unread(Stamp acquired) noexcept;
    /// Whether it was read since the last fetch; true if it was never fetched unread.
    bool was_used() const noexcept { return unread_ <= stamp.load(std::memory_order_relaxed); }
    void copy(std::uint64_t offset_bytes, void* to, std::uint64_t size_bytes) const noexcept;
    /// Stores elements that a thread has put.
    void write(std::uint64_t offset_bytes, const void* from, std::uint64_t size_bytes) noexcept;
    /// Remembers that a thread, in that epoch, has not released what it wrote.
    void hold(const Releases& by, std::uint64_t epoch);
    /// Whether another thread has not released what it wrote.
    bool is_held_by_other(const Releases& me) const noexcept;
    /// The stamp of the last fetch.
    Stamp fetched() const noexcept { return std::max(unread_, stamp.load(std::memory_order_acquire)); }

    /// Where `data` is.
    EntryMemory memory;
    /// Numbers of the requests for it that were not withdrawn. Changed by the thread that adds and evicts.
    std::vector<std::uint64_t> requested_by;

  private:
    template <class Use>
    void by_words(Use&& use) const noexcept;
    void store(std::uint64_t offset_bytes, const void* from, std::uint64_t size_bytes) noexcept;

    Stamp unread_ = 0;  ///< stamp of the last unread fetch
    std::atomic<bool> locked_{false};
    Releases holder_;
    std::uint64_t held_since_ = 0;
};

}  // namespace nearfetch

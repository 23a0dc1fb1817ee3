// SPDX-License-Identifier: Apache-2.0
#pragma once

// A slice of somebody's data, kept here, and what it takes to keep it consistent (LAPPS, sections 4 and 5.1).
//
// Automatic consistency: the entry has the stamp of the clock at which it was fetched, and a reader whose
// last acquire is younger does not use it. Many threads read while at most one updates. Where it differs from
// the paper: readers take no lock, and need not know who they are. What is as young as the last acquire of
// any thread of the rank is fresh for all of them, which is one comparison (PrefetchedSlice::read); only else
// does a thread compare with its own.
//
// The bytes are atomic words. Of an element that is one word a reader may meet an update: nobody writes what
// another thread reads between the same acquires, so that what was fetched later has the same. One that is
// several words is read between two looks at a sequence number, so that it is all of one update.
//
// Who changes an entry locks it: to publish what was fetched, or to write through what a thread has put. A
// put may still be in its thread's page cache, where another thread's fetch does not see it. So the entry
// remembers whose puts these are until that thread has released: others do not update meanwhile, but get what
// they need themselves, and that thread goes on writing without a lock. Locking never waits here: who fails
// tries again, and lets others run in between.
//
// Manual consistency: whoever reads uses `data` as it is, and no other thread may read while one updates.

#include <algorithm>
#include <atomic>
#include <memory>
#include <nearfetch/detail/cache/slice.hpp>
#include <span>

#include "base/assert.hpp"
#include "cache/sync_clock/rank_clock.hpp"

namespace nearfetch {

/// Where an entry stands in memory that outlives it; nowhere: in memory of its own.
struct EntryLocation {
    std::byte* data = nullptr;
    StrategySelector* spread = nullptr;  ///< as in PrefetchedSlice
};

class PrefetchEntry : public detail::PrefetchedSlice {
  public:
    /// Counts a thread's releases.
    using Releases = std::shared_ptr<std::atomic<std::uint64_t>>;

    /// Space for the slice, stale. \throws std::bad_alloc
    PrefetchEntry(const detail::Slice& what, bool is_consistent, detail::Packer who_packs,
                  std::unique_ptr<const detail::IndexSet> which = nullptr, const EntryLocation& place = {});
    PrefetchEntry(const PrefetchEntry&) = delete;
    PrefetchEntry& operator=(const PrefetchEntry&) = delete;
    ~PrefetchEntry();

    /// Copies whole elements. \return false: not there for who acquired last at that stamp, or being updated
    bool read(std::uint64_t offset_bytes, void* to, std::uint64_t size_bytes, Stamp acquired) const noexcept;
    bool fresh(Stamp acquired) const noexcept { return stamp.load(std::memory_order_acquire) >= acquired; }

    /// One at a time may change the entry.
    bool try_lock() noexcept { return !locked_.exchange(true, std::memory_order_acquire); }
    void unlock() noexcept { locked_.store(false, std::memory_order_release); }

    // \pre locked by the caller

    /// What it has, packed, as GETs have brought it that were issued at that time.
    void publish(const std::byte* packed, Stamp issued) noexcept;
    // Between a begin and an end nobody reads.
    void begin_runs() noexcept;
    /// Of `data`.
    void publish_piece(std::uint64_t offset_bytes, std::span<const std::byte> run) noexcept {
        store(offset_bytes, run.data(), run.size());
    }
    /// All that it has.
    void publish_packed(const std::byte* packed) noexcept;
    void end_runs() noexcept;
    /// GETs that were issued at that time have brought it to `data`.
    void arrived(Stamp issued) noexcept { stamp.store(issued, std::memory_order_release); }
    /// The same, but it stays stale until somebody who wants to read it reveals it. So it is known whether it
    /// is read at all.
    void arrived_unread(Stamp issued) noexcept { unread_ = issued; }
    /// What `data` has is neither old nor new.
    void lost() noexcept {
        unread_ = 0;
        stamp.store(0, std::memory_order_release);
    }
    /// What has arrived unread is there. \return whether that makes it fresh
    bool reveal(Stamp acquired) noexcept;
    /// Whether it has been read, or wanted, since it was fetched last; true if it never was.
    bool used() const noexcept { return unread_ <= stamp.load(std::memory_order_relaxed); }
    void copy(std::uint64_t offset_bytes, void* to, std::uint64_t size_bytes) const noexcept;
    /// Elements that a thread has put.
    void write(std::uint64_t offset_bytes, const void* from, std::uint64_t size_bytes) noexcept;
    /// What is written has not been released by its thread, which is in that epoch.
    void hold(const Releases& by, std::uint64_t epoch);
    /// Whether there is something that another thread has not released yet.
    bool held_by_other(const Releases& me) const noexcept;
    /// When it was fetched last.
    Stamp fetched() const noexcept { return std::max(unread_, stamp.load(std::memory_order_acquire)); }

  private:
    template <class Use>
    void by_words(Use&& use) const noexcept;
    void store(std::uint64_t offset_bytes, const void* from, std::uint64_t size_bytes) noexcept;

    bool owns_data_;
    Stamp unread_ = 0;  ///< of what arrived unread last
    std::atomic<bool> locked_{false};
    Releases holder_;
    std::uint64_t held_since_ = 0;
};

}  // namespace nearfetch

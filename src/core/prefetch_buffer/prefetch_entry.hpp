// SPDX-License-Identifier: Apache-2.0
#pragma once

// A slice of somebody's data, kept here, and what it takes to keep it consistent (LAPPS, sections 4 and 5.1).
//
// Automatic consistency: the entry has the stamp of the clock at which it was fetched, and a reader whose
// last acquire is younger does not use it. Many threads read while at most one updates. Where it differs from
// the paper: readers take no lock. The bytes are atomic words between two looks at a sequence number; a
// reader that met an update finds out and goes the slow way. So a hit costs two comparisons beside the copy.
//
// Who changes an entry claims it: to publish what was fetched, or to write through what a thread has put. A
// put may still be in its thread's page cache, where another thread's fetch does not see it. So the entry
// remembers whose puts these are until that thread has released: others do not update meanwhile, but get what
// they need themselves. Claiming never waits here: who fails tries again, and lets others run in between.
//
// Manual consistency: whoever reads uses `data` as it is, and no other thread may read while one updates.

#include <algorithm>
#include <atomic>
#include <memory>
#include <nearfetch/slice.hpp>
#include <span>

#include "base/assert.hpp"
#include "core/consistency/rank_clock.hpp"

namespace nearfetch {

class PrefetchEntry : public detail::PrefetchedSlice {
  public:
    /// Counts a thread's releases.
    using Releases = std::shared_ptr<std::atomic<std::uint64_t>>;

    /// Space for the slice, stale. \throws std::bad_alloc
    PrefetchEntry(const detail::Slice& what, bool is_consistent, detail::Packer who_packs,
                  std::unique_ptr<const detail::IndexSet> which = nullptr);
    PrefetchEntry(const PrefetchEntry&) = delete;
    PrefetchEntry& operator=(const PrefetchEntry&) = delete;
    ~PrefetchEntry();

    /// Copies whole elements. \return false: not there for who acquired last at that stamp, or being updated
    bool read(std::uint64_t offset_bytes, void* to, std::uint64_t size_bytes, Stamp acquired) const noexcept;
    bool fresh(Stamp acquired) const noexcept { return stamp_.load(std::memory_order_acquire) >= acquired; }

    /// One at a time may change the entry.
    bool try_claim() noexcept { return !claimed_.exchange(true, std::memory_order_acquire); }
    void unclaim() noexcept { claimed_.store(false, std::memory_order_release); }

    // \pre claimed by the caller

    /// The slice as GETs have brought it that were issued at that time.
    void publish(const std::byte* packed, Stamp issued) noexcept;
    /// Elements of it, between a begin and an end; nobody reads meanwhile.
    void begin_pieces() noexcept;
    void publish_piece(std::uint64_t offset_bytes, std::span<const std::byte> packed) noexcept {
        store(offset_bytes, packed.data(), packed.size());
    }
    void end_pieces() noexcept;
    /// GETs that were issued at that time have brought it to `data`.
    void arrived(Stamp issued) noexcept { stamp_.store(issued, std::memory_order_release); }
    /// The same, but it stays stale until somebody who wants to read it reveals it. So it is known whether it
    /// is read at all.
    void arrived_unread(Stamp issued) noexcept { unread_ = issued; }
    /// What has arrived unread is there. \return whether that makes it fresh
    bool reveal(Stamp acquired) noexcept;
    /// Whether it has been read, or wanted, since it was fetched last; true if it never was.
    bool used() const noexcept { return unread_ <= stamp_.load(std::memory_order_relaxed); }
    void copy(std::uint64_t offset_bytes, void* to, std::uint64_t size_bytes) const noexcept;
    /// Elements that a thread has put.
    void write(std::uint64_t offset_bytes, const void* from, std::uint64_t size_bytes) noexcept;
    /// What is written has not been released by its thread.
    void hold(const Releases& by);
    /// Whether there is something that another thread has not released yet.
    bool held_by_other(const Releases& me) const noexcept;
    /// Changes with each write(): what was fetched before does not have it.
    std::uint64_t writes() const noexcept { return writes_.load(std::memory_order_relaxed); }
    /// When it was fetched last.
    Stamp fetched() const noexcept { return std::max(unread_, stamp_.load(std::memory_order_acquire)); }

  private:
    template <class Use>
    void by_words(Use&& use) const noexcept;
    void store(std::uint64_t offset_bytes, const void* from, std::uint64_t size_bytes) noexcept;

    std::atomic<std::uint64_t> sequence_{0};  ///< odd: being overwritten
    std::atomic<Stamp> stamp_{0};             ///< 0: never fetched
    Stamp unread_ = 0;                        ///< of what was published so last
    std::atomic<bool> claimed_{false};
    std::atomic<std::uint64_t> writes_{0};
    Releases holder_;
    std::uint64_t held_since_ = 0;
};

}  // namespace nearfetch

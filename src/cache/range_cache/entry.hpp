// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/reserved_memory.hpp"
#include "base/types.hpp"
#include "cache/eviction/eviction_policy.hpp"
#include "cache/range_cache/asked_bytes.hpp"
#include "cache/range_cache/storage_buffer.hpp"
#include "cache/sync_clock/sync_clock.hpp"

namespace nearfetch {

/// A cached or pending range of a target's window memory. A hit uses only the first 64 bytes.
class alignas(64) Entry : public EvictionItem {
  public:
    std::uint64_t offset() const noexcept { return offset_; }
    std::uint64_t size() const noexcept { return bytes; }
    ByteRange range() const noexcept { return {offset_, offset_ + bytes}; }
    Rank target() const noexcept { return target_; }
    bool is_pending() const noexcept { return served_ == nullptr; }
    /// Overwritten or invalidated in flight: its data will not enter the cache.
    bool is_invalidated() const noexcept { return invalidated_; }
    /// Admitted by read-ahead.
    bool is_region() const noexcept { return read_ahead_; }
    /// Its buffer memory; nullptr if it will not be stored. A transfer may write here while the entry is
    /// pending.
    std::byte* data() noexcept { return storage_; }

    /// The transfer, for those who wait for it: where it writes the bytes, its number, and whether a request
    /// completes it.
    void set_flight(const std::byte* source, std::uint64_t issued, bool by_request) noexcept {
        source_ = source;
        issued_ = issued;
        by_request_ = by_request;
        copied_ = false;
    }
    /// Whether data() was copied from the source at the transfer's start.
    bool is_copied() const noexcept { return copied_; }
    void note_copied() noexcept { copied_ = true; }
    bool by_request() const noexcept { return by_request_; }
    /// Whether it leads: a request fetches it into its own memory, whatever the program does with that
    /// request.
    bool leads() const noexcept { return by_request_ && source_ == storage_; }
    const std::byte* source() const noexcept { return source_; }
    std::uint64_t issued() const noexcept { return issued_; }
    /// When it was issued, on the node's clock (cache/node_buffer); 0: not known.
    void set_issue_time(std::uint64_t ns) noexcept { issue_time_ = ns; }
    std::uint64_t issue_time() const noexcept { return issue_time_; }

  private:
    friend class RangeCache;
    friend class EntryPool;
    friend class EntryPlace;

    // Still in the first cache line: 32 bytes of EvictionItem and these.
    std::uint64_t offset_ = 0;
    std::byte* served_ = nullptr;  ///< storage_ when cached, nullptr when pending
    Stamp stamp_ = 0;
    Rank target_ = 0;
    Rank clock_ = 0;  ///< whose acquires end it: the target's, or those of read-ahead that expires

    std::byte* storage_ = nullptr;
    union {
        StorageBuffer::Region* region_ = nullptr;  ///< in the best-fit buffer
        std::uint32_t record_;                     ///< its number in the log
    };
    union {
        const std::byte* source_ = nullptr;
        Entry* next_spare_;  ///< in the pool
    };
    std::uint64_t issued_ = 0;
    std::uint64_t issue_time_ = 0;
    AskedBytes* asked_ = nullptr;  ///< of read-ahead that expires
    std::uint32_t id_ = 0;
    bool store_ = false;
    bool invalidated_ = false;
    bool read_ahead_ = false;  ///< admitted by read-ahead
    bool by_request_ = false;
    bool copied_ = false;
    /// Offset of storage_ in a CPU cache line. Entries of read-ahead have the alignment of the target's
    /// memory, so that copies of aligned bytes from their middle are aligned.
    std::uint8_t skew_ = 0;
};

/// Entries by number, at stable addresses, recycled.
class EntryPool {
  public:
    /// \throws Error when address space is exhausted
    explicit EntryPool(std::uint64_t entries_max);
    Entry& operator[](std::uint32_t id) noexcept { return base_[id]; }
    const Entry& operator[](std::uint32_t id) const noexcept { return base_[id]; }
    /// \return nullptr when memory is exhausted
    Entry* acquire() noexcept;
    void release(Entry* entry) noexcept;
    /// The numbers of acquired entries are below; between them are those of released ones, of size 0.
    std::uint32_t end() const noexcept { return static_cast<std::uint32_t>(constructed_); }

  private:
    ReservedMemory memory_;
    Entry* base_;
    std::uint64_t entries_max_;
    std::uint64_t constructed_ = 0;
    Entry* spare_ = nullptr;
};

}  // namespace nearfetch

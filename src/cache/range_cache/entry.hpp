// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <boost/intrusive/list.hpp>
#include <cstddef>
#include <cstdint>

#include "base/reserved_memory.hpp"
#include "base/types.hpp"
#include "cache/eviction/eviction_policy.hpp"
#include "cache/range_cache/storage_buffer.hpp"
#include "cache/sync_clock/sync_clock.hpp"

namespace nearfetch {

/// One cached (or being fetched) range of a target's window memory. What a hit reads and writes is the first
/// 64 bytes.
class alignas(64) Entry : public EvictionItem {
  public:
    std::uint64_t offset() const noexcept { return offset_; }
    std::uint64_t size() const noexcept { return bytes; }
    ByteRange range() const noexcept { return {offset_, offset_ + bytes}; }
    Rank target() const noexcept { return target_; }
    bool is_pending() const noexcept { return served_ == nullptr; }
    /// It was overtaken while in flight (a put, an invalidation): its data will not enter the cache.
    bool is_invalidated() const noexcept { return invalidated_; }
    /// Where its bytes are kept; nullptr when none are (admitted with store = false). A transfer may write
    /// here directly while the entry is pending.
    std::byte* data() noexcept { return storage_; }
    /// What it takes in the buffer: its bytes, and those before them in the first line.
    std::uint64_t stored_bytes() const noexcept { return bytes + skew_; }

    /// What the engine knows of the transfer, for those who wait for it: where it puts the bytes, its number,
    /// and whether a request completes it.
    void set_flight(const std::byte* source, std::uint64_t issued, bool by_request) noexcept {
        source_ = source;
        issued_ = issued;
        by_request_ = by_request;
        copied_ = false;
    }
    /// Whether data() has what was at the source when the transfer had been started.
    bool is_copied() const noexcept { return copied_; }
    void note_copied() noexcept { copied_ = true; }
    bool by_request() const noexcept { return by_request_; }
    /// A request brings it into its own memory, whatever the program does with that request.
    bool leads() const noexcept { return by_request_ && source_ == storage_; }
    const std::byte* source() const noexcept { return source_; }
    std::uint64_t issued() const noexcept { return issued_; }

  private:
    friend class RangeCache;
    friend class EntryPool;

    // Still the first cache line: 40 bytes of EvictionItem and these.
    std::uint64_t offset_ = 0;
    std::byte* served_ = nullptr;  ///< storage_ when cached, nullptr when pending
    Stamp stamp_ = 0;

    Rank target_ = 0;
    std::uint32_t id_ = 0;
    std::byte* storage_ = nullptr;
    StorageBuffer::Region* region_ = nullptr;
    boost::intrusive::list_member_hook<> by_age_;
    union {
        const std::byte* source_ = nullptr;
        Entry* next_spare_;  ///< in the pool
    };
    std::uint64_t issued_ = 0;
    bool store_ = false;
    bool invalidated_ = false;
    bool ahead_ = false;   ///< admitted for more than what was asked for
    bool victim_ = false;  ///< marked while victims are chosen
    bool by_request_ = false;
    bool copied_ = false;
    /// How far into a CPU cache line storage_ is. Entries that are more than what was asked for lie there as
    /// in the target's memory, so that a get of aligned bytes out of their middle is an aligned copy.
    std::uint8_t skew_ = 0;
};

/// Entries by number, at stable addresses, recycled.
class EntryPool {
  public:
    /// \throws Error when the address space is not to be had
    explicit EntryPool(std::uint64_t entries_max);
    Entry& operator[](std::uint32_t id) noexcept { return base_[id]; }
    const Entry& operator[](std::uint32_t id) const noexcept { return base_[id]; }
    /// \return nullptr when there is no memory for more
    Entry* acquire() noexcept;
    void release(Entry* entry) noexcept;

  private:
    ReservedMemory memory_;
    Entry* base_;
    std::uint64_t entries_max_;
    std::uint64_t constructed_ = 0;
    Entry* spare_ = nullptr;
};

}  // namespace nearfetch

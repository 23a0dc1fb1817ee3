// SPDX-License-Identifier: Apache-2.0
#pragma once

// Where the payloads of entries lie, and how room is made for a newcomer: in a log (entry_log.cpp), or in
// 001's best-fit buffer with its single victim (entry_best_fit.cpp).

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>

#include "cache/range_cache/config.hpp"
#include "cache/range_cache/entry.hpp"
#include "cache/range_cache/log_storage.hpp"

namespace nearfetch {

/// Access to where an entry lies, for storages.
class EntryPlace {
  public:
    static StorageBuffer::Region*& region(Entry& entry) noexcept { return entry.region_; }
    static const StorageBuffer::Region* region(const Entry& entry) noexcept { return entry.region_; }
    static std::uint32_t& record(Entry& entry) noexcept { return entry.record_; }
    static std::uint32_t record(const Entry& entry) noexcept { return entry.record_; }
    static std::uint32_t id(const Entry& entry) noexcept { return entry.id_; }
    static LogStorage::Payload payload(const Entry& entry) noexcept { return {entry.bytes, entry.skew_}; }
    static void set(Entry& entry, std::byte* data) noexcept {
        entry.storage_ = data;
        if (entry.served_ != nullptr) entry.served_ = data;
    }
};

constexpr double lowest_of_all = -std::numeric_limits<double>::infinity();

/// The cache, as its storage sees it.
class EntryOwner {
  public:
    /// What is stale has the lowest score.
    virtual double score_now(const Entry& entry) const = 0;
    /// Removes an entry to make room. \pre it is not pending
    virtual void evict(Entry& entry) noexcept = 0;
    /// Removes stale entries, if there may be any, of the next few; stops where so many bytes fit.
    virtual void reap_stale(std::uint32_t most, std::uint64_t wanted_bytes) noexcept = 0;
    static constexpr std::uint32_t most_reaped = 256;  ///< where room is needed
    /// The victim of 001, from a sample of the index's slots; nullptr if there is none.
    virtual Entry* sample_slots() noexcept = 0;

  protected:
    ~EntryOwner() = default;
};

class EntryStorage {
  public:
    virtual ~EntryStorage() = default;

    /// Whether place() would find room for so many bytes, perhaps but for padding.
    virtual bool fits(std::uint64_t bytes) const noexcept = 0;
    /// Gives a pending entry memory, which stays where it is while the entry is pending.
    /// \return false if there is no room, or no memory for descriptors
    virtual bool place(Entry& entry) noexcept = 0;
    virtual void release(Entry& entry) noexcept = 0;

    /// Called once for each newcomer.
    virtual void begin_admission() {}
    /// The score that a newcomer without room has to exceed, where newcomers are weighed.
    virtual double eviction_limit(const Entry& /*newcomer*/) const { return lowest_of_all; }
    /// Removes entries, and then does what place() does.
    /// \param limit eviction_limit()
    virtual bool make_room(Entry& newcomer, double limit) = 0;
    /// Removes what is worth little, where this helps later newcomers.
    virtual void make_room_ahead(std::uint64_t /*bytes*/) {}

    /// Changes the size; may move entries that are not pending. `evict` is called with those for which there
    /// is no room, and has to release() them.
    /// \return false, with the size unchanged, if an entry in flight, the bounds or memory do not allow it
    virtual bool resize(std::uint64_t bytes, const std::function<void(Entry&)>& evict) = 0;
    /// Whether all of the size is usable.
    virtual bool has_grown() const noexcept { return true; }
    virtual std::uint64_t size_bytes() const noexcept = 0;
    virtual std::uint64_t free_bytes() const noexcept = 0;
    /// d_c of 001.
    virtual std::uint64_t adjacent_free_bytes(const Entry&) const noexcept { return 0; }
    /// What an entry takes; 0 if the storage does not have it where it should.
    virtual std::uint64_t taken_bytes(const Entry& entry) const noexcept = 0;
    /// Checks everything. Aborts with a message on a fault.
    virtual void check_invariants() const = 0;
};

/// \param bytes size at first
/// \throws Error when address space or memory is exhausted
std::unique_ptr<EntryStorage> make_entry_log(std::uint64_t bytes, const RangeCacheConfig& config,
                                             EntryPool& pool, EntryOwner& owner);
std::unique_ptr<EntryStorage> make_best_fit(std::uint64_t bytes, const RangeCacheConfig& config,
                                            EntryOwner& owner);

}  // namespace nearfetch

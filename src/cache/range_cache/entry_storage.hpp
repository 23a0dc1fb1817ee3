// SPDX-License-Identifier: Apache-2.0
#pragma once

// Where the payloads of entries lie: in a log, or in 001's best-fit buffer.

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include "cache/range_cache/log_storage.hpp"

namespace nearfetch {

class Entry;
class EntryPool;

class EntryStorage {
  public:
    virtual ~EntryStorage() = default;

    /// Whether place() would find room for so many bytes, perhaps but for padding.
    virtual bool fits(std::uint64_t bytes) const noexcept = 0;
    /// Whether it would if nothing else were there.
    virtual bool could_fit(std::uint64_t bytes) const noexcept = 0;
    /// Gives a pending entry memory, which stays where it is while the entry is pending.
    /// \return false if there is no room, or no memory for descriptors
    virtual bool place(Entry& entry) noexcept = 0;
    virtual void release(Entry& entry) noexcept = 0;

    /// Changes the size; may move entries that are not pending. `evict` is called with those for which there
    /// is no room, and has to release() them.
    /// \return false, with the size unchanged, if an entry in flight, the bounds or memory do not allow it
    virtual bool resize(std::uint64_t bytes, const std::function<void(Entry&)>& evict) = 0;
    virtual std::uint64_t size_bytes() const noexcept = 0;
    virtual std::uint64_t free_bytes() const noexcept = 0;
    /// d_c of 001.
    virtual std::uint64_t adjacent_free_bytes(const Entry&) const noexcept { return 0; }
    /// The log, if it is that; it knows entries by their numbers.
    virtual LogStorage* log() noexcept { return nullptr; }
    /// What an entry takes; 0 if the storage does not have it where it should.
    virtual std::uint64_t taken_bytes(const Entry& entry) const noexcept = 0;
    /// Checks everything. Aborts with a message on a fault.
    virtual void check_invariants() const = 0;
};

/// \param name "log" or "best_fit" \throws Error when address space or memory is exhausted
std::unique_ptr<EntryStorage> make_entry_storage(std::string_view name, std::uint64_t bytes,
                                                 std::uint64_t bytes_max, EntryPool& pool);

}  // namespace nearfetch

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>

#include "cache/prefetch_buffer/prefetch_entry.hpp"
#include "pgas/context.hpp"

namespace nearfetch::detail {

inline PrefetchEntry& entry_of(PrefetchedSlice& slice) { return static_cast<PrefetchEntry&>(slice); }

/// Exclusive right to change an entry. Yields while another thread has it.
class EntryLock {
  public:
    EntryLock(PrefetchEntry& entry, pgas::Context& context) : entry_(&entry) {
        while (!entry.try_lock())
            context.transport().yield();
    }
    /// Adopts the lock of an entry that is locked.
    explicit EntryLock(PrefetchEntry& entry) : entry_(&entry) {}
    EntryLock(EntryLock&& other) noexcept : entry_(std::exchange(other.entry_, nullptr)) {}
    EntryLock& operator=(EntryLock&&) = delete;
    ~EntryLock() {
        if (entry_ != nullptr) entry_->unlock();
    }
    /// Leaves the entry locked.
    void keep() { entry_ = nullptr; }

  private:
    PrefetchEntry* entry_;
};

}  // namespace nearfetch::detail

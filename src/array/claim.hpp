// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>

#include "cache/prefetch_buffer/prefetch_entry.hpp"
#include "pgas/context.hpp"

namespace nearfetch::detail {

inline PrefetchEntry& entry_of(PrefetchedSlice& slice) { return static_cast<PrefetchEntry&>(slice); }

/// While it lives nobody else changes the entry.
class Claim {
  public:
    Claim(PrefetchEntry& entry, pgas::Context& context) : entry_(&entry) {
        while (!entry.try_claim())
            context.transport().yield();
    }
    /// Of an entry that is claimed.
    explicit Claim(PrefetchEntry& entry) : entry_(&entry) {}
    Claim(Claim&& other) noexcept : entry_(std::exchange(other.entry_, nullptr)) {}
    Claim& operator=(Claim&&) = delete;
    ~Claim() {
        if (entry_ != nullptr) entry_->unclaim();
    }
    /// It stays claimed.
    void keep() { entry_ = nullptr; }

  private:
    PrefetchEntry* entry_;
};

}  // namespace nearfetch::detail

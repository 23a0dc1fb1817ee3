// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "base/private_pages.hpp"
#include "cache/node_buffer/version_store.hpp"

namespace nearfetch {

/// Memory of a prefetched slice, at an address that never changes. A large slice may show a version that
/// ranks of the node share. What this rank writes then stays its own.
class EntryMemory {
  public:
    /// Memory that is zero. \param given to be used in place of memory of its own, if it is not nullptr
    /// \throws std::bad_alloc
    EntryMemory(std::uint64_t bytes, std::byte* given);
    ~EntryMemory();
    EntryMemory(const EntryMemory&) = delete;
    EntryMemory& operator=(const EntryMemory&) = delete;

    std::byte* data() const noexcept { return data_; }
    /// Shows a complete version in place of what was there, and uses it as long.
    /// \return false, with nothing changed: copy it
    bool show(VersionStore::Version& version, const FilePlace& place) noexcept;
    /// All bytes were written since show(). \param version they are a copy of it: it is kept for others
    void own(VersionStore::Version version = {}) noexcept {
        is_shown_.store(false, std::memory_order_relaxed);
        version_ = std::move(version);
    }
    /// Whether it shows a version. Thread-safe.
    bool is_shown() const noexcept { return is_shown_.load(std::memory_order_relaxed); }

  private:
    VersionStore::Version version_;
    std::optional<PrivatePages> pages_;
    bool is_allocated_ = false;
    std::byte* data_;
    std::atomic<bool> is_shown_{false};
};

}  // namespace nearfetch

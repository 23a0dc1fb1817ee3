// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "base/private_pages.hpp"
#include "base/types.hpp"
#include "cache/node_buffer/version_store.hpp"

namespace nearfetch {

/// Memory of a prefetched slice, at an address that never changes. The whole pages in a large one may show a
/// version that ranks of the node share. What this rank writes then stays its own.
class EntryMemory {
  public:
    /// Memory that is zero, if it is its own. \param given bytes of PrivatePages, to be used in place of
    /// that, if it is not nullptr. Afterwards they may still show a version that is there no more.
    /// \throws std::bad_alloc
    EntryMemory(std::uint64_t bytes, std::byte* given);
    ~EntryMemory();
    EntryMemory(const EntryMemory&) = delete;
    EntryMemory& operator=(const EntryMemory&) = delete;

    std::byte* data() const noexcept { return data_; }
    /// Shows what it can of a complete version in place of what was there, and uses it as long. The rest,
    /// before and behind, is to be copied.
    /// \return which bytes; none, with nothing changed, if that is impossible
    ByteRange show(VersionStore::Version& version, const FilePlace& place) noexcept;
    /// All bytes that are read were written since show(). \param version they are a copy of it: it is kept
    /// for others
    void own(VersionStore::Version version = {}) noexcept {
        is_shown_.store(false, std::memory_order_relaxed);
        version_ = std::move(version);
    }
    /// Whether it shows a version. Thread-safe.
    bool is_shown() const noexcept { return is_shown_.load(std::memory_order_relaxed); }

  private:
    VersionStore::Version version_;
    std::uint64_t bytes_;
    std::optional<PrivatePages> pages_;  ///< of its own, for a large slice
    bool is_allocated_ = false;
    std::byte* data_;
    std::atomic<bool> is_shown_{false};
};

}  // namespace nearfetch

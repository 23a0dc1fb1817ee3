// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace nearfetch {

/// Address space that is reserved once and of which a growing or shrinking front part is usable memory, so
/// that growing never moves what is stored and shrinking really gives pages back. Unused address space costs
/// no memory and is not counted by strict overcommit accounting.
class ReservedMemory {
  public:
    /// Reserves `bytes_max` bytes of address space (rounded up to whole pages; from 2 MiB on it begins at
    /// a multiple of 2 MiB, as large pages do); none of it is usable yet.
    /// \throws Error when the address space is not to be had.
    explicit ReservedMemory(std::uint64_t bytes_max);
    ~ReservedMemory();
    ReservedMemory(const ReservedMemory&) = delete;
    ReservedMemory& operator=(const ReservedMemory&) = delete;

    /// Makes the first `bytes` usable; new ones read as zero, those beyond are returned to the system.
    /// \return false, and nothing changed, when the system has no memory for it. \pre bytes <= bytes_max
    bool resize(std::uint64_t bytes) noexcept;

    /// Has the system provide the first `bytes` of what is usable now, and a little more, not page by page
    /// when they are first written. Where it cannot, nothing is different.
    void populate(std::uint64_t bytes) noexcept {
        if (bytes > populated_bytes_) populate_further(bytes);
    }

    /// Asks the system for large pages, where it has them: memory that is read here and there then costs
    /// fewer look-ups of addresses, and up to one such page more.
    void prefer_large_pages() noexcept;

    std::byte* data() noexcept { return data_; }
    const std::byte* data() const noexcept { return data_; }
    std::uint64_t size_bytes() const noexcept { return size_bytes_; }
    std::uint64_t reserved_bytes() const noexcept { return reserved_bytes_; }

  private:
    void populate_further(std::uint64_t bytes) noexcept;

    std::byte* data_ = nullptr;
    std::uint64_t reserved_bytes_ = 0;
    std::uint64_t usable_bytes_ = 0;  ///< size_bytes_ in whole pages
    std::uint64_t size_bytes_ = 0;
    std::uint64_t populated_bytes_ = 0;
};

}  // namespace nearfetch

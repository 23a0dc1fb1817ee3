// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace nearfetch {

/// Reserved address space with a usable front part that grows and shrinks. Growing never moves what is
/// stored, and shrinking returns pages. Unused address space costs no memory and is not counted by strict
/// overcommit accounting.
class ReservedMemory {
  public:
    /// Reserves `bytes_max` bytes of address space in whole pages, aligned to large pages from 2 MiB on.
    /// Nothing is usable yet.
    /// \throws Error when address space is exhausted
    explicit ReservedMemory(std::uint64_t bytes_max);
    ~ReservedMemory();
    ReservedMemory(const ReservedMemory&) = delete;
    ReservedMemory& operator=(const ReservedMemory&) = delete;

    /// Makes the first `bytes` usable. New bytes are zero; bytes beyond are returned to the system.
    /// \return false, with nothing changed, when memory is exhausted. \pre bytes <= bytes_max
    bool resize(std::uint64_t bytes) noexcept;

    /// Populates the first `bytes` of usable memory and a little more at once, not page by page at the first
    /// write. A failure has no effect.
    void populate(std::uint64_t bytes) noexcept {
        if (bytes > populated_bytes_) populate_further(bytes);
    }

    /// Asks for large pages in these bytes, which reduce TLB misses of random reads. What is populated
    /// already gets them in the background. In what is not, a first write may wait for one for milliseconds.
    void prefer_large_pages(std::uint64_t from_bytes, std::uint64_t to_bytes) noexcept;

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

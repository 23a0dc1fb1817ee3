// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace nearfetch {

/// Bytes of a file that this process has open.
struct FilePlace {
    int descriptor = -1;
    std::uint64_t offset = 0;
};

/// Memory in whole pages of the system, at an address that never changes. It may show bytes of a file, which
/// other processes show, too, without a copy. What is written there is seen by this process only: the system
/// copies a page at the first write to it.
class PrivatePages {
  public:
    /// Memory that is zero. \throws std::bad_alloc
    explicit PrivatePages(std::uint64_t bytes);
    ~PrivatePages();
    PrivatePages(const PrivatePages&) = delete;
    PrivatePages& operator=(const PrivatePages&) = delete;

    std::byte* data() const noexcept { return data_; }

  private:
    std::uint64_t bytes_;
    std::byte* data_;
};

/// How many bytes of its page stand before an address.
std::uint64_t offset_in_page(const std::byte* address) noexcept;
/// The whole pages among these bytes.
std::span<std::byte> whole_pages(std::span<std::byte> bytes) noexcept;

/// Shows bytes of a file in place of what was there. A thread that reads meanwhile finds the old bytes or the
/// new ones. \pre whole pages of PrivatePages; nobody writes to the file's bytes as long as they are read
/// here
/// \return false, with nothing changed: the system refuses, or `place` is inside of a page
bool show_file(std::span<std::byte> pages, const FilePlace& place) noexcept;

/// Gives the memory of these bytes back to the system: in the file and all that have it mapped they are zero.
/// \pre whole pages, mapped from a file of memory
void return_file_pages(std::span<std::byte> pages) noexcept;

}  // namespace nearfetch

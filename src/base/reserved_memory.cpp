// SPDX-License-Identifier: Apache-2.0
#include "base/reserved_memory.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <string>

#include "base/assert.hpp"
#include "base/error.hpp"

namespace nearfetch {

namespace {

/// Limit of memory populated beyond the request, to amortise system calls.
constexpr std::uint64_t most_extra_bytes = 64 << 10;

/// Size of a large page on most systems.
constexpr std::uint64_t large_page_bytes = 2 << 20;

std::uint64_t page_bytes() noexcept {
    static const auto bytes = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
    return bytes;
}

std::uint64_t whole_pages(std::uint64_t bytes) noexcept {
    const std::uint64_t page = page_bytes();
    return (bytes + page - 1) / page * page;
}

[[noreturn]] void refuse(std::uint64_t bytes, const char* why) {
    throw Error(
        "cannot reserve " + std::to_string(bytes) + " bytes of address space for a cache", why,
        "lower memory_bytes, buffer_bytes, index_entries or a page cache's capacity_bytes, or raise the "
        "process's address space limit");
}

}  // namespace

ReservedMemory::ReservedMemory(std::uint64_t bytes_max) {
    if (bytes_max > std::numeric_limits<std::size_t>::max() / 2)
        refuse(bytes_max, "no address space is that large");
    reserved_bytes_ = whole_pages(bytes_max == 0 ? 1 : bytes_max);
    // Alignment, so that the number of large pages does not depend on the address.
    const std::uint64_t spare_bytes = reserved_bytes_ < large_page_bytes ? 0 : large_page_bytes;
    void* mapped = mmap(nullptr, reserved_bytes_ + spare_bytes, PROT_NONE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapped == MAP_FAILED) refuse(bytes_max, std::strerror(errno));
    data_ = static_cast<std::byte*>(mapped);
    if (spare_bytes == 0) return;
    const std::uint64_t skip = -reinterpret_cast<std::uintptr_t>(data_) % large_page_bytes;
    if (skip != 0) munmap(data_, skip);
    data_ += skip;
    munmap(data_ + reserved_bytes_, spare_bytes - skip);
}

ReservedMemory::~ReservedMemory() { munmap(data_, reserved_bytes_); }

bool ReservedMemory::resize(std::uint64_t bytes) noexcept {
    NF_EXPECT(bytes <= reserved_bytes_);
    const std::uint64_t usable = whole_pages(bytes);
    if (usable > usable_bytes_) {
        if (mprotect(data_ + usable_bytes_, usable - usable_bytes_, PROT_READ | PROT_WRITE) != 0)
            return false;
    } else if (usable < usable_bytes_) {
        // Mapping again returns the pages and their commit charge, which madvise and mprotect would keep.
        void* mapped = mmap(data_ + usable, usable_bytes_ - usable, PROT_NONE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
        if (mapped == MAP_FAILED) return false;
        populated_bytes_ = std::min(populated_bytes_, usable);
    }
    usable_bytes_ = usable;
    size_bytes_ = bytes;
    return true;
}

void ReservedMemory::prefer_large_pages(std::uint64_t from_bytes, std::uint64_t to_bytes) noexcept {
#ifdef MADV_HUGEPAGE
    const std::uint64_t from = whole_pages(from_bytes);
    if (from < to_bytes) madvise(data_ + from, to_bytes - from, MADV_HUGEPAGE);
#endif
}

void ReservedMemory::populate_further(std::uint64_t bytes) noexcept {
    const std::uint64_t end = std::min(whole_pages(bytes + std::min(bytes, most_extra_bytes)), usable_bytes_);
    if (end <= populated_bytes_) return;
#ifdef MADV_POPULATE_WRITE
    constexpr int advice = MADV_POPULATE_WRITE;
#else
    constexpr int advice = 23;  // since Linux 5.14; older kernels return an error
#endif
    madvise(data_ + populated_bytes_, end - populated_bytes_, advice);
    populated_bytes_ = end;
}

}  // namespace nearfetch

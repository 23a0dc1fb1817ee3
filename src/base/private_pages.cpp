// SPDX-License-Identifier: Apache-2.0
#include "base/private_pages.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <bit>
#include <new>

#include "base/assert.hpp"

namespace nearfetch {

namespace {

constexpr int readable = PROT_READ | PROT_WRITE;

std::uint64_t page_bytes() noexcept {
    static const auto bytes = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
    return bytes;
}

}  // namespace

PrivatePages::PrivatePages(std::uint64_t bytes) : bytes_(bytes) {
    void* const mapped = mmap(nullptr, bytes, readable, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) throw std::bad_alloc();
    data_ = static_cast<std::byte*>(mapped);
}

PrivatePages::~PrivatePages() { munmap(data_, bytes_); }

std::uint64_t offset_in_page(const std::byte* address) noexcept {
    return std::bit_cast<std::uintptr_t>(address) % page_bytes();
}

std::span<std::byte> whole_pages(std::span<std::byte> bytes) noexcept {
    const std::uint64_t before = (page_bytes() - offset_in_page(bytes.data())) % page_bytes();
    if (before >= bytes.size()) return {};
    return bytes.subspan(before, (bytes.size() - before) / page_bytes() * page_bytes());
}

// At a given address mmap() ends what was there before it can be refused. So the mapping is made elsewhere,
// and then moved.
bool show_file(std::span<std::byte> pages, const FilePlace& place) noexcept {
    void* const mapped = mmap(nullptr, pages.size(), readable, MAP_PRIVATE, place.descriptor,
                              static_cast<off_t>(place.offset));
    if (mapped == MAP_FAILED) return false;
    if (mremap(mapped, pages.size(), pages.size(), MREMAP_MAYMOVE | MREMAP_FIXED, pages.data()) != MAP_FAILED)
        return true;
    munmap(mapped, pages.size());
    // Too many mappings are refused before anything is changed.
    require_invariant(msync(pages.data(), pages.size(), MS_ASYNC) == 0, "private pages",
                      "the system has ended a mapping that it could not replace");
    return false;
}

void return_file_pages(std::span<std::byte> pages) noexcept {
    madvise(pages.data(), pages.size(), MADV_REMOVE);
}

}  // namespace nearfetch

// SPDX-License-Identifier: Apache-2.0
#include "base/private_pages.hpp"

#include <sys/mman.h>

#include <new>

#include "base/assert.hpp"

namespace nearfetch {

namespace {

constexpr int readable = PROT_READ | PROT_WRITE;

}  // namespace

PrivatePages::PrivatePages(std::uint64_t bytes) : bytes_(bytes) {
    void* const mapped = mmap(nullptr, bytes, readable, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) throw std::bad_alloc();
    data_ = static_cast<std::byte*>(mapped);
}

PrivatePages::~PrivatePages() { munmap(data_, bytes_); }

// A mapping that is refused at a given address may have ended what was there. So it is made elsewhere, and
// then moved.
bool PrivatePages::show(const FilePlace& place) noexcept {
    void* const mapped =
        mmap(nullptr, bytes_, readable, MAP_PRIVATE, place.descriptor, static_cast<off_t>(place.offset));
    if (mapped == MAP_FAILED) return false;
    void* const moved = mremap(mapped, bytes_, bytes_, MREMAP_MAYMOVE | MREMAP_FIXED, data_);
    require_invariant(moved == data_, "private pages", "the system does not move a mapping");
    return true;
}

void return_file_pages(std::span<std::byte> pages) noexcept {
    madvise(pages.data(), pages.size(), MADV_REMOVE);
}

}  // namespace nearfetch

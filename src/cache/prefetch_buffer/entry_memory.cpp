// SPDX-License-Identifier: Apache-2.0
#include "cache/prefetch_buffer/entry_memory.hpp"

#include <cstring>
#include <new>
#include <span>
#include <utility>

namespace nearfetch {

namespace {

constexpr std::align_val_t alignment{64};

}  // namespace

EntryMemory::EntryMemory(std::uint64_t bytes, std::byte* given) : bytes_(bytes), data_(given) {
    if (given != nullptr) return;
    if (bytes >= VersionStore::least_bytes) {
        data_ = pages_.emplace(bytes).data();
        return;
    }
    data_ = static_cast<std::byte*>(::operator new(bytes, alignment));
    is_allocated_ = true;
    std::memset(data_, 0, bytes);
}

EntryMemory::~EntryMemory() {
    pages_.reset();
    version_.give_up(VersionStore::Version::Memory::returned);
    if (is_allocated_) ::operator delete(data_, alignment);
}

ByteRange EntryMemory::show(VersionStore::Version& version, const FilePlace& place) noexcept {
    if (is_allocated_) return {};
    const std::span<std::byte> pages = whole_pages({data_, bytes_});
    if (pages.empty()) return {};
    const auto begin = static_cast<std::uint64_t>(pages.data() - data_);
    if (!show_file(pages, {place.descriptor, place.offset + begin})) return {};
    version_ = std::move(version);
    is_shown_.store(true, std::memory_order_relaxed);
    return {begin, begin + pages.size()};
}

}  // namespace nearfetch

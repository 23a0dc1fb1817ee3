// SPDX-License-Identifier: Apache-2.0
#include "cache/prefetch_buffer/entry_memory.hpp"

#include <cstring>
#include <new>
#include <utility>

namespace nearfetch {

namespace {

constexpr std::align_val_t alignment{64};

}  // namespace

EntryMemory::EntryMemory(std::uint64_t bytes, std::byte* given) : data_(given) {
    if (given == nullptr && bytes >= VersionStore::least_bytes) {
        data_ = pages_.emplace(bytes).data();
        return;
    }
    if (given == nullptr) {
        data_ = static_cast<std::byte*>(::operator new(bytes, alignment));
        is_allocated_ = true;
    }
    std::memset(data_, 0, bytes);
}

EntryMemory::~EntryMemory() {
    pages_.reset();
    version_.give_up(VersionStore::Version::Memory::returned);
    if (is_allocated_) ::operator delete(data_, alignment);
}

bool EntryMemory::show(VersionStore::Version& version, const FilePlace& place) noexcept {
    if (!pages_ || !pages_->show(place)) return false;
    version_ = std::move(version);
    is_shown_.store(true, std::memory_order_relaxed);
    return true;
}

}  // namespace nearfetch

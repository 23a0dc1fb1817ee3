// SPDX-License-Identifier: Apache-2.0
#include "core/prefetch_buffer/prefetch_buffer.hpp"

namespace nearfetch {

PrefetchEntry* PrefetchBuffer::add(Hook hook, const detail::Slice& slice, bool consistent,
                                   detail::Packer packer) {
    for (Hooked& other : entries_)
        if (other.hook == hook && other.entry.consistent == consistent && other.entry.slice.contains(slice)) {
            if (packer == detail::Packer::owner) other.entry.packer = packer;  // what promises less holds
            return &other.entry;
        }
    try {
        entries_.emplace_back(hook, slice, consistent, packer);
    } catch (const std::bad_alloc&) {
        return nullptr;
    }
    bytes_ += slice.bytes();
    return &entries_.back().entry;
}

void PrefetchBuffer::evict(Hook hook) noexcept {
    entries_.remove_if([&](const Hooked& other) {
        if (other.hook != hook) return false;
        bytes_ -= other.entry.slice.bytes();
        return true;
    });
}

}  // namespace nearfetch

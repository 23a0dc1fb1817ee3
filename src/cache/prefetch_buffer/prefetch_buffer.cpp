// SPDX-License-Identifier: Apache-2.0
#include "cache/prefetch_buffer/prefetch_buffer.hpp"

#include <algorithm>
#include <utility>

namespace nearfetch {

namespace {

bool has_all(const PrefetchEntry& entry, const detail::Slice& slice, const detail::IndexSet* only) {
    if (entry.only == nullptr) return entry.slice.contains(slice);
    return only != nullptr && entry.slice == slice && std::ranges::equal(entry.only->text(), only->text());
}

}  // namespace

PrefetchEntry* PrefetchBuffer::add(Hook hook, const detail::Slice& slice, bool consistent,
                                   detail::Packer packer, std::unique_ptr<const detail::IndexSet> only,
                                   const EntryLocation& place) {
    for (Hooked& other : entries_)
        if (other.hook == hook && other.entry.consistent == consistent &&
            has_all(other.entry, slice, only.get())) {
            if (packer == detail::Packer::owner) other.entry.packer = packer;  // what promises less holds
            return &other.entry;
        }
    try {
        entries_.emplace_back(hook, slice, consistent, packer, std::move(only), place);
    } catch (const std::bad_alloc&) {
        return nullptr;
    }
    bytes_ += entries_.back().entry.bytes();
    return &entries_.back().entry;
}

void PrefetchBuffer::evict(Hook hook) noexcept {
    entries_.remove_if([&](const Hooked& other) {
        if (other.hook != hook) return false;
        bytes_ -= other.entry.bytes();
        return true;
    });
}

}  // namespace nearfetch

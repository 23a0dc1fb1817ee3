// SPDX-License-Identifier: Apache-2.0
#include "cache/prefetch_buffer/prefetch_buffer.hpp"

#include <algorithm>
#include <utility>

namespace nearfetch {

namespace {

bool has_all(const PrefetchEntry& entry, const detail::Slice& slice, const detail::IndexSet* only) {
    if (entry.only == nullptr) return entry.slice.contains(slice);
    return only != nullptr && entry.slice == slice &&
           std::ranges::equal(entry.only->encoded(), only->encoded());
}

}  // namespace

PrefetchEntry* PrefetchBuffer::add(ArrayKey array, const detail::Slice& slice, bool consistent,
                                   detail::Packer packer, std::unique_ptr<const detail::IndexSet> only,
                                   const EntryLocation& location) {
    for (ArrayEntry& other : entries_)
        if (other.array == array && other.entry.consistent == consistent &&
            has_all(other.entry, slice, only.get())) {
            if (packer == detail::Packer::owner) other.entry.packer = packer;  // the weaker promise holds
            return &other.entry;
        }
    try {
        entries_.emplace_back(array, slice, consistent, packer, std::move(only), location);
    } catch (const std::bad_alloc&) {
        return nullptr;
    }
    bytes_ += entries_.back().entry.bytes();
    return &entries_.back().entry;
}

}  // namespace nearfetch

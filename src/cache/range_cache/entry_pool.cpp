// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>
#include <new>

#include "base/error.hpp"
#include "cache/range_cache/entry.hpp"

namespace nearfetch {

namespace {

constexpr std::uint64_t step_entries = 512;

std::uint64_t pool_bytes(std::uint64_t entries) {
    if (entries > std::numeric_limits<std::uint32_t>::max() - 1)
        throw Error("too many index entries", std::to_string(entries) + " do not fit into 32 bits",
                    "lower memory_bytes or index_entries");
    return entries * sizeof(Entry);
}

}  // namespace

EntryPool::EntryPool(std::uint64_t entries_max)
    : memory_(pool_bytes(entries_max)),
      base_(reinterpret_cast<Entry*>(memory_.data())),
      entries_max_(entries_max) {}

Entry* EntryPool::acquire() noexcept {
    if (spare_ != nullptr) {
        Entry* entry = spare_;
        spare_ = entry->next_spare_;
        const std::uint32_t id = entry->id_;
        entry = new (entry) Entry;
        entry->id_ = id;
        return entry;
    }
    if (constructed_ == entries_max_) return nullptr;
    if ((constructed_ + 1) * sizeof(Entry) > memory_.size_bytes()) {
        const std::uint64_t wanted = std::min(entries_max_, constructed_ + step_entries);
        if (!memory_.resize(wanted * sizeof(Entry))) return nullptr;
        memory_.populate(wanted * sizeof(Entry));
    }
    Entry* entry = new (base_ + constructed_) Entry;
    entry->id_ = static_cast<std::uint32_t>(constructed_++);
    return entry;
}

void EntryPool::release(Entry* entry) noexcept {
    entry->bytes = 0;
    entry->next_spare_ = spare_;
    spare_ = entry;
}

}  // namespace nearfetch

// SPDX-License-Identifier: Apache-2.0
#include "cache/range_cache/storage_buffer.hpp"

#include <algorithm>
#include <string>

#include "base/assert.hpp"
#include "base/error.hpp"

namespace nearfetch {

namespace {

constexpr std::size_t slab_regions = 256;

std::uint64_t whole_lines(std::uint64_t bytes) noexcept {
    return bytes / StorageBuffer::line_bytes * StorageBuffer::line_bytes;
}

}  // namespace

StorageBuffer::StorageBuffer(std::uint64_t bytes, std::uint64_t bytes_max)
    : memory_(std::max(whole_lines(bytes), whole_lines(bytes_max))) {
    size_bytes_ = whole_lines(bytes);
    NF_EXPECT(size_bytes_ > 0);
    if (!memory_.resize(size_bytes_))
        throw Error("no memory for a cache buffer of " + std::to_string(size_bytes_) + " bytes",
                    "the system refused it", "lower buffer_bytes");
    Region* all = new_region();
    all->bytes = size_bytes_;
    first_ = last_ = all;
    free_.insert(*all);
    free_bytes_ = size_bytes_;
}

StorageBuffer::~StorageBuffer() { free_.clear(); }

StorageBuffer::Region* StorageBuffer::new_region() {
    if (spare_ == nullptr) {
        slabs_.push_back(std::make_unique<Region[]>(slab_regions));
        for (std::size_t i = 0; i < slab_regions; ++i)
            recycle(&slabs_.back()[i]);
    }
    Region* region = spare_;
    spare_ = region->next;
    *region = Region{};
    return region;
}

void StorageBuffer::recycle(Region* region) noexcept {
    region->next = spare_;
    spare_ = region;
}

void StorageBuffer::unlink(Region* region) noexcept {
    (region->previous != nullptr ? region->previous->next : first_) = region->next;
    (region->next != nullptr ? region->next->previous : last_) = region->previous;
}

void StorageBuffer::link_after(Region* region, Region* where) noexcept {
    region->previous = where;
    region->next = where->next;
    (where->next != nullptr ? where->next->previous : last_) = region;
    where->next = region;
}

void StorageBuffer::refresh_adjacent(Region* region) noexcept {
    if (region == nullptr || region->is_free()) return;
    region->adjacent_free = 0;
    if (region->previous != nullptr && region->previous->is_free())
        region->adjacent_free += region->previous->bytes;
    if (region->next != nullptr && region->next->is_free()) region->adjacent_free += region->next->bytes;
}

StorageBuffer::Region* StorageBuffer::allocate(std::uint64_t payload_bytes, void* owner,
                                               std::uint64_t limit) {
    NF_EXPECT(owner != nullptr);
    const std::uint64_t bytes = footprint(payload_bytes);
    Region key;
    key.bytes = bytes;
    auto best = free_.lower_bound(key);
    while (best != free_.end() && best->offset + bytes > limit)
        ++best;
    if (best == free_.end()) return nullptr;
    Region* region = &*best;
    Region* rest = region->bytes > bytes ? new_region() : nullptr;  // may throw: nothing has changed yet
    free_.erase(best);
    if (rest != nullptr) {
        rest->offset = region->offset + bytes;
        rest->bytes = region->bytes - bytes;
        link_after(rest, region);
        free_.insert(*rest);
        region->bytes = bytes;
    }
    // Touched while the network is busy, not when the data arrives.
    memory_.populate(region->offset + bytes);
    region->owner = owner;
    free_bytes_ -= bytes;
    refresh_adjacent(region);
    refresh_adjacent(region->previous);
    if (rest != nullptr)
        refresh_adjacent(rest->next);
    else
        refresh_adjacent(region->next);
    return region;
}

void StorageBuffer::release(Region* region) noexcept {
    NF_EXPECT(!region->is_free());
    free_bytes_ += region->bytes;
    region->owner = nullptr;
    if (Region* before = region->previous; before != nullptr && before->is_free()) {
        free_.erase(free_.iterator_to(*before));
        region->offset = before->offset;
        region->bytes += before->bytes;
        unlink(before);
        recycle(before);
    }
    if (Region* after = region->next; after != nullptr && after->is_free()) {
        free_.erase(free_.iterator_to(*after));
        region->bytes += after->bytes;
        unlink(after);
        recycle(after);
    }
    free_.insert(*region);
    refresh_adjacent(region->previous);
    refresh_adjacent(region->next);
}

bool StorageBuffer::resize(std::uint64_t bytes) {
    bytes = whole_lines(bytes);
    if (bytes == 0 || bytes > memory_.reserved_bytes()) return false;
    if (bytes > size_bytes_) {
        Region* tail = last_->is_free() ? nullptr : new_region();
        if (!memory_.resize(bytes)) {
            if (tail != nullptr) recycle(tail);
            return false;
        }
        if (tail != nullptr) {
            tail->offset = size_bytes_;
            link_after(tail, last_);
        } else {
            tail = last_;
            free_.erase(free_.iterator_to(*tail));
        }
        tail->bytes += bytes - size_bytes_;
        free_bytes_ += bytes - size_bytes_;
        free_.insert(*tail);
        refresh_adjacent(tail->previous);
    } else if (bytes < size_bytes_) {
        if (!last_->is_free() || last_->offset > bytes || !memory_.resize(bytes)) return false;
        Region* tail = last_;
        free_.erase(free_.iterator_to(*tail));
        tail->bytes -= size_bytes_ - bytes;
        free_bytes_ -= size_bytes_ - bytes;
        Region* before = tail->previous;
        if (tail->bytes != 0) {
            free_.insert(*tail);
        } else {
            unlink(tail);
            recycle(tail);
        }
        refresh_adjacent(before);
    }
    size_bytes_ = bytes;
    return true;
}

void StorageBuffer::check_invariants() const {
    const auto require = [](bool holds, const char* what) {
        require_invariant(holds, "storage buffer", what);
    };
    std::uint64_t at = 0;
    std::uint64_t free_sum = 0;
    std::uint64_t free_count = 0;
    const Region* before = nullptr;
    for (const Region* region = first_; region != nullptr; before = region, region = region->next) {
        require(region->previous == before, "list links disagree");
        require(region->offset == at, "regions are not contiguous");
        require(region->bytes > 0 && region->bytes % line_bytes == 0, "region is not whole lines");
        at += region->bytes;
        if (region->is_free()) {
            require(before == nullptr || !before->is_free(), "neighbouring free regions were not merged");
            free_sum += region->bytes;
            ++free_count;
            continue;
        }
        std::uint64_t adjacent = before != nullptr && before->is_free() ? before->bytes : 0;
        if (region->next != nullptr && region->next->is_free()) adjacent += region->next->bytes;
        require(adjacent == region->adjacent_free, "free bytes adjacent to a region are out of date");
    }
    require(before == last_, "last region is wrong");
    require(at == size_bytes_ && memory_.size_bytes() == size_bytes_, "regions do not fill the buffer");
    require(free_sum == free_bytes_ && free_count == free_.size(), "free space is miscounted");
}

}  // namespace nearfetch

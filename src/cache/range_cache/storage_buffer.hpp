// SPDX-License-Identifier: Apache-2.0
#pragma once

// The storage S_w (001, section III-C2 and C3): one contiguous buffer, cut into regions that are allocated or
// free.
//
// Free regions are found best fit (the smallest that is large enough, the foremost of these) in an AVL tree
// by size; all regions stand in a doubly linked list by address, which is how neighbours are found, free ones
// merge, and every allocated region knows how many free bytes are adjacent to it (d_c). Regions are whole CPU
// cache lines.
//
// Beyond the paper: the buffer lies in reserved address space, so it grows and shrinks in place and what is
// stored stays where it is.

#include <boost/intrusive/avl_set.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/reserved_memory.hpp"

namespace nearfetch {

class StorageBuffer {
  public:
    static constexpr std::uint64_t line_bytes = 64;
    static constexpr std::uint64_t no_limit = ~std::uint64_t{0};

    /// A stretch of the buffer, allocated or free.
    struct Region {
        std::uint64_t offset = 0;
        std::uint64_t bytes = 0;
        Region* previous = nullptr;  ///< by address
        Region* next = nullptr;
        void* owner = nullptr;            ///< of an allocated region; nullptr: it is free
        std::uint64_t adjacent_free = 0;  ///< d_c of an allocated region
        boost::intrusive::avl_set_member_hook<> hook;

        bool is_free() const noexcept { return owner == nullptr; }
    };

    /// \throws Error when the address space or the memory is not to be had
    StorageBuffer(std::uint64_t bytes, std::uint64_t bytes_max);
    ~StorageBuffer();

    /// What a payload of that size takes: whole lines, at least one.
    static constexpr std::uint64_t footprint(std::uint64_t payload_bytes) noexcept {
        return payload_bytes == 0 ? line_bytes : (payload_bytes + line_bytes - 1) / line_bytes * line_bytes;
    }

    /// Takes the best-fitting free region, or with `limit` the best that ends before this offset of the
    /// buffer.
    /// \return nullptr when no free region is large enough. \pre owner is not null
    Region* allocate(std::uint64_t payload_bytes, void* owner, std::uint64_t limit = no_limit);
    void release(Region* region) noexcept;
    /// Makes sure that the next allocate() needs no memory for descriptors.
    void prepare() {
        if (spare_ == nullptr) recycle(new_region());
    }
    bool fits(std::uint64_t payload_bytes) const noexcept {
        return footprint(payload_bytes) <= largest_free_bytes();
    }

    /// Changes the size. Shrinking wants everything beyond the new end free.
    /// \return false, and nothing changed, when that is not so or memory is not to be had
    bool resize(std::uint64_t bytes);

    std::byte* data(const Region* region) noexcept { return memory_.data() + region->offset; }
    const std::byte* data(const Region* region) const noexcept { return memory_.data() + region->offset; }
    Region* first() noexcept { return first_; }
    Region* last() noexcept { return last_; }
    std::uint64_t size_bytes() const noexcept { return size_bytes_; }
    std::uint64_t free_bytes() const noexcept { return free_bytes_; }
    std::uint64_t largest_free_bytes() const noexcept { return free_.empty() ? 0 : free_.rbegin()->bytes; }
    std::uint64_t free_regions() const noexcept { return free_.size(); }
    /// Walks everything; aborts with a message when something is not as it should be.
    void check_invariants() const;

  private:
    struct BySize {
        bool operator()(const Region& a, const Region& b) const noexcept {
            return a.bytes != b.bytes ? a.bytes < b.bytes : a.offset < b.offset;
        }
    };
    using FreeTree = boost::intrusive::avl_multiset<
        Region, boost::intrusive::compare<BySize>,
        boost::intrusive::member_hook<Region, boost::intrusive::avl_set_member_hook<>, &Region::hook>>;

    Region* new_region();
    void recycle(Region* region) noexcept;
    void unlink(Region* region) noexcept;
    void link_after(Region* region, Region* where) noexcept;
    void refresh_adjacent(Region* region) noexcept;

    ReservedMemory memory_;
    std::uint64_t size_bytes_ = 0;
    std::uint64_t free_bytes_ = 0;
    Region* first_ = nullptr;
    Region* last_ = nullptr;
    FreeTree free_;
    std::vector<std::unique_ptr<Region[]>> slabs_;
    Region* spare_ = nullptr;  ///< recycled descriptors, linked by next
};

}  // namespace nearfetch

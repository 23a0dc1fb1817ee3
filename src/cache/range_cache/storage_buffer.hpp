// SPDX-License-Identifier: Apache-2.0
#pragma once

// The storage S_w (001, sections III-C2 and C3): one contiguous buffer, cut into allocated and free regions.
//
// Allocation is best fit, then lowest address. Free regions are in an AVL tree by size. All regions are in a
// doubly linked list by address, to find neighbours and merge free ones. Each allocated region knows the free
// bytes adjacent to it (d_c). Regions are whole CPU cache lines.
//
// Beyond the paper the buffer lies in reserved address space, so it grows and shrinks in place.

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

    /// A region of the buffer, allocated or free.
    struct Region {
        std::uint64_t offset = 0;
        std::uint64_t bytes = 0;
        Region* previous = nullptr;  ///< by address
        Region* next = nullptr;
        void* owner = nullptr;            ///< of an allocated region; nullptr: free
        std::uint64_t adjacent_free = 0;  ///< d_c of an allocated region
        boost::intrusive::avl_set_member_hook<> hook;

        bool is_free() const noexcept { return owner == nullptr; }
    };

    /// \throws Error when address space or memory is exhausted
    StorageBuffer(std::uint64_t bytes, std::uint64_t bytes_max);
    ~StorageBuffer();

    /// Bytes that a payload takes: whole lines, at least one.
    static constexpr std::uint64_t footprint(std::uint64_t payload_bytes) noexcept {
        return payload_bytes == 0 ? line_bytes : (payload_bytes + line_bytes - 1) / line_bytes * line_bytes;
    }

    /// Takes the best-fitting free region; with `limit`, the best one that ends before this offset.
    /// \return nullptr if no free region is large enough. \pre owner is not null
    Region* allocate(std::uint64_t payload_bytes, void* owner, std::uint64_t limit = no_limit);
    void release(Region* region) noexcept;
    bool fits(std::uint64_t payload_bytes) const noexcept {
        return footprint(payload_bytes) <= largest_free_bytes();
    }

    /// Changes the size. To shrink, everything beyond the new end has to be free.
    /// \return false, with nothing changed, if it is not, or memory is exhausted
    bool resize(std::uint64_t bytes);

    std::byte* data(const Region* region) noexcept { return memory_.data() + region->offset; }
    const std::byte* data(const Region* region) const noexcept { return memory_.data() + region->offset; }
    Region* first() noexcept { return first_; }
    Region* last() noexcept { return last_; }
    std::uint64_t size_bytes() const noexcept { return size_bytes_; }
    std::uint64_t free_bytes() const noexcept { return free_bytes_; }
    std::uint64_t largest_free_bytes() const noexcept { return free_.empty() ? 0 : free_.rbegin()->bytes; }
    std::uint64_t free_regions() const noexcept { return free_.size(); }
    /// Checks everything. Aborts with a message on a fault.
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

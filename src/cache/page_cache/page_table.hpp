// SPDX-License-Identifier: Apache-2.0
#pragma once

// The two-level page lookup of 000, section III-B. The upper part of the page number (a region of 16 pages)
// is hashed and finds a leaf; the lower part is the index in the leaf. A leaf is one CPU cache line of page
// indices. The paper hashes at the second level too, and keeps lists there. A plain array needs no list, and
// shows which neighbour pages are cached: read-ahead, write-back and range operations need that. All memory
// is allocated at construction.

#include <bit>
#include <cstdint>
#include <vector>

#include "base/assert.hpp"
#include "base/types.hpp"
#include "cache/page_cache/page.hpp"

namespace nearfetch {

class PageTable {
  public:
    static constexpr std::uint32_t nothing = 0xffffffff;
    static constexpr unsigned leaf_shift = 4;
    static constexpr std::uint64_t leaf_pages = 1u << leaf_shift;

    explicit PageTable(std::uint32_t pages_max)
        : shift_(64 - static_cast<unsigned>(std::bit_width(std::bit_ceil(pages_max) - 1) + 1)),
          heads_(std::uint64_t{1} << (64 - shift_), nothing),
          names_(pages_max),
          leaves_(pages_max) {
        for (std::uint32_t leaf = 0; leaf < pages_max; ++leaf)
            names_[leaf].next = leaf + 1 < pages_max ? leaf + 1 : nothing;
        spare_ = 0;
    }

    /// The index of that page, or nothing.
    std::uint32_t find(Rank target, std::uint64_t number) const noexcept {
        const std::uint32_t leaf = leaf_of(target, number >> leaf_shift);
        return leaf == nothing ? nothing : leaves_[leaf].pages[number & (leaf_pages - 1)];
    }

    /// \pre it is not present, and there are fewer than pages_max
    void insert(Rank target, std::uint64_t number, std::uint32_t page) noexcept {
        std::uint32_t leaf = leaf_of(target, number >> leaf_shift);
        if (leaf == nothing) {
            NF_EXPECT(spare_ != nothing);
            leaf = spare_;
            spare_ = names_[leaf].next;
            std::uint32_t& head = heads_[place(target, number >> leaf_shift)];
            names_[leaf] = {number >> leaf_shift, target, head, 0};
            head = leaf;
            for (std::uint32_t& slot : leaves_[leaf].pages)
                slot = nothing;
        }
        NF_EXPECT(leaves_[leaf].pages[number & (leaf_pages - 1)] == nothing);
        leaves_[leaf].pages[number & (leaf_pages - 1)] = page;
        ++names_[leaf].used;
    }

    /// \pre it is present
    void erase(Rank target, std::uint64_t number) noexcept {
        std::uint32_t* link = &heads_[place(target, number >> leaf_shift)];
        while (!names_[*link].is(target, number >> leaf_shift))
            link = &names_[*link].next;
        const std::uint32_t leaf = *link;
        NF_EXPECT(leaves_[leaf].pages[number & (leaf_pages - 1)] != nothing);
        leaves_[leaf].pages[number & (leaf_pages - 1)] = nothing;
        if (--names_[leaf].used != 0) return;
        *link = names_[leaf].next;
        names_[leaf].next = spare_;
        spare_ = leaf;
    }

    /// Calls visit(index) for the target's pages [first, last], in order, until it returns false. The visitor
    /// may not change the table.
    template <class Visitor>
    void for_each(Rank target, std::uint64_t first, std::uint64_t last, Visitor&& visit) const {
        for (std::uint64_t region = first >> leaf_shift; region <= last >> leaf_shift; ++region) {
            const std::uint32_t leaf = leaf_of(target, region);
            if (leaf == nothing) continue;
            const std::uint64_t base = region << leaf_shift;
            const std::uint64_t from = first > base ? first - base : 0;
            const std::uint64_t to = last - base < leaf_pages - 1 ? last - base : leaf_pages - 1;
            for (std::uint64_t i = from; i <= to; ++i) {
                const std::uint32_t page = leaves_[leaf].pages[i];
                if (page != nothing && !visit(page)) return;
            }
        }
    }

  private:
    struct Name {
        std::uint64_t region = 0;
        Rank target = 0;
        std::uint32_t next = nothing;  ///< in the bucket, or in the free list
        std::uint32_t used = 0;

        bool is(Rank t, std::uint64_t r) const noexcept { return region == r && target == t; }
    };
    struct alignas(64) Leaf {
        std::uint32_t pages[leaf_pages];
    };

    std::uint64_t place(Rank target, std::uint64_t region) const noexcept {
        return mixed_name(target, region) >> shift_;
    }
    std::uint32_t leaf_of(Rank target, std::uint64_t region) const noexcept {
        std::uint32_t leaf = heads_[place(target, region)];
        while (leaf != nothing && !names_[leaf].is(target, region))
            leaf = names_[leaf].next;
        return leaf;
    }

    unsigned shift_;
    std::vector<std::uint32_t> heads_;
    std::vector<Name> names_;
    std::vector<Leaf> leaves_;
    std::uint32_t spare_;
};

}  // namespace nearfetch

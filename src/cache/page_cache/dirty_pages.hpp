// SPDX-License-Identifier: Apache-2.0
#pragma once

// Dirty bytes that wait for their PUT: one bit per byte, for a limited number of pages (000, section III-B).
// Entries are ordered by their last write. The least recently written one is cleaned first when another page
// needs an entry.

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "base/assert.hpp"

namespace nearfetch {

class DirtyPages {
  public:
    static constexpr std::uint32_t nothing = 0xffffffff;

    DirtyPages(std::uint32_t entries_max, std::uint64_t page_bytes)
        : page_bytes_(page_bytes),
          words_((page_bytes + 63) / 64),
          bits_(entries_max * words_, 0),
          entries_(entries_max) {
        for (std::uint32_t i = 0; i < entries_max; ++i)
            entries_[i].newer = i + 1 < entries_max ? i + 1 : nothing;
        spare_ = 0;
    }

    bool full() const noexcept { return spare_ == nothing; }
    std::uint32_t count() const noexcept { return count_; }

    /// Makes an empty entry for a page. \pre not full()
    std::uint32_t attach(std::uint32_t page) noexcept {
        NF_EXPECT(!full());
        const std::uint32_t entry = spare_;
        spare_ = entries_[entry].newer;
        entries_[entry].page = page;
        entries_[entry].attached = ++attached_;
        push_newest(entry);
        ++count_;
        return entry;
    }
    /// \pre it has no bits
    void detach(std::uint32_t entry) noexcept {
        NF_EXPECT(empty(entry));
        take(entry);
        entries_[entry].newer = spare_;
        spare_ = entry;
        --count_;
    }

    std::uint32_t page(std::uint32_t entry) const noexcept { return entries_[entry].page; }
    /// Number of attachments so far; and the number at this entry's attachment.
    std::uint64_t attached() const noexcept { return attached_; }
    std::uint64_t attached(std::uint32_t entry) const noexcept { return entries_[entry].attached; }
    /// The least recently written entry.
    std::uint32_t oldest() const noexcept { return oldest_; }
    /// The next entry in the order of last writes.
    std::uint32_t newer(std::uint32_t entry) const noexcept { return entries_[entry].newer; }

    /// Marks the bytes [begin, end) as dirty. \pre begin < end
    void set(std::uint32_t entry, std::uint64_t begin, std::uint64_t end) noexcept {
        if (entry != newest_) {
            take(entry);
            push_newest(entry);
        }
        for_words(begin, end, [&](std::uint64_t word, std::uint64_t mask) {
            bits_[entry * words_ + word] |= mask;
            return true;
        });
    }
    void clear(std::uint32_t entry, std::uint64_t begin, std::uint64_t end) noexcept {
        for_words(begin, end, [&](std::uint64_t word, std::uint64_t mask) {
            bits_[entry * words_ + word] &= ~mask;
            return true;
        });
    }
    bool all(std::uint32_t entry, std::uint64_t begin, std::uint64_t end) const noexcept {
        return for_words(begin, end, [&](std::uint64_t word, std::uint64_t mask) {
            return (bits_[entry * words_ + word] & mask) == mask;
        });
    }
    bool any(std::uint32_t entry, std::uint64_t begin, std::uint64_t end) const noexcept {
        return !for_words(begin, end, [&](std::uint64_t word, std::uint64_t mask) {
            return (bits_[entry * words_ + word] & mask) == 0;
        });
    }

    bool empty(std::uint32_t entry) const noexcept {
        std::uint64_t bits = 0;
        for (std::uint64_t word = 0; word < words_; ++word)
            bits |= bits_[entry * words_ + word];
        return bits == 0;
    }

    /// The first dirty (or clean) byte from `from` on, or page_bytes.
    std::uint64_t next_set(std::uint32_t entry, std::uint64_t from) const noexcept {
        return next(entry, from, 0);
    }
    std::uint64_t next_clear(std::uint32_t entry, std::uint64_t from) const noexcept {
        return next(entry, from, ~std::uint64_t{0});
    }
    /// Start of the dirty run at the page's end; page_bytes if there is none.
    std::uint64_t tail_begin(std::uint32_t entry) const noexcept {
        std::uint64_t begin = page_bytes_;
        while (begin > 0 && all(entry, begin - 1, begin)) {
            // Whole words at a time.
            if ((begin & 63) == 0 && bits_[entry * words_ + begin / 64 - 1] == ~std::uint64_t{0})
                begin -= 64;
            else
                --begin;
        }
        return begin;
    }

  private:
    struct Entry {
        std::uint64_t attached = 0;
        std::uint32_t page = nothing;
        std::uint32_t older = nothing;
        std::uint32_t newer = nothing;  ///< or the next free one
    };

    /// Calls visit(word, mask) for the words that hold [begin, end) until it returns false. \return whether
    /// it never did
    template <class Visitor>
    static bool for_words(std::uint64_t begin, std::uint64_t end, Visitor&& visit) noexcept {
        while (begin < end) {
            const std::uint64_t word = begin / 64;
            const std::uint64_t stop = std::min(end, (word + 1) * 64);
            const std::uint64_t mask = (~std::uint64_t{0} >> (64 - (stop - begin))) << (begin & 63);
            if (!visit(word, mask)) return false;
            begin = stop;
        }
        return true;
    }
    std::uint64_t next(std::uint32_t entry, std::uint64_t from, std::uint64_t flip) const noexcept {
        while (from < page_bytes_) {
            const std::uint64_t word = (bits_[entry * words_ + from / 64] ^ flip) >> (from & 63);
            if (word != 0) return std::min(page_bytes_, from + static_cast<unsigned>(std::countr_zero(word)));
            from = (from / 64 + 1) * 64;
        }
        return page_bytes_;
    }

    void push_newest(std::uint32_t entry) noexcept {
        entries_[entry].older = newest_;
        entries_[entry].newer = nothing;
        (newest_ == nothing ? oldest_ : entries_[newest_].newer) = entry;
        newest_ = entry;
    }
    void take(std::uint32_t entry) noexcept {
        const Entry& e = entries_[entry];
        (e.older == nothing ? oldest_ : entries_[e.older].newer) = e.newer;
        (e.newer == nothing ? newest_ : entries_[e.newer].older) = e.older;
    }

    std::uint64_t page_bytes_;
    std::uint64_t words_;
    std::vector<std::uint64_t> bits_;
    std::vector<Entry> entries_;
    std::uint32_t oldest_ = nothing;
    std::uint32_t newest_ = nothing;
    std::uint32_t spare_ = nothing;
    std::uint32_t count_ = 0;
    std::uint64_t attached_ = 0;
};

}  // namespace nearfetch

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "base/types.hpp"

namespace nearfetch {

/// Which bytes of an entry of read-ahead the program has asked for: those outlive the acquire at which the
/// others expire. Known in granules of the target's memory, of 4 bytes in regions of up to 4 KiB. One that
/// no single get has covered counts as not asked for.
class AskedBytes {
  public:
    /// Nothing of this range was asked for.
    void reset(ByteRange range) noexcept {
        granule_bytes_ = std::max(least_granule_bytes, (range.size() + granules - 1) / granules);
        first_ = range.begin / granule_bytes_;
        words_.fill(0);
    }
    /// \pre a part of the range
    void add(ByteRange part) noexcept {
        for_each_word((part.begin + granule_bytes_ - 1) / granule_bytes_, part.end / granule_bytes_,
                      [](std::uint64_t& word, std::uint64_t mask) {
                          word |= mask;
                          return true;
                      });
    }
    /// Whether all of it was asked for. \pre a part of the range
    bool has_all(ByteRange part) noexcept {
        return for_each_word(part.begin / granule_bytes_, (part.end + granule_bytes_ - 1) / granule_bytes_,
                             [](std::uint64_t& word, std::uint64_t mask) { return (word & mask) == mask; });
    }
    /// Adds what was asked for of another entry, as far as it is in this one, too.
    void add(const AskedBytes& other, ByteRange common) noexcept {
        const std::uint64_t end = (common.end + other.granule_bytes_ - 1) / other.granule_bytes_;
        for (std::uint64_t at = common.begin / other.granule_bytes_; at < end;) {
            const std::uint64_t bit = (at - other.first_) % word_bits;
            const std::uint64_t word = other.words_[(at - other.first_) / word_bits] >> bit;
            const std::uint64_t skipped = word == 0 ? word_bits - bit : std::countr_zero(word);
            const std::uint64_t asked = word == 0 ? 0 : std::countr_one(word >> skipped);
            const std::uint64_t from = (at + skipped) * other.granule_bytes_;
            const std::uint64_t to = from + asked * other.granule_bytes_;
            if (asked != 0 && from < common.end)
                add({std::max(from, common.begin), std::min(to, common.end)});
            at += skipped + asked;
        }
    }

  private:
    /// Calls visit(word, mask) for the granules from `begin` to `end` until it returns false.
    template <class Visitor>
    bool for_each_word(std::uint64_t begin, std::uint64_t end, const Visitor& visit) noexcept {
        while (begin < end) {
            const std::uint64_t bit = (begin - first_) % word_bits;
            const std::uint64_t count = std::min(end - begin, word_bits - bit);
            const std::uint64_t mask = (~std::uint64_t{0} >> (word_bits - count)) << bit;
            if (!visit(words_[(begin - first_) / word_bits], mask)) return false;
            begin += count;
        }
        return true;
    }

    static constexpr std::uint64_t word_bits = 64;
    static constexpr std::uint64_t granules = 1024;
    static constexpr std::uint64_t least_granule_bytes = 4;

    std::uint64_t granule_bytes_ = least_granule_bytes;
    std::uint64_t first_ = 0;                                      ///< number of the first granule
    std::array<std::uint64_t, granules / word_bits + 1> words_{};  ///< a range may begin within a granule
};

}  // namespace nearfetch

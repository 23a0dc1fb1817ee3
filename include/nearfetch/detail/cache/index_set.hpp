// SPDX-License-Identifier: Apache-2.0
#pragma once

// Sets of scattered numbers, whose memory follows the members and not the range. They say which elements of
// another rank are wanted. For arrays and the prefetch buffer; nothing here is for programs.
//
// A set is a hash table of words with a bit for each of 64 consecutive numbers. A complete set also knows how
// many members come before each word. The position of a member is one table lookup and a population count. If
// at least a quarter of the range is in the set, a direct table of positions replaces the words. Messages
// carry a set as runs of consecutive numbers, in about two bytes each.

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace [[gnu::visibility("default")]] nearfetch {

namespace detail {

class IndexSet {
  public:
    IndexSet() : words_(16) {}

    /// Adds a number >= 0. \param most_bytes limit of memory() \return false: it is new, and does not fit
    bool insert(std::int64_t i, std::uint64_t most_bytes = ~std::uint64_t{0}) {
        return insert_bits(i / 64, std::uint64_t{1} << (i % 64), most_bytes);
    }
    /// Adds consecutive numbers.
    void insert_run(std::int64_t first, std::int64_t count);
    /// Ends the additions, and prepares position() and encoded().
    void complete();

    /// The number of members.
    std::int64_t size() const noexcept { return size_; }
    /// Bytes. Growing needs half as much more for a moment.
    std::uint64_t memory() const noexcept {
        return words_.size() * sizeof(Word) + positions_.size() * sizeof(std::int32_t);
    }

    // \pre complete

    /// How many members are smaller; -1 if `i` is not a member.
    std::int64_t position(std::int64_t i) const noexcept {
        const std::uint64_t from_first = static_cast<std::uint64_t>(i) - first_;
        if (from_first < positions_.size()) [[likely]]
            return positions_[from_first];
        return words_.empty() ? -1 : position_in_words(i);
    }
    /// Frees what position() needs. \pre position() is not called again
    void release_positions() {
        words_ = {};
        positions_ = {};
    }
    /// Adds the numbers between two runs where there are at most `most`.
    void close_gaps(std::int64_t most);
    /// The number of runs.
    std::int64_t runs() const noexcept { return runs_; }
    /// The set in the encoding of messages.
    std::span<const std::byte> encoded() const noexcept { return encoded_; }
    /// Calls visit(first, count) for each run of an encoded set, in order.
    template <class Visit>
    static void for_each_run(std::span<const std::byte> text, Visit&& visit) {
        std::int64_t end = 0;
        for (const std::byte* at = text.data(); at != text.data() + text.size();) {
            const std::int64_t first = end + decode_number(at);
            const std::int64_t count = decode_number(at);
            visit(first, count);
            end = first + count;
        }
    }
    template <class Visit>
    void for_each_run(Visit&& visit) const {
        for_each_run(encoded_, visit);
    }

  private:
    struct Word {
        std::int64_t number = 0;  ///< its first number / 64
        std::uint64_t bits = 0;   ///< 0: an empty slot
        std::int64_t before = 0;  ///< members in words of smaller numbers
    };

    std::int64_t position_in_words(std::int64_t i) const noexcept {
        const Word& word = words_[find(i / 64)];
        const std::uint64_t bit = std::uint64_t{1} << (i % 64);
        if ((word.bits & bit) == 0) return -1;
        return word.before + std::popcount(word.bits & (bit - 1));
    }
    /// The slot of a word, or the free slot for it.
    std::size_t find(std::int64_t number) const noexcept {
        const std::size_t last = words_.size() - 1;
        auto at =
            static_cast<std::size_t>((static_cast<std::uint64_t>(number) * 0x9e3779b97f4a7c15) >> 32) & last;
        while (words_[at].bits != 0 && words_[at].number != number)
            at = (at + 1) & last;
        return at;
    }
    bool insert_bits(std::int64_t number, std::uint64_t bits, std::uint64_t most_bytes);
    void build_positions();
    void encode_number(std::int64_t number);
    static std::int64_t decode_number(const std::byte*& at) {
        std::uint64_t number = 0;
        for (int shift = 0;; shift += 7) {
            const auto digit = static_cast<std::uint64_t>(*at++);
            number |= (digit & 127) << shift;
            if (digit < 128) return static_cast<std::int64_t>(number);
        }
    }

    std::vector<Word> words_;              ///< a power of two, at most three quarters used; or empty
    std::vector<std::int32_t> positions_;  ///< for first_ to the last member, -1 for others; or empty
    std::uint64_t first_ = 0;
    std::size_t used_ = 0;
    std::int64_t size_ = 0;
    std::int64_t runs_ = 0;
    std::vector<std::byte> encoded_;  ///< for each run the gap before it and its length, seven bits per byte
};

}  // namespace detail

}  // namespace nearfetch

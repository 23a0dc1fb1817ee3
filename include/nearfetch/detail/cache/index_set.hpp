// SPDX-License-Identifier: Apache-2.0
#pragma once

// Sets of numbers that are scattered, in memory for those that are there and not for those that could be:
// what a rank wants of another one's elements where that is no box. For arrays and the prefetch buffer;
// nothing here is for programs.
//
// A set is a table of words, each of which has a bit for 64 numbers in a row, found by hashing. When it is
// complete, each word knows how many numbers come before it: so a number's place among all is found by one
// look into the table and a count of bits. Where at least each fourth number is there, a table of places
// takes the words' stead, which costs an access a comparison and a load. As runs of numbers that follow each
// other a set travels to their owner, in two bytes or so for each.

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

    /// Adds a number >= 0. \param most_bytes of memory() \return false: it was not there, and there is no
    /// room for it
    bool insert(std::int64_t i, std::uint64_t most_bytes = ~std::uint64_t{0}) {
        return insert_bits(i / 64, std::uint64_t{1} << (i % 64), most_bytes);
    }
    /// Adds numbers that follow each other.
    void insert_run(std::int64_t first, std::int64_t count);
    /// Nothing is added from now on.
    void complete();

    /// Distinct numbers.
    std::int64_t size() const noexcept { return size_; }
    /// Bytes; half as much more while it grows.
    std::uint64_t memory() const noexcept {
        return words_.size() * sizeof(Word) + places_.size() * sizeof(std::int32_t);
    }

    // \pre complete

    /// How many smaller numbers there are; -1 when it is not there itself.
    std::int64_t position(std::int64_t i) const noexcept {
        const std::uint64_t from_first = static_cast<std::uint64_t>(i) - first_;
        if (from_first < places_.size()) [[likely]]
            return places_[from_first];
        return words_.empty() ? -1 : position_in_words(i);
    }
    /// Gives back what position() needs, which is not asked again.
    void forget_places() {
        words_ = {};
        places_ = {};
    }
    /// Adds the numbers between two runs where these are at most so many.
    void close_gaps(std::int64_t most);
    /// Of numbers that follow each other.
    std::int64_t runs() const noexcept { return runs_; }
    /// The set as it travels.
    std::span<const std::byte> text() const noexcept { return text_; }
    /// Calls visit(first, count) for each run of a set as it travels, in their order.
    template <class Visit>
    static void for_each_run(std::span<const std::byte> text, Visit&& visit) {
        std::int64_t end = 0;
        for (const std::byte* at = text.data(); at != text.data() + text.size();) {
            const std::int64_t first = end + read_number(at);
            const std::int64_t count = read_number(at);
            visit(first, count);
            end = first + count;
        }
    }
    template <class Visit>
    void for_each_run(Visit&& visit) const {
        for_each_run(text_, visit);
    }

  private:
    struct Word {
        std::int64_t number = 0;  ///< of its first bit, by 64
        std::uint64_t bits = 0;   ///< none: there is no word here
        std::int64_t before = 0;  ///< numbers in the words of smaller ones
    };

    std::int64_t position_in_words(std::int64_t i) const noexcept {
        const Word& word = words_[find(i / 64)];
        const std::uint64_t bit = std::uint64_t{1} << (i % 64);
        if ((word.bits & bit) == 0) return -1;
        return word.before + std::popcount(word.bits & (bit - 1));
    }
    /// Where a word is, or would be.
    std::size_t find(std::int64_t number) const noexcept {
        const std::size_t last = words_.size() - 1;
        auto at =
            static_cast<std::size_t>((static_cast<std::uint64_t>(number) * 0x9e3779b97f4a7c15) >> 32) & last;
        while (words_[at].bits != 0 && words_[at].number != number)
            at = (at + 1) & last;
        return at;
    }
    bool insert_bits(std::int64_t number, std::uint64_t bits, std::uint64_t most_bytes);
    void find_places();
    void write_number(std::int64_t number);
    static std::int64_t read_number(const std::byte*& at) {
        std::uint64_t number = 0;
        for (int shift = 0;; shift += 7) {
            const auto digit = static_cast<std::uint64_t>(*at++);
            number |= (digit & 127) << shift;
            if (digit < 128) return static_cast<std::int64_t>(number);
        }
    }

    std::vector<Word> words_;           ///< a power of two, of which at most three quarters are used; or none
    std::vector<std::int32_t> places_;  ///< or none: of the numbers from the first to the last, or -1
    std::uint64_t first_ = 0;
    std::size_t used_ = 0;
    std::int64_t size_ = 0;
    std::int64_t runs_ = 0;
    std::vector<std::byte>
        text_;  ///< for each run: from the end of the one before, and how many; seven bits a byte
};

}  // namespace detail

}  // namespace nearfetch

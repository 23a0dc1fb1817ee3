// SPDX-License-Identifier: Apache-2.0
#pragma once

// Ghosts: one number per key of items that are not cached, 8 bytes each, bounded. A key is known by 31 bits
// of it, so that very rarely one is taken for another.
//
// Eight keys share a CPU cache line; a full line drops its least number. There are as many lines as are
// filled by a third on average: they are added and removed one by one, by the addresses of linear hashing
// (Litwin, VLDB 1980), so that no call takes long.

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <utility>
#include <vector>

namespace nearfetch {

class GhostMemory {
  public:
    /// Sets the number of keys. What is too much leaves with later calls.
    void set_capacity(std::uint64_t keys) noexcept {
        most_lines_ = keys / ways + 1;
        for (std::uint64_t i = 0; i < most_removed && line_count_ > most_lines_; ++i)
            remove_line();
    }
    /// Allocates the memory for all keys. \throws std::bad_alloc
    void take_all() {
        while (line_count_ < most_lines_)
            add_line();
    }

    /// When memory is exhausted, less or nothing is remembered.
    void remember(std::uint64_t key, std::uint32_t number) noexcept {
        if (3 * remembered_ >= ways * line_count_ && line_count_ < most_lines_) grow();
        if (line_count_ != 0) put({tag_of(key), number});
    }

    /// Returns the number and forgets it.
    std::optional<std::uint32_t> recall(std::uint64_t key) noexcept {
        if (line_count_ == 0) return std::nullopt;
        for (Ghost& ghost : line_of(tag_of(key)))
            if (ghost.tag == tag_of(key)) {
                const std::uint32_t number = ghost.number;
                ghost = Ghost{};
                --remembered_;
                return number;
            }
        return std::nullopt;
    }

    /// Before recall(), to save time.
    void prefetch(std::uint64_t key) noexcept {
        if (line_count_ != 0) __builtin_prefetch(&line_of(tag_of(key)));
    }

  private:
    struct Ghost {
        std::uint32_t tag = 0;  ///< 0: none
        std::uint32_t number = 0;
    };
    static constexpr std::uint64_t ways = 8;
    struct alignas(64) Line : std::array<Ghost, ways> {};
    static constexpr std::uint64_t lines_per_block = 64;
    using Block = std::array<Line, lines_per_block>;
    static constexpr std::uint64_t most_removed = 4;  ///< per call

    static std::uint32_t tag_of(std::uint64_t key) noexcept { return static_cast<std::uint32_t>(key) | 1; }

    Line& line(std::uint64_t number) noexcept {
        return (*blocks_[number / lines_per_block])[number % lines_per_block];
    }
    std::uint64_t number_of(std::uint32_t tag) const noexcept {
        const std::uint64_t round = std::bit_ceil(line_count_);
        const std::uint64_t split = (tag >> 1) & (round - 1);
        return split < line_count_ ? split : split - round / 2;
    }
    Line& line_of(std::uint32_t tag) noexcept { return line(number_of(tag)); }

    // Half of the keys of another line move to it.
    void add_line() {
        if (line_count_ == blocks_.size() * lines_per_block) blocks_.push_back(std::make_unique<Block>());
        const std::uint64_t added = line_count_++;
        if (added == 0) return;
        for (Ghost& ghost : line(added - std::bit_floor(added)))
            if (ghost.tag != 0 && number_of(ghost.tag) == added) {
                --remembered_;
                put(std::exchange(ghost, Ghost{}));
            }
    }
    void remove_line() noexcept {
        const Line removed = line(--line_count_);
        line(line_count_) = Line{};
        for (const Ghost& ghost : removed)
            if (ghost.tag != 0) {
                --remembered_;
                if (line_count_ != 0) put(ghost);
            }
        if (line_count_ + 2 * lines_per_block < blocks_.size() * lines_per_block) blocks_.pop_back();
    }
    void grow() noexcept {
        try {
            add_line();
        } catch (const std::bad_alloc&) {
        }
    }

    void put(const Ghost& ghost) noexcept {
        Line& line = line_of(ghost.tag);
        Ghost* least = &line[0];
        for (Ghost& other : line) {
            if (other.tag == 0 || other.tag == ghost.tag) {
                if (other.tag == 0) ++remembered_;
                other = ghost;
                return;
            }
            if (other.number < least->number) least = &other;
        }
        if (least->number <= ghost.number) *least = ghost;
    }

    std::vector<std::unique_ptr<Block>> blocks_;
    std::uint64_t line_count_ = 0;
    std::uint64_t most_lines_ = 1;
    std::uint64_t remembered_ = 0;  ///< number of keys
};

}  // namespace nearfetch

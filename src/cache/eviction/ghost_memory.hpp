// SPDX-License-Identifier: Apache-2.0
#pragma once

// Ghosts: one number per key of items that are not cached, 8 bytes each, bounded. A key is known by 31 bits
// of it, so that very rarely one is taken for another.
//
// Eight keys share a CPU cache line; a full line drops its least number. Memory is allocated for a few keys
// at first, and fourfold when the lines hold half a key each on average.

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <new>
#include <optional>
#include <vector>

namespace nearfetch {

class GhostMemory {
  public:
    /// Sets the number of keys; keeps what fits.
    void set_capacity(std::uint64_t keys) {
        most_lines_ = std::bit_ceil(keys / ways + 1);
        if (lines_.size() > most_lines_) take(most_lines_);
    }
    /// Allocates the memory for all keys.
    void take_all() { take(most_lines_); }

    /// When memory is exhausted, less or nothing is remembered.
    void remember(std::uint64_t key, std::uint32_t number) noexcept {
        if (2 * remembered_ >= ways / 2 * lines_.size() && lines_.size() < most_lines_) grow();
        if (!lines_.empty()) put({tag_of(key), number});
    }

    /// Returns the number and forgets it.
    std::optional<std::uint32_t> recall(std::uint64_t key) noexcept {
        if (lines_.empty()) return std::nullopt;
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
        if (!lines_.empty()) __builtin_prefetch(&line_of(tag_of(key)));
    }

  private:
    struct Ghost {
        std::uint32_t tag = 0;  ///< 0: none
        std::uint32_t number = 0;
    };
    static constexpr std::uint64_t ways = 8;
    static constexpr std::uint64_t first_lines = 64;
    static constexpr std::uint64_t growth = 4;
    struct alignas(64) Line : std::array<Ghost, ways> {};

    static std::uint32_t tag_of(std::uint64_t key) noexcept { return static_cast<std::uint32_t>(key) | 1; }

    void take(std::uint64_t lines) {
        std::vector<Line> before(lines);
        before.swap(lines_);
        remembered_ = 0;
        for (const Line& line : before)
            for (const Ghost& ghost : line)
                if (ghost.tag != 0) put(ghost);
    }
    void grow() noexcept {
        try {
            take(std::min(std::max(lines_.size() * growth, first_lines), most_lines_));
        } catch (const std::bad_alloc&) {
        }
    }

    Line& line_of(std::uint32_t tag) noexcept { return lines_[(tag >> 1) & (lines_.size() - 1)]; }

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

    std::vector<Line> lines_;
    std::uint64_t most_lines_ = 1;
    std::uint64_t remembered_ = 0;  ///< number of keys
};

}  // namespace nearfetch

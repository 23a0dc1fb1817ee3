// SPDX-License-Identifier: Apache-2.0
#pragma once

// Ghosts: one number per key of items that are not cached, 16 bytes each, bounded.
//
// Four keys share a CPU cache line; a full line drops its least number. Memory is allocated for a few keys at
// first, and fourfold when the lines hold half a key each on average.

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
    void remember(std::uint64_t key, double number) noexcept {
        if (2 * remembered_ >= lines_.size() && lines_.size() < most_lines_) grow();
        if (!lines_.empty()) put({key | 1, number});
    }

    /// Returns the number and forgets it.
    std::optional<double> recall(std::uint64_t key) noexcept {
        if (lines_.empty()) return std::nullopt;
        for (Ghost& ghost : line_of(key))
            if (ghost.key == (key | 1)) {
                const double number = ghost.number;
                ghost = Ghost{};
                --remembered_;
                return number;
            }
        return std::nullopt;
    }

    template <class Function>
    void transform(Function&& function) {
        for (Line& line : lines_)
            for (Ghost& ghost : line)
                if (ghost.key != 0) ghost.number = function(ghost.number);
    }

  private:
    struct Ghost {
        std::uint64_t key = 0;  ///< 0: none
        double number = 0;
    };
    static constexpr std::uint64_t ways = 4;
    static constexpr std::uint64_t first_lines = 64;
    static constexpr std::uint64_t growth = 4;
    using Line = std::array<Ghost, ways>;

    void take(std::uint64_t lines) {
        std::vector<Line> before(lines);
        before.swap(lines_);
        remembered_ = 0;
        for (const Line& line : before)
            for (const Ghost& ghost : line)
                if (ghost.key != 0) put(ghost);
    }
    void grow() noexcept {
        try {
            take(std::min(std::max(lines_.size() * growth, first_lines), most_lines_));
        } catch (const std::bad_alloc&) {
        }
    }

    Line& line_of(std::uint64_t key) noexcept { return lines_[(key >> 1) & (lines_.size() - 1)]; }

    void put(const Ghost& ghost) noexcept {
        Line& line = line_of(ghost.key);
        Ghost* least = &line[0];
        for (Ghost& other : line) {
            if (other.key == 0 || other.key == ghost.key) {
                if (other.key == 0) ++remembered_;
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

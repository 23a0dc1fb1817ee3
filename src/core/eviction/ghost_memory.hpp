// SPDX-License-Identifier: Apache-2.0
#pragma once

// What is remembered of items that are not cached: one number per key, 16 bytes each, bounded.
//
// Four keys share a CPU cache line; when it is full the least number is forgotten. Memory is taken when the
// first item is remembered, so a cache that never evicts pays nothing.

#include <array>
#include <bit>
#include <cstdint>
#include <new>
#include <optional>
#include <vector>

namespace nearfetch {

class GhostMemory {
  public:
    /// Room for about `keys`; what is remembered is kept as far as it fits.
    void set_capacity(std::uint64_t keys) {
        const std::uint64_t lines = std::bit_ceil(keys / ways + 1);
        if (lines == wanted_lines_) return;
        if (lines_.empty()) {
            wanted_lines_ = lines;
            return;
        }
        std::vector<Line> before(lines);
        before.swap(lines_);
        wanted_lines_ = lines;
        for (const Line& line : before)
            for (const Ghost& ghost : line)
                if (ghost.key != 0) put(ghost);
    }

    /// Without memory to be had nothing is remembered.
    void remember(std::uint64_t key, double number) noexcept {
        if (lines_.empty()) {
            try {
                lines_.resize(wanted_lines_);
            } catch (const std::bad_alloc&) {
                return;
            }
        }
        put({key | 1, number});
    }

    /// The number, which is then forgotten.
    std::optional<double> recall(std::uint64_t key) noexcept {
        if (lines_.empty()) return std::nullopt;
        for (Ghost& ghost : line_of(key))
            if (ghost.key == (key | 1)) {
                const double number = ghost.number;
                ghost = Ghost{};
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
    using Line = std::array<Ghost, ways>;

    Line& line_of(std::uint64_t key) noexcept { return lines_[(key >> 1) & (lines_.size() - 1)]; }

    void put(const Ghost& ghost) noexcept {
        Line& line = line_of(ghost.key);
        Ghost* least = &line[0];
        for (Ghost& other : line) {
            if (other.key == 0 || other.key == ghost.key) {
                other = ghost;
                return;
            }
            if (other.number < least->number) least = &other;
        }
        if (least->number <= ghost.number) *least = ghost;
    }

    std::vector<Line> lines_;
    std::uint64_t wanted_lines_ = 1;
};

}  // namespace nearfetch

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <new>
#include <vector>

#include "base/types.hpp"

namespace nearfetch {

/// Remembers what was asked for once, where a get has to be repeated before it is worth anything. It forgets
/// by being overwritten: of two things that share a slot it knows the later one. One in 32768 answers is
/// wrong.
class Doorkeeper {
  public:
    void reset() noexcept { marks_.clear(); }
    /// From now on it remembers about as many things as the cache has room for, within limits.
    void cover(std::uint64_t things) noexcept {
        if (things <= slots_ || slots_ == most_slots) [[likely]]
            return;
        slots_ = std::min(std::bit_ceil(things), most_slots);
        reset();
    }

    /// Whether this was asked for before; from now on it was. Its memory is taken when it is asked first;
    /// without any, nothing was.
    bool seen_before(Rank target, std::uint64_t what) noexcept {
        if (marks_.empty() && !take_memory()) [[unlikely]]
            return false;
        const std::uint64_t h = hash(target, what);
        std::uint16_t& slot = marks_[h % slots_];
        const auto mark = static_cast<std::uint16_t>((h >> 48) | 1u);
        const bool known = slot == mark;
        slot = mark;
        return known;
    }

  private:
    static std::uint64_t hash(Rank target, std::uint64_t what) noexcept {
        std::uint64_t h = what + 0x9e3779b97f4a7c15ull * (static_cast<std::uint64_t>(target) + 1);
        h = (h ^ (h >> 32)) * 0xd6e8feb86659fd93ull;
        return h ^ (h >> 29);
    }

    bool take_memory() noexcept try {
        marks_.assign(slots_, 0);
        return true;
    } catch (const std::bad_alloc&) {
        return false;
    }

    static constexpr std::uint64_t most_slots = 1u << 20;
    std::uint64_t slots_ = 1u << 15;
    std::vector<std::uint16_t> marks_;
};

}  // namespace nearfetch

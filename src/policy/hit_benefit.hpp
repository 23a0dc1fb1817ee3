// SPDX-License-Identifier: Apache-2.0
#pragma once

// What a hit is worth to the cache: the network's time that it saves, as it was measured for the target and
// the size, against an ordinary get of the window.
//
// All that a window caches lives in one buffer: the blocks that were read ahead for small gets, the ranges
// that were asked for, those of near targets and of far ones. Who stays is decided by what he has saved per
// byte, so the buffer goes to whichever kind saves more at the moment. A small get out of a block saves a
// latency; a large one saves the transfer, too, less its copy; one of a neighbour on the same node saves
// next to nothing.

#include <algorithm>
#include <cstdint>

#include "policy/bet.hpp"

namespace nearfetch {

class HitBenefit {
  public:
    /// A round of gets that missed is over; each took so long.
    void round_over(double network_per_get_ticks) noexcept {
        if (rounds_ < first_rounds && ++rounds_ == first_rounds) ordinary_ticks_ = network_per_get_ticks;
    }

    double of(const Bet& bet, std::uint64_t size_bytes) const noexcept {
        const double network = bet.network_ticks(size_bytes);
        if (ordinary_ticks_ == 0 || network == 0) return 1;
        return std::clamp((network - bet.hit_ticks(size_bytes)) / ordinary_ticks_, least, most);
    }

  private:
    /// The first round has the set-up of connections in it.
    static constexpr std::uint32_t first_rounds = 2;
    /// A mean of few measurements may be far off.
    static constexpr double least = 1.0 / 64, most = 64;

    double ordinary_ticks_ = 0;  ///< 0: not known yet; then all hits are worth the same
    std::uint32_t rounds_ = 0;
};

}  // namespace nearfetch

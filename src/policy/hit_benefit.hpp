// SPDX-License-Identifier: Apache-2.0
#pragma once

// What a hit is worth to the cache: the network's time that it saves, as measured for the target and the
// size, against an ordinary get of the window.
//
// All that a window caches lives in one buffer: regions that were read ahead for small gets, ranges that were
// asked for, those of targets on the same node and of remote ones. Who stays is decided by what he has saved
// per byte, so the buffer goes to whichever kind saves more at the moment.

#include <algorithm>
#include <cstdint>

#include "policy/cost_model.hpp"

namespace nearfetch {

class HitBenefit {
  public:
    /// A sampling interval of some target is over; each of its gets took so long of the network.
    void record_interval(double network_per_get_ticks) noexcept {
        if (intervals_ < first_intervals && ++intervals_ == first_intervals)
            ordinary_ticks_ = network_per_get_ticks;
    }

    double of(const CostModel& cost, std::uint64_t size_bytes) const noexcept {
        const double network = cost.network_ticks(size_bytes);
        if (ordinary_ticks_ == 0 || network == 0) return 1;
        return std::clamp((network - cost.hit_ticks(size_bytes)) / ordinary_ticks_, least, most);
    }

  private:
    /// The first interval has the set-up of connections in it.
    static constexpr std::uint32_t first_intervals = 2;
    /// A mean of few measurements may be far off.
    static constexpr double least = 1.0 / 64, most = 64;

    double ordinary_ticks_ = 0;  ///< 0: not known yet; then all hits are worth the same
    std::uint32_t intervals_ = 0;
};

}  // namespace nearfetch

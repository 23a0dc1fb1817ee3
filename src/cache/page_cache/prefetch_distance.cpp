// SPDX-License-Identifier: Apache-2.0
#include "cache/page_cache/prefetch_distance.hpp"

#include <cmath>

namespace nearfetch {

void PrefetchDistance::latency(std::uint64_t ticks) noexcept {
    // Near the least that is seen: the rest is queueing, which a longer distance would only add to.
    const auto seen = static_cast<double>(ticks);
    latency_ticks_ =
        latency_ticks_ == 0 || seen < latency_ticks_
            ? seen
            : latency_ticks_ + latency_weight * (std::min(seen, 2 * latency_ticks_) - latency_ticks_);
}

void PrefetchDistance::access(std::uint64_t now_ticks, std::uint64_t waited_ticks,
                              std::uint32_t accesses) noexcept {
    if (has_last_ && now_ticks > last_end_ticks_)
        gap_sum_ += static_cast<double>(now_ticks - last_end_ticks_);
    waited_sum_ += static_cast<double>(waited_ticks);
    has_last_ = true;
    last_end_ticks_ = now_ticks + waited_ticks;
    accesses_ += accesses;
    // What is asked for now is used after distance() accesses: earlier there is nothing to be seen of it.
    if (accesses_ >= std::max(round_least, 2 * distance())) settle();
}

std::uint32_t PrefetchDistance::guess(double gap_ticks) const noexcept {
    const double items = std::ceil(latency_ticks_ / std::max(gap_ticks, 1.0)) + 1;
    return static_cast<std::uint32_t>(
        std::clamp(items, static_cast<double>(config_.least), static_cast<double>(config_.most)));
}

void PrefetchDistance::settle() noexcept {
    const auto count = static_cast<double>(accesses_);
    const double gap = gap_sum_ / count;
    const double period = (gap_sum_ + waited_sum_) / count;
    const bool late = waited_sum_ > late_share * (gap_sum_ + waited_sum_);
    const bool wasted = static_cast<double>(unused_) > unused_share * count;
    const std::uint32_t enough = latency_ticks_ > 0 ? guess(gap) : config_.most;
    accesses_ = unused_ = 0;
    gap_sum_ = waited_sum_ = 0;

    if (pause_left_ > 0 && --pause_left_ == 0) {
        ceiling_ = 0;
        spare_ = config_.spare;
    }
    if (wasted) {
        spare_ = 0;
        distance_ = std::max(config_.least, distance_ / 2);
        trying_ = false;
        ceiling_ = distance_;
        pause_left_ = pause;
        return;
    }
    if (!late) {
        trying_ = false;
        if (distance_ > 2 * enough) distance_ = enough;
        return;
    }
    if (trying_ && period > period_before_ * (1 - gain_least)) {
        distance_ = ceiling_ = before_;
        pause_left_ = pause;
        trying_ = false;
        bounded_ = true;
        return;
    }
    // As far as the guess says, or a little if that is not far enough; not all at once, because the network
    // may be the bound.
    const std::uint32_t further = std::max(enough, distance_ + distance_ / 4 + 1);
    const std::uint32_t next = std::min(distance_ * (bounded_ ? 2 : 4), further);
    const std::uint32_t most = ceiling_ != 0 ? std::min(ceiling_, config_.most) : config_.most;
    if (distance_ >= most) {
        trying_ = false;
        return;
    }
    before_ = distance_;
    period_before_ = period;
    trying_ = true;
    distance_ = std::min(next, most);
}

}  // namespace nearfetch

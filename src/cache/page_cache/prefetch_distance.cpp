// SPDX-License-Identifier: Apache-2.0
#include "cache/page_cache/prefetch_distance.hpp"

#include <cmath>

namespace nearfetch {

void PrefetchDistance::latency(std::uint64_t ticks) noexcept {
    // Tracks the minimum: the rest is queueing, which a longer distance would increase.
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
    // The effect of an adjustment shows after distance() accesses.
    if (accesses_ >= std::max(interval_least, 2 * distance())) adjust();
}

std::uint32_t PrefetchDistance::guess(double gap_ticks) const noexcept {
    const double items = std::ceil(latency_ticks_ / std::max(gap_ticks, 1.0)) + 1;
    return static_cast<std::uint32_t>(
        std::clamp(items, static_cast<double>(config_.least), static_cast<double>(config_.most)));
}

void PrefetchDistance::adjust() noexcept {
    const auto count = static_cast<double>(accesses_);
    const double gap = gap_sum_ / count;
    const double period = (gap_sum_ + waited_sum_) / count;
    const bool late = waited_sum_ > late_share * (gap_sum_ + waited_sum_);
    const bool wasted = static_cast<double>(unused_) > unused_share * count;
    const std::uint32_t enough = latency_ticks_ > 0 ? guess(gap) : config_.most;
    accesses_ = unused_ = 0;
    gap_sum_ = waited_sum_ = 0;

    if (backoff_left_ > 0 && --backoff_left_ == 0) {
        ceiling_ = 0;
        margin_ = config_.margin;
    }
    if (wasted) {
        margin_ = 0;
        distance_ = std::max(config_.least, distance_ / 2);
        increasing_ = false;
        ceiling_ = distance_;
        backoff_left_ = backoff_intervals;
        return;
    }
    if (!late) {
        increasing_ = false;
        if (distance_ > 2 * enough) distance_ = enough;
        return;
    }
    if (increasing_ && period > period_before_ * (1 - gain_least)) {
        distance_ = ceiling_ = before_;
        backoff_left_ = backoff_intervals;
        increasing_ = false;
        bounded_ = true;
        return;
    }
    // Up to the guess, or a little more if that is too short. In steps, because bandwidth may be the limit.
    const std::uint32_t further = std::max(enough, distance_ + distance_ / 4 + 1);
    const std::uint32_t next = std::min(distance_ * (bounded_ ? 2 : 4), further);
    const std::uint32_t most = ceiling_ != 0 ? std::min(ceiling_, config_.most) : config_.most;
    if (distance_ >= most) {
        increasing_ = false;
        return;
    }
    before_ = distance_;
    period_before_ = period;
    increasing_ = true;
    distance_ = std::min(next, most);
}

}  // namespace nearfetch

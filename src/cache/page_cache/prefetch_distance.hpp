// SPDX-License-Identifier: Apache-2.0
#pragma once

// How far ahead to prefetch: the k of 000, Listing 7, chosen while the program runs (000, section VII).
//
// An item that is asked for d accesses before its use is there in time if d times the time per access is not
// less than the latency. So the first guess is latency / gap: the latency of GETs that were waited for from
// the start, and the program's own time between two accesses, waits taken out. (With the waits it would be a
// guess that confirms itself: at any distance that is too short the program takes latency / distance per
// access.) The guess is wrong where the network takes longer per message than the program per access: then no
// distance is enough, and a longer one only fills queues. Hence the correction: while time is lost in waiting
// the distance grows, at most to four times itself at a time, and when a step has not made the accesses
// faster it is taken back and that is the ceiling for a while. Items that are never used halve it. How much
// was waited counts, not how often: items that are asked for in a burst arrive in one, and only the first is
// late.
//
// Pure: ticks are whatever unit the caller counts in.

#include <algorithm>
#include <cstdint>

namespace nearfetch {

struct PrefetchDistanceConfig {
    std::uint32_t least = 1;
    std::uint32_t most = 256;
    std::uint32_t start = 4;  ///< before anything was measured
    std::uint32_t spare = 0;  ///< more than are needed, unless they are not used
};

class PrefetchDistance {
  public:
    explicit PrefetchDistance(const PrefetchDistanceConfig& config = {}) noexcept
        : config_(config),
          distance_(std::clamp(config.start, config.least, config.most)),
          spare_(config.spare) {}

    /// How many accesses ahead.
    std::uint32_t distance() const noexcept { return std::min(distance_ + spare_, config_.most); }

    /// A GET took that long, from its start until the data was there (not: until somebody asked).
    void latency(std::uint64_t ticks) noexcept;
    /// Accesses to what was prefetched: the last began at `now_ticks`, and they had to wait for
    /// `waited_ticks`: something came late if that is not 0.
    void access(std::uint64_t now_ticks, std::uint64_t waited_ticks, std::uint32_t accesses = 1) noexcept;
    /// Items were forgotten before they were used.
    void unused(std::uint32_t items) noexcept { unused_ += items; }

  private:
    static constexpr std::uint32_t round_least = 4;  ///< accesses between two decisions
    static constexpr double late_share = 0.02;       ///< of the time, spent in waiting
    static constexpr double unused_share = 1.0 / 4;
    static constexpr double gain_least = 0.02;     ///< a step has to make the accesses faster by that much
    static constexpr std::uint32_t pause = 64;     ///< rounds until a ceiling is tried again
    static constexpr double latency_weight = 0.1;  ///< of a new measurement above the mean

    void settle() noexcept;
    std::uint32_t guess(double gap_ticks) const noexcept;

    PrefetchDistanceConfig config_;
    std::uint32_t distance_;
    std::uint32_t spare_;
    double latency_ticks_ = 0;
    bool has_last_ = false;
    std::uint64_t last_end_ticks_ = 0;  ///< when the last access was over

    // The round.
    std::uint32_t accesses_ = 0;
    std::uint32_t unused_ = 0;
    double gap_sum_ = 0;
    double waited_sum_ = 0;

    // The last step up, until it has proved itself.
    bool trying_ = false;
    std::uint32_t before_ = 0;
    double period_before_ = 0;
    std::uint32_t ceiling_ = 0;  ///< 0: none
    bool bounded_ = false;       ///< there has been a ceiling
    std::uint32_t pause_left_ = 0;
};

}  // namespace nearfetch

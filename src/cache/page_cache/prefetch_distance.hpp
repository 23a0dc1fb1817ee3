// SPDX-License-Identifier: Apache-2.0
#pragma once

// The prefetch distance: the k of 000, Listing 7, chosen at run time (000, section VII).
//
// A prefetch issued d accesses before its use is in time if d times the time per access is at least the
// latency. So the guess is latency / gap. The latency is that of GETs that were waited for from their start.
// The gap is the program's own time between accesses, without waits: with waits, any distance that is too
// short would confirm itself.
//
// The guess is too optimistic where the network's time per message exceeds the gap: then no distance
// suffices, and a longer one only fills queues. So the distance grows while time is lost in waiting, at most
// fourfold per step. A step that does not make accesses faster is undone, and becomes a ceiling for a backoff
// period. Unused prefetches halve the distance. The measure is the time waited, not the number of waits:
// prefetches issued in a burst also arrive in one, and only the first is late.
//
// Pure: ticks have any unit.

#include <algorithm>
#include <cstdint>

namespace nearfetch {

struct PrefetchDistanceConfig {
    std::uint32_t least = 1;
    std::uint32_t most = 256;
    std::uint32_t start = 4;   ///< before the first measurement
    std::uint32_t margin = 0;  ///< added to the needed distance, unless prefetches go unused
};

/// What a cache has seen of prefetches, for the owner of a PrefetchDistance.
struct PrefetchFeedback {
    std::uint64_t latency_ticks = 0;     ///< of the last GET that was waited for; 0: none yet
    std::uint64_t unused = 0;            ///< lines that were evicted unused, and dropped prefetches
    std::uint32_t outstanding_most = 0;  ///< limit of outstanding prefetches
};

class PrefetchDistance {
  public:
    explicit PrefetchDistance(const PrefetchDistanceConfig& config = {}) noexcept
        : config_(config),
          distance_(std::clamp(config.start, config.least, config.most)),
          margin_(config.margin) {}

    /// The present distance, in accesses.
    std::uint32_t distance() const noexcept { return std::min(distance_ + margin_, config_.most); }

    /// A GET took that long, from its start to its completion.
    void latency(std::uint64_t ticks) noexcept;
    /// Accesses to prefetched data. The last began at `now_ticks`; they waited `waited_ticks`, which is not 0
    /// if data was late.
    void access(std::uint64_t now_ticks, std::uint64_t waited_ticks, std::uint32_t accesses = 1) noexcept;
    /// Items that were evicted before their use.
    void unused(std::uint32_t items) noexcept { unused_ += items; }

  private:
    static constexpr std::uint32_t interval_least = 4;  ///< accesses per adjustment
    static constexpr double late_share = 0.02;          ///< share of the time in waits that counts as late
    static constexpr double unused_share = 1.0 / 4;
    static constexpr double gain_least = 0.02;  ///< a step has to reduce the time per access by this share
    /// adjustments before a ceiling is tried again
    static constexpr std::uint32_t backoff_intervals = 64;
    static constexpr double latency_weight = 0.1;  ///< weight of a new latency above the mean

    void adjust() noexcept;
    std::uint32_t guess(double gap_ticks) const noexcept;

    PrefetchDistanceConfig config_;
    std::uint32_t distance_;
    std::uint32_t margin_;
    double latency_ticks_ = 0;
    bool has_last_ = false;
    std::uint64_t last_end_ticks_ = 0;  ///< end of the last access

    // The sampling interval.
    std::uint32_t accesses_ = 0;
    std::uint32_t unused_ = 0;
    double gap_sum_ = 0;
    double waited_sum_ = 0;

    // The last increase, until it is confirmed.
    bool increasing_ = false;
    std::uint32_t before_ = 0;
    double period_before_ = 0;
    std::uint32_t ceiling_ = 0;  ///< 0: none
    bool bounded_ = false;       ///< whether there was ever a ceiling
    std::uint32_t backoff_left_ = 0;
};

}  // namespace nearfetch

// SPDX-License-Identifier: Apache-2.0
#pragma once

// Totals over time, in fixed memory: a few dozen intervals of equal length. When a run outlasts them, pairs
// of them are joined and each gets twice as long. Intervals begin at the process's own zero and have a power
// of two of a shortest length, so those of several windows and processes can be added.

#include <array>
#include <cstddef>
#include <cstdint>

namespace nearfetch {

/// What a window had counted at some time.
struct TimelineTotals {
    double hits = 0;
    double gets = 0;
    double bytes_from_cache = 0;
    double bytes_from_network = 0;
};

class Timeline {
  public:
    static constexpr std::size_t most_intervals = 64;
    static constexpr double shortest_s = 1.0 / 64;

    /// Whether something is to be noted: the last note is an interval old.
    bool is_due(double now_s) const noexcept { return now_s - last_s_ >= interval_s_; }
    /// The totals at a time. What came since the last note is spread evenly over the time between.
    void note(double now_s, const TimelineTotals& totals) noexcept {
        while (now_s >= interval_s_ * most_intervals)
            double_intervals();
        const double begin = last_s_, length = now_s - begin;
        const auto first = static_cast<std::size_t>(begin / interval_s_);
        const auto last = static_cast<std::size_t>(now_s / interval_s_);
        for (std::size_t i = first; i <= last; ++i) {
            const double from = static_cast<double>(i) * interval_s_, to = from + interval_s_;
            const double part = (to < now_s ? to : now_s) - (from > begin ? from : begin);
            add(intervals_[i], totals, length > 0 ? part / length : 1.0);
        }
        last_ = totals;
        last_s_ = now_s > begin ? now_s : begin;
    }
    double interval_s() const noexcept { return interval_s_; }
    /// How many intervals have begun.
    std::size_t size() const noexcept { return static_cast<std::size_t>(last_s_ / interval_s_) + 1; }
    const TimelineTotals& at(std::size_t interval) const noexcept { return intervals_[interval]; }
    /// The program began to use the window at that time.
    void begin(double now_s) noexcept {
        while (now_s >= interval_s_ * most_intervals)
            double_intervals();
        last_s_ = now_s;
    }

  private:
    void add(TimelineTotals& to, const TimelineTotals& totals, double share) const noexcept {
        to.hits += (totals.hits - last_.hits) * share;
        to.gets += (totals.gets - last_.gets) * share;
        to.bytes_from_cache += (totals.bytes_from_cache - last_.bytes_from_cache) * share;
        to.bytes_from_network += (totals.bytes_from_network - last_.bytes_from_network) * share;
    }
    void double_intervals() noexcept {
        for (std::size_t i = 0; i < most_intervals; ++i) {
            TimelineTotals joined;
            for (std::size_t half = 2 * i; half < 2 * i + 2 && half < most_intervals; ++half) {
                joined.hits += intervals_[half].hits;
                joined.gets += intervals_[half].gets;
                joined.bytes_from_cache += intervals_[half].bytes_from_cache;
                joined.bytes_from_network += intervals_[half].bytes_from_network;
            }
            intervals_[i] = joined;
        }
        interval_s_ *= 2;
    }

    std::array<TimelineTotals, most_intervals> intervals_{};
    TimelineTotals last_;
    double last_s_ = 0;
    double interval_s_ = shortest_s;
};

}  // namespace nearfetch

// SPDX-License-Identifier: Apache-2.0
#pragma once

// What combining one target's puts saves, and what it costs, measured while it happens.
//
// A combined put saves its own call, and costs a copy and its share of the messages in which all leave. Where
// each put is flushed, or a put takes no longer than a copy, that saves nothing. What a put's own call takes
// is measured on puts that are sent alone: the first eight, and one of 32 while the breaker is open.

#include <algorithm>
#include <cstdint>
#include <utility>

#include "policy/constants.hpp"
#include "policy/cost_model.hpp"

namespace nearfetch {

class PutCostModel {
  public:
    /// Whether it is known what a put takes that is sent alone.
    bool is_known() const noexcept { return alone_ticks_ != 0; }

    /// A put was sent alone and took so long.
    void record_alone(std::uint64_t ticks) noexcept {
        // The least of a few: the first ones find cold caches and connections that are not there yet.
        const auto seen = static_cast<double>(ticks);
        least_alone_ = least_alone_ == 0 ? seen : std::min(least_alone_, seen);
        if (++timed_alone_ < policy::first_puts) return;
        alone_ticks_ = std::exchange(least_alone_, 0);
        timed_alone_ = 0;
    }
    /// Whether the next put that is combined is to be timed: one of an odd number, so that it is not always
    /// the first one after a flush.
    bool should_time() const noexcept { return combined_in_all_ % (policy::interval_accesses - 1) == 0; }
    /// A put was combined, which took so long; 0: nobody knows.
    void record_combined(std::uint64_t ticks) noexcept {
        ++combined_;
        ++combined_in_all_;
        if (ticks == 0) return;
        const auto seen = static_cast<double>(ticks);
        // The first ones find memory that is not there yet.
        copy_ticks_ = timed_copies_ < policy::first_puts
                          ? (copy_ticks_ == 0 ? seen : std::min(copy_ticks_, seen))
                          : steady_mean(copy_ticks_, seen);
        timed_copies_ += timed_copies_ < policy::first_puts ? 1 : 0;
    }
    /// All that was combined has been sent, which took so long.
    void record_sent(std::uint64_t ticks) noexcept { send_ticks_ += ticks; }

    bool is_interval_over() const noexcept { return combined_ >= policy::interval_accesses; }
    Balance end_interval() noexcept {
        Balance balance;
        balance.accesses = static_cast<double>(std::exchange(combined_, 0));
        balance.spent = balance.accesses * (hit_cost().hit_ticks + copy_ticks_) +
                        static_cast<double>(std::exchange(send_ticks_, 0));
        balance.saved = balance.plain = balance.accesses * alone_ticks_;
        combined_ticks_ = balance.spent / balance.accesses;
        return balance;
    }
    /// What a put takes that is sent alone, and one that is combined, ticks; 0: not known.
    double alone_ticks() const noexcept { return alone_ticks_; }
    double combined_ticks() const noexcept { return combined_ticks_; }

  private:
    std::uint64_t combined_ = 0;  ///< in this interval
    std::uint64_t combined_in_all_ = 0;
    std::uint64_t send_ticks_ = 0;
    std::uint32_t timed_alone_ = 0;
    std::uint32_t timed_copies_ = 0;
    double least_alone_ = 0;  ///< of the timed ones
    double alone_ticks_ = 0;
    double copy_ticks_ = 0;
    double combined_ticks_ = 0;
};

}  // namespace nearfetch

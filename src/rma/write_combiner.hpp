// SPDX-License-Identifier: Apache-2.0
#pragma once

// Write-behind of a window's puts: small ones are combined (combined_puts.hpp), and sent as few large ones
// when they have to be complete at the target, or when there is no more room. What is sent is packed into the
// memory here and stays there until the library has completed it on this side.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/types.hpp"
#include "cache/page_cache/combined_puts.hpp"
#include "policy/bet.hpp"
#include "transport/window_transfers.hpp"

namespace nearfetch {

/// Never slower: combining a target's puts is a bet like caching its gets (bet.hpp), and a simpler one. What
/// a put's own call takes is measured on puts that are sent alone; what a combined one takes is what a hit
/// does, its copy, and its share of the messages in which they leave. Where that is no less (one put for each
/// flush, a neighbour in shared memory, a library that combines puts itself) the target's puts go alone for a
/// while, at first for a short one.
class PutBet {
  public:
    bool combines() const noexcept { return alone_left_ == 0; }

    /// Whether the next put that goes alone is to be timed.
    bool times_alone() const noexcept { return is_new() || alone_left_ % timed_alone == 0; }
    /// A put went alone and took so long; 0: nobody knows.
    void went_alone(std::uint64_t ticks) noexcept {
        if (alone_left_ != 0) --alone_left_;
        if (ticks == 0) return;
        // The least of a few: the first ones find cold caches and connections that are not there yet, and
        // what others make of a slow minute must not look like a gain for as long as nothing goes alone.
        const auto seen = static_cast<double>(ticks);
        least_alone_ = least_alone_ == 0 ? seen : std::min(least_alone_, seen);
        if (++timed_alones_ < first_alone) return;
        alone_ticks_ = std::exchange(least_alone_, 0);
        timed_alones_ = 0;
    }

    /// How many puts need not be looked at until one is to be timed, or combined; they are taken as gone.
    std::uint32_t go_alone() noexcept {
        const std::uint64_t left = is_new() ? 0 : alone_left_ % timed_alone;
        alone_left_ -= left;
        return static_cast<std::uint32_t>(left);
    }

    /// Whether the next put that is combined is to be timed.
    bool times_combining() const noexcept { return copies_to_timed_ == 0; }
    /// A put was combined, which took so long; 0: nobody knows.
    void combined(std::uint64_t ticks) noexcept {
        ++combined_;
        if (copies_to_timed_ != 0) --copies_to_timed_;
        if (ticks == 0) return;
        copies_to_timed_ = timed - 1;
        const auto seen = static_cast<double>(ticks);
        if (learning_copies_ != 0) {
            // The first ones find memory that is not there yet: 40 times as long.
            --learning_copies_;
            copy_ticks_ = copy_ticks_ == 0 ? seen : std::min(copy_ticks_, seen);
        } else {
            copy_ticks_ = steady_mean(copy_ticks_, seen);
        }
    }
    /// All that was combined has been sent.
    void sent(std::uint64_t ticks) noexcept {
        send_ticks_ += ticks;
        if (combined_ < round_puts) return;
        const double each = ours_ticks_ = hit_cost().hit_ticks + copy_ticks_ +
                                          static_cast<double>(send_ticks_) / static_cast<double>(combined_);
        if (each < gain * alone_ticks_) {
            lost_rounds_ = 0;
            pause_ = least_pause;
        } else if (++lost_rounds_ == 2) {
            lost_rounds_ = 0;
            alone_left_ = pause_;
            pause_ = std::min(pause_ * 4, most_pause);
        }
        combined_ = send_ticks_ = 0;
    }

    /// What a put takes that goes alone, and one that is combined; 0: not known.
    double alone_ticks() const noexcept { return alone_ticks_; }
    double ours_ticks() const noexcept { return ours_ticks_; }

  private:
    /// It is not known yet what a put takes that goes alone.
    bool is_new() const noexcept { return alone_ticks_ == 0; }

    static constexpr std::uint32_t first_alone = 8;
    /// Odd, so that it is not always the first one after a flush, which takes twice as long as the others.
    static constexpr std::uint32_t timed = 31;
    /// In shared memory a put is as short as looking at it.
    static constexpr std::uint64_t timed_alone = 256;
    static constexpr std::uint64_t round_puts = 32;
    static constexpr std::uint64_t least_pause = 256;
    static constexpr std::uint64_t most_pause = 1u << 24;
    static constexpr double gain = 0.9;
    static constexpr std::uint32_t first_copies = 8;

    std::uint32_t learning_copies_ = first_copies;
    std::uint32_t copies_to_timed_ = 0;
    std::uint32_t lost_rounds_ = 0;
    std::uint64_t alone_left_ = first_alone;  ///< puts that still go alone
    std::uint64_t pause_ = least_pause;
    std::uint64_t combined_ = 0;  ///< in this round
    std::uint64_t send_ticks_ = 0;
    std::uint32_t timed_alones_ = 0;
    double least_alone_ = 0;  ///< of these
    double alone_ticks_ = 0;
    double copy_ticks_ = 0;
    double ours_ticks_ = 0;
};

/// The puts of a window that are combined or under way. Whatever is combined can be sent at any time
/// without more memory: has_room() sees to that.
class WriteCombiner {
  public:
    /// \param buffer_bytes half of it for what is combined, half for what is under way
    /// \throws std::bad_alloc
    WriteCombiner(Rank ranks, std::uint64_t buffer_bytes);

    const CombinedPuts& combined() const noexcept { return combined_; }
    /// Whether something of that target is combined or under way.
    bool has(Rank target) const noexcept;

    /// Whether there is room for all of these. \pre they have bytes
    bool has_room(std::span<const ByteRun> runs) const noexcept;
    void add(Rank target, const ByteRun& run) noexcept { combined_.add(target, run.range(), run.origin); }
    /// Forgets what is combined of the range: something newer has gone to the network.
    void discard(Rank target, ByteRange range) noexcept { combined_.discard(target, range); }

    /// The runs of the next message for that target, from now on under way; their origins lie one after the
    /// other. Valid until the next call. \pre something is combined for it
    std::span<const ByteRun> next_message(Rank target) noexcept;
    /// It has been started: who completes what was issued until then completes it.
    void started(std::uint64_t issued) noexcept { under_way_.back().issued = issued; }

    /// What was started for the target until then has left.
    void completed(Rank target, std::uint64_t since) noexcept;
    /// The target of what has been under way for longest; -1: of nothing.
    Rank oldest_target() const noexcept { return under_way_.empty() ? -1 : under_way_.front().target; }

  private:
    struct UnderWay {
        Rank target;
        std::uint64_t bytes;
        std::uint64_t issued;
    };
    static constexpr std::uint64_t not_started = ~std::uint64_t{0};
    static constexpr std::size_t most_under_way = 256;

    std::uint64_t ring_bytes() const noexcept { return combined_.capacity_bytes(); }

    CombinedPuts combined_;
    std::unique_ptr<std::byte[]> memory_;  ///< a ring
    std::uint64_t begin_ = 0;
    std::uint64_t used_ = 0;
    std::vector<UnderWay> under_way_;  ///< in the ring's order
    std::vector<ByteRun> message_;
};

}  // namespace nearfetch

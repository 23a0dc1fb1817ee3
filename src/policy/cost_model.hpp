// SPDX-License-Identifier: Apache-2.0
#pragma once

// What caching one target's gets saves, and what it costs, measured while it happens.
//
// A hit saves what the network takes for a get of its size, less what a hit takes. A miss costs the
// bookkeeping and the copy into the cache, on top of the network's time. After a sampling interval of 32
// accesses that are no plain hits, end_interval() says how these compare; a circuit breaker decides what
// follows from it.
//
// Two kinds of gets say little about a plain one. A miss that fetches a whole region takes longer; so now and
// then one fetches just what it was asked for, and shows how long that takes. And a get of bytes that are in
// flight for another saves one of many that a flush completes together: the start, and a share of the
// completion.
//
// What is measured of our own work is capped, because on a machine with more ranks than cores it may contain
// somebody else's time slice.

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <utility>

#include "policy/constants.hpp"

namespace nearfetch {

/// A moving mean that no single measurement moves far; 0: there was none yet.
template <class Number>
constexpr Number steady_mean(Number mean, Number seen) noexcept {
    return mean == 0 ? seen : std::min(mean * Number(1.5), mean + (seen - mean) / 8);
}

/// What a hit costs; of the process.
struct HitCost {
    double hit_ticks;              ///< beside its copy
    double copy_ticks_per_byte;    ///< measured
    std::uint64_t most_own_ticks;  ///< more than that, and the processor was taken away
    double unnoticed_ticks;        ///< what may be added to an access
};

/// Measured once per process, in some 10 us; in a simulation the same in each run.
const HitCost& hit_cost() noexcept;

/// Of the accesses of one sampling interval, ticks.
struct Balance {
    double accesses = 0;
    double plain = 0;  ///< what all would have taken without a cache
    double saved = 0;  ///< what hits would have taken of the network
    double spent = 0;  ///< our own work
    // Of gets that were left out, because their ranges are not in the sample.
    double left_out = 0;
    double spent_on_them = 0;  ///< and on their completions
    double known_each = 0;     ///< what an access took without a cache when there were any

    /// What an access of either kind takes without a cache.
    double plain_each() const noexcept { return accesses != 0 ? plain / accesses : known_each; }
    /// What all accesses have lost; below 0: gained.
    double loss() const noexcept { return spent + spent_on_them - saved; }
    void add(const Balance& other) noexcept {
        accesses += other.accesses + other.left_out;
        plain += other.plain + other.left_out * other.plain_each();
        saved += other.saved;
        spent += other.spent + other.spent_on_them;
    }
};

class CostModel {
  public:
    /// A get that went to the network. \param own_ticks our work around the library's call
    void record_miss(std::uint64_t size_bytes, std::uint64_t start_ticks, std::uint64_t own_ticks) noexcept {
        start_ticks_ += start_ticks;
        alone_ticks_ += network_ticks(size_bytes);
        add_own(own_ticks);
        ++misses_;
        ++in_flight_;
    }
    /// One that fetched `fetched_bytes` for a get of `size_bytes`.
    void record_region_miss(std::uint64_t size_bytes, std::uint64_t fetched_bytes, std::uint64_t start_ticks,
                            std::uint64_t own_ticks) noexcept {
        record_miss(size_bytes, start_ticks, own_ticks);
        const double plain = network_by_size_[size_class(size_bytes)];
        const double region = network_by_size_[size_class(fetched_bytes)];
        if (plain != 0 && region > plain) region_excess_ += 1 - plain / region;
    }
    /// Whether the next miss may fetch a region; else it shows how long a plain get takes.
    bool may_fetch_region() noexcept { return ++regions_ % policy::regions_per_plain_get != 0; }
    /// A get that went to the network without a lookup, although the target is cached.
    void record_bypassed() noexcept { ++bypassed_; }
    /// The same because its range is not in the sample. \param own_ticks to find that out
    void record_left_out(std::uint64_t own_ticks) noexcept {
        record_bypassed();
        ++left_out_;
        add_own_on_them(own_ticks);
    }
    /// A get of bytes that were in flight for another.
    void record_pending_hit(std::uint64_t size_bytes, std::uint64_t own_ticks) noexcept {
        record_slow_hit(size_bytes, own_ticks);
        ++in_flight_;
    }
    /// A hit that was not found by the fast path.
    void record_slow_hit(std::uint64_t size_bytes, std::uint64_t own_ticks) noexcept {
        add_own(own_ticks);
        ++slow_hits_;
        slow_hit_bytes_ += size_bytes;
    }
    /// A completion of all gets, after which so many ranges entered the cache or went to who waited for them.
    void record_completion(std::uint64_t network_ticks, std::uint64_t own_ticks, std::uint64_t ranges,
                           std::uint64_t bytes) noexcept {
        // What was bypassed is none of this account's.
        const std::uint64_t gets = in_flight_ + bypassed_;
        completion_ticks_ += bypassed_ == 0 ? network_ticks : network_ticks * in_flight_ / gets;
        if (in_flight_ == 0 && bypassed_ != 0)
            add_own_on_them(own_ticks);
        else
            add_own(own_ticks, ranges, bytes);
        in_flight_ = bypassed_ = 0;
    }
    /// That of a get with a request.
    void record_request_completion(std::uint64_t network_ticks, std::uint64_t own_ticks) noexcept {
        completion_ticks_ += network_ticks;
        add_own(own_ticks);
        in_flight_ -= std::min<std::uint64_t>(in_flight_, 1);
    }
    /// So many bytes were copied into the cache; all that was done for them took so long.
    void record_copy(std::uint64_t size_bytes, std::uint64_t own_ticks) noexcept {
        if (size_bytes < 4 * policy::long_copy_bytes || own_ticks > hit_cost().most_own_ticks) return;
        long_copy_rate_ =
            steady_mean(long_copy_rate_, static_cast<double>(own_ticks) / static_cast<double>(size_bytes));
    }
    /// A get of `size_bytes` that was alone in flight took `network_ticks` in all.
    void record_lone_get(std::uint64_t size_bytes, std::uint64_t network_ticks) noexcept {
        float& mean = network_by_size_[size_class(size_bytes)];
        mean = steady_mean(mean, static_cast<float>(network_ticks));
    }

    /// Whether nothing was recorded in this interval.
    bool is_idle() const noexcept { return misses_ + slow_hits_ + left_out_ == 0; }
    /// \param hits of the fast path; in a sample these count, too
    bool is_interval_over(std::uint64_t hits = 0) const noexcept {
        const std::uint64_t seen = misses_ + slow_hits_ + (left_out_ != 0 ? hits : 0);
        return seen >= policy::interval_accesses || left_out_ >= most_left_out;
    }
    /// Ends the interval. \param hits of the fast path, of `hit_bytes` in all
    Balance end_interval(std::uint64_t hits, std::uint64_t hit_bytes) noexcept {
        const auto misses = static_cast<double>(misses_);
        const double network = static_cast<double>(start_ticks_ + completion_ticks_);
        const double excess = misses_ == 0 ? 0 : network * region_excess_ / misses;
        if (misses_ != 0) network_per_get_ = (network - excess) / misses;
        if (alone_ticks_ != 0) overlap_ = std::min((network - excess) / alone_ticks_, 1.0);
        Balance balance;
        balance.accesses = misses + static_cast<double>(hits + slow_hits_);
        balance.saved = saved(hits, hit_bytes) + saved(slow_hits_, slow_hit_bytes_);
        balance.spent = static_cast<double>(own_ticks_) + excess;
        if (hits != 0) balance.spent += static_cast<double>(hits) * hit_ticks(hit_bytes / hits);
        balance.plain = balance.saved + network - excess;
        if (balance.accesses != 0) {
            plain_per_get_ = balance.plain / balance.accesses;
            cached_per_get_ = (balance.spent + network - excess) / balance.accesses;
        }
        balance.left_out = static_cast<double>(std::exchange(left_out_, 0));
        balance.spent_on_them = static_cast<double>(std::exchange(ticks_on_them_, 0));
        balance.known_each = plain_per_get_;
        start_ticks_ = completion_ticks_ = own_ticks_ = misses_ = slow_hits_ = slow_hit_bytes_ = 0;
        region_excess_ = alone_ticks_ = 0;
        return balance;
    }

    /// What the network takes for a get of `size_bytes`: as measured, or as for the next size that was
    /// measured, smaller ones first; 0: nothing was.
    double network_ticks(std::uint64_t size_bytes) const noexcept {
        if (const double known = network_ticks_up_to(size_bytes); known != 0) return known;
        const std::size_t own = size_class(size_bytes);
        for (std::size_t above = own + 1; above < size_classes; ++above)
            if (network_by_size_[above] != 0) return network_by_size_[above];
        return 0;
    }
    /// What a hit of `size_bytes` takes.
    double hit_ticks(std::uint64_t size_bytes) const noexcept {
        return hit_cost().hit_ticks + copy_ticks(size_bytes);
    }
    /// True where copying `size_bytes` takes a noticeable share of what the network takes for them.
    bool is_copy_expensive(std::uint64_t size_bytes) const noexcept {
        const float network = network_by_size_[size_class(size_bytes)];
        return network != 0 && copy_ticks(size_bytes) > policy::copy_share * static_cast<double>(network);
    }
    /// What a get took in the last interval: of the network, with the cache, and what it would have taken
    /// without one, ticks; 0 before the first.
    double network_per_get() const noexcept { return network_per_get_; }
    double cached_per_get() const noexcept { return cached_per_get_; }
    double plain_per_get() const noexcept { return plain_per_get_; }

  private:
    static std::size_t size_class(std::uint64_t size_bytes) noexcept {
        return std::min<std::size_t>(static_cast<std::size_t>(std::bit_width(size_bytes)), size_classes - 1);
    }

    /// Of that size, or of the next smaller one that was measured; 0: none was.
    double network_ticks_up_to(std::uint64_t size_bytes) const noexcept {
        for (std::size_t below = size_class(size_bytes) + 1; below-- > 0;)
            if (network_by_size_[below] != 0) return network_by_size_[below];
        return 0;
    }

    /// Adds our own work, up to what it can have taken.
    void add_own(std::uint64_t own_ticks, std::uint64_t ranges = 0, std::uint64_t bytes = 0) noexcept {
        const std::uint64_t intervals = 1 + ranges / policy::interval_accesses;
        const std::uint64_t most =
            intervals * hit_cost().most_own_ticks + static_cast<std::uint64_t>(2 * copy_ticks(bytes));
        own_ticks_ += std::min(own_ticks, most);
    }

    /// The same for gets that were bypassed.
    void add_own_on_them(std::uint64_t own_ticks) noexcept {
        ticks_on_them_ += std::min(own_ticks, hit_cost().most_own_ticks);
    }

    /// What the network would have taken for so many hits: as long as for gets of that size that were alone
    /// there, less what the gets of this interval saved by travelling together.
    double saved(std::uint64_t hits, std::uint64_t hit_bytes) const noexcept {
        if (hits == 0) return 0;
        const double alone = network_ticks_up_to(hit_bytes / hits);
        return static_cast<double>(hits) * (alone == 0 ? network_per_get_ : alone * overlap_);
    }

    /// A long copy meets memory that is not in the processor's cache: measured where it is made anyway.
    double copy_ticks(std::uint64_t size_bytes) const noexcept {
        const double rate = hit_cost().copy_ticks_per_byte;
        return static_cast<double>(size_bytes) *
               (size_bytes < policy::long_copy_bytes ? rate : std::max(rate, long_copy_rate_));
    }

    static constexpr std::size_t size_classes = 28;
    /// Twice as many as come with an interval where every range is read as often.
    static constexpr std::uint64_t most_left_out = 2 * policy::sampled_divisor * policy::interval_accesses;

    std::uint64_t misses_ = 0;  ///< of this interval, as all that follows
    std::uint64_t slow_hits_ = 0;
    std::uint64_t slow_hit_bytes_ = 0;
    std::uint64_t start_ticks_ = 0;       ///< of the library, for what missed
    std::uint64_t completion_ticks_ = 0;  ///< of the library, for completions
    std::uint64_t own_ticks_ = 0;
    double region_excess_ = 0;     ///< shares of what misses took, added up
    double alone_ticks_ = 0;       ///< what the misses would have taken one by one
    double overlap_ = 1;           ///< of that, what they took
    std::uint64_t in_flight_ = 0;  ///< misses and pending hits, until all are completed
    std::uint64_t bypassed_ = 0;   ///< the same of gets that were bypassed
    std::uint64_t left_out_ = 0;
    std::uint64_t ticks_on_them_ = 0;
    std::uint64_t regions_ = 0;
    double network_per_get_ = 0;
    double plain_per_get_ = 0;
    double cached_per_get_ = 0;
    double long_copy_rate_ = 0;  ///< ticks per byte; 0: not known
    std::array<float, size_classes> network_by_size_{};
};

}  // namespace nearfetch

// SPDX-License-Identifier: Apache-2.0
#pragma once

// Sizes the regions of read-ahead: how much is fetched around a miss, if anything.
//
// Each removed entry of read-ahead reports its uses. An evicted one has displaced others, so it must have
// been used more than one that went stale. The most popular entries are never evicted. So each eviction also
// samples an entry that is still there. The estimate is a weighted moving mean with capped contributions: a
// few unused entries do not end read-ahead, and a few very popular ones do not hide the others. If the mean
// is low, the size is halved, down to a few lines; then read-ahead stops except for probes. If it is high,
// the size is doubled, up to the setting.

#include <algorithm>
#include <cstdint>

namespace nearfetch {

class ReadAheadSizer {
  public:
    /// \param most_bytes largest region; 0: no read-ahead
    explicit ReadAheadSizer(std::uint64_t most_bytes) noexcept : most_(most_bytes), bytes_(most_bytes) {}

    /// Region size; regions begin at multiples of it.
    std::uint64_t bytes() const noexcept { return bytes_; }

    /// Whether a new entry of read-ahead is expected to be used again.
    bool will_be_used() const noexcept { return uses_ >= least_uses; }

    /// Sometimes true anyway, as a probe.
    bool pays() noexcept { return will_be_used() || ++refused_ % probe_interval == 0; }

    /// Reports an entry's uses after its first: it was removed, or sampled in place of an evicted one.
    void record_removal(std::uint32_t uses, bool evicted) noexcept {
        const double counted = static_cast<double>(uses) * (evicted ? 1 : stale_use);
        const double weight = evicted ? evicted_weight : 1;
        weights_ = std::min(weights_ + weight, most_weights);
        uses_ += (std::min(counted, most_counted) - uses_) * weight / weights_;
        if (uses_ < least_uses && bytes_ / 2 >= least_bytes)
            try_size(bytes_ / 2);
        else if (uses_ > many_uses && bytes_ * 2 <= most_)
            try_size(bytes_ * 2);
    }

  private:
    void try_size(std::uint64_t bytes) noexcept {
        bytes_ = bytes;
        uses_ = expected_uses;
        weights_ = expected_weight;
    }

    static constexpr double least_uses = 2;
    static constexpr double expected_uses = 4;
    static constexpr double expected_weight = 6;  ///< weight of the prior, in entries that went stale
    static constexpr double many_uses = 6;
    static constexpr double most_counted = 8;
    static constexpr double most_weights = 20;
    static constexpr double evicted_weight = 0.75;  ///< a sampled one is reported with it
    static constexpr double stale_use = 4;          ///< a stale entry pays with fewer uses
    static constexpr std::uint64_t least_bytes = 256;
    static constexpr std::uint32_t probe_interval = 64;

    std::uint64_t most_;
    std::uint64_t bytes_;
    double uses_ = expected_uses;  ///< moving mean
    double weights_ = expected_weight;
    std::uint32_t refused_ = 0;
};

}  // namespace nearfetch

// SPDX-License-Identifier: Apache-2.0
#pragma once

// How much is fetched around a miss, and whether anything is.
//
// What was read ahead has paid if it served gets before it went. One that was evicted stood in the way of
// others and has to have served more; so has, whenever one is evicted, another that is still there, because
// the best ones stay. One that went stale has only cost its bytes on the way. A single one says little: the
// mean is over so many that a few which served none do not end it, and what the most popular ones served does
// not hide the others. Where they do not pay, half as much is fetched, down to a few lines, and then nothing
// but what is asked for; now and then it is tried again. Where they pay several times over, it is twice as
// much, up to the setting.

#include <algorithm>
#include <cstdint>

namespace nearfetch {

class ReadAheadSizer {
  public:
    /// \param most_bytes of a block; 0: nothing is to be read ahead
    explicit ReadAheadSizer(std::uint64_t most_bytes) noexcept : most_(most_bytes), bytes_(most_bytes) {}

    /// Blocks begin at multiples of it.
    std::uint64_t bytes() const noexcept { return bytes_; }

    /// Whether what is read ahead may be expected to have uses beside the first, before it had any.
    bool will_be_used() const noexcept { return uses_ >= least_uses; }

    /// Now and then true all the same, to find out.
    bool pays() noexcept { return will_be_used() || ++refused_ % trial == 0; }

    /// What was read ahead is gone, or has been looked at instead of one that was evicted, after so many uses
    /// beside the first.
    void gone(std::uint32_t uses, bool evicted) noexcept {
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
    static constexpr double expected_weight = 6;  ///< that of so many which went stale
    static constexpr double many_uses = 6;
    static constexpr double most_counted = 8;
    static constexpr double most_weights = 20;
    static constexpr double evicted_weight = 0.75;  ///< another one is heard with it
    static constexpr double stale_use = 4;          ///< it paid with less
    static constexpr std::uint64_t least_bytes = 256;
    static constexpr std::uint32_t trial = 64;

    std::uint64_t most_;
    std::uint64_t bytes_;
    double uses_ = expected_uses;  ///< a mean that moves
    double weights_ = expected_weight;
    std::uint32_t refused_ = 0;
};

}  // namespace nearfetch

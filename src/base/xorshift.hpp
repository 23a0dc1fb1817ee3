// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace nearfetch {

/// A small random number generator for the cache's own choices (G. Marsaglia, *Xorshift RNGs*, 2003).
class Xorshift {
  public:
    explicit Xorshift(std::uint64_t seed) noexcept : state_(seed * 2 + 1) {}

    std::uint64_t next() noexcept {
        state_ ^= state_ << 13;
        state_ ^= state_ >> 7;
        state_ ^= state_ << 17;
        return state_;
    }
    /// Uniform in [0, bound). \pre bound has at most 32 bits
    std::uint64_t below(std::uint64_t bound) noexcept { return ((next() >> 32) * bound) >> 32; }
    /// For another one that goes on from here.
    std::uint64_t seed() const noexcept { return state_ / 2; }

  private:
    std::uint64_t state_;
};

}  // namespace nearfetch

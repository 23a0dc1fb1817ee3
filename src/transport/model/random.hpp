// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace nearfetch {

/// Mixes all bits of a number (the finaliser of SplitMix64, Steele, Lea and Flood 2014).
constexpr std::uint64_t mixed(std::uint64_t x) noexcept {
    x += 0x9E3779B97F4A7C15;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
    return x ^ (x >> 31);
}

/// Pseudo-random numbers; the same for the same seed on every machine.
class SeededRandom {
  public:
    explicit SeededRandom(std::uint64_t seed) : state_(mixed(seed)) {}

    /// A number from 0 to `last`.
    std::uint64_t up_to(std::uint64_t last) noexcept {
        state_ += 0x9E3779B97F4A7C15;
        const std::uint64_t number = mixed(state_);
        return last == ~std::uint64_t{0} ? number : number % (last + 1);
    }

  private:
    std::uint64_t state_;
};

}  // namespace nearfetch

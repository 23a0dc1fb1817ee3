// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace nearfetch::apps {

/// Mixes all bits (a step of SplitMix64): for seeds, checksums, and unpredictable indices.
constexpr std::uint64_t mixed(std::uint64_t x) {
    x += 0x9e3779b97f4a7c15;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
}

/// A small random number generator with the same numbers for the same seed on every platform.
///
/// The standard library's distributions differ between implementations, so programs use only this. Source:
/// xoshiro256**, D. Blackman and S. Vigna, *Scrambled linear pseudorandom number generators*, 2021; seeded by
/// SplitMix64, as its authors advise.
class Random {
  public:
    explicit Random(std::uint64_t seed) {
        for (auto& word : state_) {
            word = mixed(seed);
            seed += 0x9e3779b97f4a7c15;
        }
    }

    /// 64 random bits.
    std::uint64_t next() {
        const std::uint64_t result = rotate(state_[1] * 5, 7) * 9;
        const std::uint64_t shifted = state_[1] << 17;
        state_[2] ^= state_[0];
        state_[3] ^= state_[1];
        state_[1] ^= state_[2];
        state_[0] ^= state_[3];
        state_[2] ^= shifted;
        state_[3] = rotate(state_[3], 45);
        return result;
    }

    /// Uniform in [0, 1), a multiple of 2^-53.
    double uniform() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

  private:
    static std::uint64_t rotate(std::uint64_t value, int bits) {
        return (value << bits) | (value >> (64 - bits));
    }

    std::uint64_t state_[4];
};

}  // namespace nearfetch::apps

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "base/mixed.hpp"

namespace nearfetch {

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

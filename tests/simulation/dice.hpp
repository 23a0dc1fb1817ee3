// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <initializer_list>

#include "transport/model/random.hpp"

namespace nearfetch::simulation {

/// All random choices of a simulation, from a seed.
class Dice {
  public:
    explicit Dice(std::uint64_t seed) : chance_(seed) {}

    /// 0 to bound - 1. \pre bound > 0
    std::uint64_t below(std::uint64_t bound) { return chance_.up_to(bound - 1); }
    bool one_in(std::uint64_t n) { return below(n) == 0; }
    template <class T>
    T one_of(std::initializer_list<T> values) {
        return *(values.begin() + below(values.size()));
    }

  private:
    SeededRandom chance_;
};

}  // namespace nearfetch::simulation

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <numeric>
#include <span>

#include "transport/model/random.hpp"

namespace nearfetch::simulation {

/// All random choices of a simulation, from a seed.
class Dice {
  public:
    explicit Dice(std::uint64_t seed) : chance_(seed) {}

    /// 0 to bound - 1. \pre bound > 0
    std::uint64_t below(std::uint64_t bound) { return chance_.up_to(bound - 1); }
    bool one_in(std::uint64_t n) { return below(n) == 0; }
    /// An index, each as often as its weight says. \pre not all are 0
    std::size_t by_weight(std::span<const std::uint64_t> weights) {
        std::uint64_t at = below(std::accumulate(weights.begin(), weights.end(), std::uint64_t{0}));
        std::size_t which = 0;
        while (at >= weights[which])
            at -= weights[which++];
        return which;
    }
    template <class T>
    T one_of(std::initializer_list<T> values) {
        return *(values.begin() + below(values.size()));
    }

  private:
    SeededRandom chance_;
};

}  // namespace nearfetch::simulation

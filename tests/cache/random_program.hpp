// SPDX-License-Identifier: Apache-2.0
#pragma once

// The common part of random programs against a model: seeded random numbers, a model of every remote byte,
// and the first failure. Allowed values and operations differ per cache.

#include <array>
#include <cstdint>
#include <random>
#include <sstream>
#include <string>

#include "base/types.hpp"

namespace nearfetch::testing {

template <class Byte, Rank rank_count, std::uint64_t bytes_per_rank>
class RandomProgram {
  protected:
    static constexpr Rank ranks = rank_count;
    static constexpr std::uint64_t memory_bytes = bytes_per_rank;

    explicit RandomProgram(std::uint64_t seed) : random_(seed) {}

    std::uint64_t pick(std::uint64_t bound) { return random_() % bound; }
    Byte& at(Rank target, std::uint64_t offset) { return memory_[static_cast<std::size_t>(target)][offset]; }

    /// Only the first failure of a program counts.
    void fail(const std::string& what) {
        if (!failure_.empty()) return;
        std::ostringstream text;
        text << "step " << step_ << ": " << what;
        failure_ = text.str();
    }

    std::mt19937_64 random_;
    std::array<std::array<Byte, memory_bytes>, ranks> memory_;
    std::string failure_;
    int step_ = 0;
};

}  // namespace nearfetch::testing

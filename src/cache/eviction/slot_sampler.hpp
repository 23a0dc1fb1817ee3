// SPDX-License-Identifier: Apache-2.0
#pragma once

// The victims of 001 (section III-D): from a random slot of the index on, as many slots are visited as a
// sample has, and further ones until an item is found. The lowest score is evicted.

#include <cstdint>

#include "base/xorshift.hpp"
#include "cache/eviction/eviction_policy.hpp"

namespace nearfetch {

class SlotSampler {
  public:
    /// The outcome of a search.
    struct Sample {
        EvictionItem* lowest = nullptr;  ///< nullptr if there is none
        std::uint64_t visited = 0;       ///< slots
        std::uint64_t occupied = 0;      ///< those of them that were
    };

    /// \param sample_entries M
    SlotSampler(std::uint32_t sample_entries, std::uint64_t seed) noexcept
        : sample_entries_(sample_entries), random_(seed) {}

    /// \param slot of a number: whether it is occupied, and its item if that may be evicted
    template <class Slots>
    Sample draw(std::uint64_t slots, const EvictionPolicy& policy, Slots&& slot) noexcept {
        Sample sample;
        double lowest_score = 0;
        const std::uint64_t start = random_.below(slots);
        for (; sample.visited < slots; ++sample.visited) {
            if (sample.visited >= sample_entries_ && sample.lowest != nullptr) break;
            const auto [occupied, item] = slot((start + sample.visited) % slots);
            if (occupied) ++sample.occupied;
            if (item == nullptr) continue;
            const double score = policy.score(*item);
            if (sample.lowest != nullptr && score >= lowest_score) continue;
            sample.lowest = item;
            lowest_score = score;
        }
        return sample;
    }

  private:
    std::uint32_t sample_entries_;
    Xorshift random_;
};

}  // namespace nearfetch

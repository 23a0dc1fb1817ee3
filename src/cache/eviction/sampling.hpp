// SPDX-License-Identifier: Apache-2.0
#pragma once

// Eviction by sampling the index (001, section III-D): visits I_w[i..i+M-1] from a random i, continues until
// an entry is found, and takes the lowest score. Policies that sample differ only in their score.

#include <algorithm>

#include "cache/eviction/eviction_policy.hpp"

namespace nearfetch {

class SamplingPolicy : public EvictionPolicy {
  public:
    void arrive(EvictionItem&) override {}
    void insert(EvictionItem& item) override { item.position = 0; }
    void erase(EvictionItem& item, bool) noexcept override { item.position = EvictionItem::nowhere; }

    bool visits_slots() const noexcept override { return true; }
    /// One sample per candidate, as the paper has one per eviction. A sample without new candidates is
    /// widened, like an empty one.
    void candidates(std::size_t count, EvictionCandidates& out) override {
        count = std::min(count, most_samples);
        const std::uint64_t slots = view_.slot_count();
        for (std::size_t found = 0; found < count; ++found) {
            const std::uint64_t start = random(slots);
            EvictionItem* lowest = nullptr;
            double lowest_score = 0;
            for (std::uint64_t visited = 0; visited < slots; ++visited) {
                if (visited >= sample_entries_ && lowest != nullptr) break;
                const EvictionView::Slot slot = view_.slot((start + visited) % slots);
                ++out.visited;
                if (slot.occupied) ++out.nonempty;
                if (slot.item == nullptr) continue;
                if (count > 1 && std::find(out.items.begin(), out.items.end(), slot.item) != out.items.end())
                    continue;
                const double value = score(*slot.item);
                if (lowest == nullptr || value < lowest_score) {
                    lowest = slot.item;
                    lowest_score = value;
                }
            }
            if (lowest == nullptr) return;
            out.items.push_back(lowest);
        }
    }

  protected:
    SamplingPolicy(const EvictionView& view, const EvictionOptions& options)
        : EvictionPolicy(view),
          sample_entries_(options.sample_entries),
          random_state_(options.seed * 2 + 1) {}

    /// R_P of 001: min(|ags - d_c| / ags, 1).
    double positional(const EvictionItem& item) const {
        const double average = view_.average_get_bytes();
        const double free = static_cast<double>(view_.adjacent_free_bytes(item));
        return std::min((average > free ? average - free : free - average) / average, 1.0);
    }
    /// R_T of 001: x.last / i.
    double temporal(const EvictionItem& item) const {
        return static_cast<double>(item.last) / static_cast<double>(view_.gets());
    }

  private:
    static constexpr std::size_t most_samples = 64;

    std::uint64_t random(std::uint64_t bound) noexcept {
        random_state_ ^= random_state_ << 13;
        random_state_ ^= random_state_ >> 7;
        random_state_ ^= random_state_ << 17;
        return ((random_state_ >> 32) * bound) >> 32;
    }

    std::uint32_t sample_entries_;
    std::uint64_t random_state_;
};

}  // namespace nearfetch

// SPDX-License-Identifier: Apache-2.0
#pragma once

// Scores of items drawn at random, the most recent ones: who is among the lowest of all items.

#include <algorithm>
#include <array>
#include <cstdint>

namespace nearfetch {

class ScoreSample {
  public:
    /// Adds an item's score. Older ones than the last `wanted`, within limits, leave.
    void add(double score, std::uint64_t bytes, std::uint64_t wanted) noexcept {
        wanted = std::clamp<std::uint64_t>(wanted, few, most);
        while (count_ >= wanted)
            remove_oldest();
        std::size_t at = count_++;
        for (; at > 0 && drawn_[at - 1].score > score; --at)
            drawn_[at] = drawn_[at - 1];
        drawn_[at] = {score, bytes, ++last_};
        find_limit();
    }
    /// Whether it is known.
    bool is_filled() const noexcept { return count_ >= few; }
    /// The highest score of the lowest items, which have a share of all bytes.
    double limit() const noexcept { return limit_; }

  private:
    static constexpr std::size_t most = 64;
    static constexpr std::size_t few = 8;
    static constexpr double share = 0.25;

    struct Drawn {
        double score;
        std::uint64_t bytes;
        std::uint64_t number;
    };

    void remove_oldest() noexcept {
        const auto begin = drawn_.begin(), end = begin + static_cast<std::ptrdiff_t>(count_);
        const auto oldest =
            std::min_element(begin, end, [](const Drawn& a, const Drawn& b) { return a.number < b.number; });
        std::copy(oldest + 1, end, oldest);
        --count_;
    }
    void find_limit() noexcept {
        double all = 0, low = 0;
        for (std::size_t n = 0; n < count_; ++n)
            all += static_cast<double>(drawn_[n].bytes);
        for (std::size_t n = 0; n < count_; ++n) {
            low += static_cast<double>(drawn_[n].bytes);
            if (n > 0 && low > share * all) break;
            limit_ = drawn_[n].score;
        }
    }

    /// In order.
    std::array<Drawn, most> drawn_{};
    std::size_t count_ = 0;
    std::uint64_t last_ = 0;  ///< number of the last one drawn
    double limit_ = 0;
};

}  // namespace nearfetch

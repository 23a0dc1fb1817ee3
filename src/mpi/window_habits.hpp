// SPDX-License-Identifier: Apache-2.0
#pragma once

// What windows that have gone tell about the next ones.
//
// Some programs make a window for each exchange and free it after a get or two of each target. Its cache
// would be made and thrown away without a hit. So after a few such windows in a row the next ones begin to
// cache a target when more is read of it than was read of those: a doorkeeper for windows. A window by which
// something was gained ends that.

#include <algorithm>
#include <cstdint>

namespace nearfetch {

class WindowHabits {
  public:
    /// A window has gone. \param gets_without_gain as WindowCache has it
    void gone(std::uint64_t gets_without_gain) noexcept {
        if (gets_without_gain > few_gets) {
            *this = {};
            return;
        }
        most_gets_ = std::max(most_gets_, gets_without_gain);
        in_a_row_ += in_a_row_ < short_lived ? 1 : 0;
    }
    /// Whether the last few windows have gained nothing.
    bool are_short_lived() const noexcept { return in_a_row_ == short_lived; }
    /// Gets of each target of a new window that are not worth a cache.
    std::uint64_t gets_to_postpone() const noexcept { return are_short_lived() ? most_gets_ + 1 : 0; }

  private:
    static constexpr std::uint64_t few_gets = 32;  ///< of each target; with more, a cache costs little
    static constexpr std::uint32_t short_lived = 3;

    std::uint32_t in_a_row_ = 0;
    std::uint64_t most_gets_ = 0;
};

}  // namespace nearfetch

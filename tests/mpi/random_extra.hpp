// SPDX-License-Identifier: Apache-2.0
#pragma once

// The windows that come and go within a random program: how each is made, as far as it has to be known which
// bytes an access of it means. All ranks work out the same from the step that makes it.

#include "random_steps.hpp"

namespace random_programs {

struct ExtraWindow {
    enum How : int { by_create, by_allocate, by_dynamic, over_created, dynamic_over_created, ways };

    How how = by_create;
    int memory = 0;          ///< a number of its own; over `created`: that window's
    std::uint64_t base = 0;  ///< where it begins there
    int variant = 0;

    ExtraWindow() = default;
    /// \param number of the window within the program
    ExtraWindow(const Step& make, int number)
        : how(static_cast<How>(make.variant % ways)), memory(all_windows + number), variant(make.variant) {
        if (!overlaps()) return;
        memory = created;
        base = 64 * static_cast<std::uint64_t>(variant / 8 % 16);
    }

    bool overlaps() const { return how == over_created || how == dynamic_over_created; }
    bool is_dynamic() const { return how == by_dynamic || how == dynamic_over_created; }
    /// Whether it is made in mode off.
    bool is_off() const { return variant / 128 % 4 == 0; }
    /// Displacement unit of a rank's part.
    std::uint64_t unit(int rank) const {
        constexpr std::uint64_t units[] = {1, 8, 2, 16, 4};
        return is_dynamic() ? 1 : units[(variant / 512 % 5 + (variant % 3 == 0 ? 0 : rank)) % 5];
    }
};

}  // namespace random_programs

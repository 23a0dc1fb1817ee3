// SPDX-License-Identifier: Apache-2.0
#pragma once

// The clock of a run. All ranks have the same.

#include "pgas/lulesh/domain.hpp"

namespace nearfetch::lulesh {

class Clock {
  public:
    explicit Clock(double first_step) : step_(first_step) {}

    /// Starts the next cycle: its step depends on the limits that the last one found.
    void advance();
    /// Finds the longest next step that sound and the change of volume allow in all elements. Collective.
    void find_limits(Domain& domain);

    bool is_over() const { return time_ >= stop_time; }
    double step() const { return step_; }
    std::int64_t cycles() const { return cycles_; }

  private:
    double time_ = 0;
    double step_;
    double courant_ = unlimited_step;        ///< the time that sound needs through an element
    double volume_change_ = unlimited_step;  ///< the time in which a volume changes too much
    std::int64_t cycles_ = 0;
};

}  // namespace nearfetch::lulesh

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/ticks.hpp"

namespace nearfetch::simulation {

/// While it lives, time is simulated: each reading advances it by a fixed amount.
class ToldTime {
  public:
    explicit ToldTime(std::uint64_t step_ticks) noexcept : ticks_{.now = 0, .step = step_ticks} {
        simulated_ticks = &ticks_;
    }
    ~ToldTime() { simulated_ticks = nullptr; }
    ToldTime(const ToldTime&) = delete;
    ToldTime& operator=(const ToldTime&) = delete;

  private:
    SimulatedTicks ticks_;
};

}  // namespace nearfetch::simulation

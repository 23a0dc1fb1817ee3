// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "base/memory_budget.hpp"
#include "base/ticks.hpp"
#include "rma/acquires.hpp"
#include "rma/overlapping_origins.hpp"

namespace nearfetch {

/// What all windows of a process share.
struct ProcessState {
    Acquires acquires;
    OriginsOfProcess origins;
    MemoryBudget memory;              ///< of the caches
    std::uint32_t lease_writers = 0;  ///< targets that it is a writer of (leases.hpp)
    std::uint64_t begin_ticks = 0;    ///< when MPI began

    double elapsed_s() const noexcept {
        return static_cast<double>(ticks() - begin_ticks) * ns_per_tick() * 1e-9;
    }
};

}  // namespace nearfetch

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "base/memory_budget.hpp"
#include "rma/acquires.hpp"
#include "rma/overlapping_origins.hpp"

namespace nearfetch {

/// What all windows of a process share.
struct ProcessState {
    Acquires acquires;
    OriginsOfProcess origins;
    MemoryBudget memory;              ///< of the caches
    std::uint32_t lease_writers = 0;  ///< targets that it is a writer of (leases.hpp)
};

}  // namespace nearfetch

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "rma/acquires.hpp"
#include "rma/overlapping_origins.hpp"

namespace nearfetch {

/// What all windows of a process share.
struct ProcessState {
    Acquires acquires;
    OriginsOfProcess origins;
};

}  // namespace nearfetch

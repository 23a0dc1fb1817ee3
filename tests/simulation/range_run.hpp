// SPDX-License-Identifier: Apache-2.0
#pragma once

// Runs a program on a cached window over a network that is a few arrays (tests/rma/rig.hpp). Every byte
// that a get returns is compared with the memory that the network would have read: under MPI's rules there is
// just one value that it may have.

#include "cache/counters/range_cache_counters.hpp"
#include "campaign.hpp"
#include "range_program.hpp"

namespace nearfetch::simulation {

Outcome run(const RangeProgram& program, Fault fault, RangeCacheCounters& counters);

}  // namespace nearfetch::simulation

// SPDX-License-Identifier: Apache-2.0
#pragma once

// Runs a program on a cached window over a network of arrays (tests/rma/rig.hpp). Every byte that a get
// returns is compared with the network's memory: under MPI's rules it has only one allowed value.

#include "cache/counters/range_cache_counters.hpp"
#include "campaign.hpp"
#include "range_program.hpp"

namespace nearfetch::simulation {

Outcome run(const RangeProgram& program, Fault fault, RangeCacheCounters& counters);

}  // namespace nearfetch::simulation

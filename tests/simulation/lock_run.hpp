// SPDX-License-Identifier: Apache-2.0
#pragma once

// Runs a program on a cached window of each rank, under leases, in virtual time. The reference: all gets of a
// shared epoch have the bytes of one state of their target, which may not be older than the last exclusive
// epoch that was over when its lock was called. An exclusive epoch reads the last state. A mailbox is at
// least as new as what its owner has told.

#include "cache/counters/range_cache_counters.hpp"
#include "campaign.hpp"
#include "lock_program.hpp"

namespace nearfetch::simulation {

Outcome run(const LockProgram& program, Fault fault, RangeCacheCounters& counters);

}  // namespace nearfetch::simulation

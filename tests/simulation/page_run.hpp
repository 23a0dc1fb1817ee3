// SPDX-License-Identifier: Apache-2.0
#pragma once

// Runs a program on page caches: all ranks in one thread, in list order. While one waits for the network the
// next operations may run inside of that wait, of other ranks and of other tasks of the same rank. Every
// value read is checked against the reference model.

#include "cache/counters/page_cache_counters.hpp"
#include "campaign.hpp"
#include "page_program.hpp"

namespace nearfetch::simulation {

Outcome run(const PageProgram& program, Fault fault, PageCacheCounters& counters);

}  // namespace nearfetch::simulation

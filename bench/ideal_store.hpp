// SPDX-License-Identifier: Apache-2.0
#pragma once

// Stores to compare the range cache with. They keep whole gets, and only the same get hits. They have no
// fragmentation, no rounding and no bound on the number of entries, and their own work takes no time.

#include <cstdint>
#include <string>

#include "replay/trace.hpp"
#include "transport/model/network_model.hpp"

namespace nearfetch::bench {

struct StoreOutcome {
    std::uint64_t hits = 0;
    std::uint64_t network_ns = 0;  ///< that a blocking program waits
};

/// With an eviction policy of nearfetch. \throws Error for an unknown one
StoreOutcome ideal_store(const Trace& trace, const NetworkModel& network, std::uint64_t capacity_bytes,
                         const std::string& policy);

/// One that knows all later gets. Of some cached items, drawn at random, it evicts that whose next use is
/// farthest away for its size and for what it saves. It admits only what is used again. Greedy, and so no
/// bound: after L. Belady, *A study of replacement algorithms for a virtual-storage computer*, 1966.
StoreOutcome belady_size(const Trace& trace, const NetworkModel& network, std::uint64_t capacity_bytes);

}  // namespace nearfetch::bench

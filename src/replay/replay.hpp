// SPDX-License-Identifier: Apache-2.0
#pragma once

// A trace through the range cache alone, without MPI. Hits, bytes and what the network would take are exact;
// the software's own time is measured while it runs.
//
// Each get completes before the next begins, as between a blocking program and a target that serves at once.

#include <cstdint>
#include <optional>
#include <vector>

#include "cache/range_cache/range_cache.hpp"
#include "replay/trace.hpp"
#include "transport/model/network_model.hpp"

namespace nearfetch {

/// Whether payloads are copied, as for a program, or not: then times are of lookup, admission, eviction and
/// commit alone. What hits is the same.
enum class Payloads : std::uint8_t { copied, left_out };

/// Times of the software.
struct SoftwareTimes {
    double hit_ns = 0;   ///< mean
    double get_ns = 0;   ///< mean of all gets
    double miss_ns = 0;  ///< mean
    double miss_median_ns = 0;
    double miss_p99_ns = 0;
};

class Replay {
  public:
    /// \throws Error as RangeCache does
    Replay(const RangeCacheConfig& config, const NetworkModel& network, const Trace& trace,
           Payloads payloads = Payloads::copied);

    /// One get more of the trace; nothing at its end.
    std::optional<AccessType> step();
    /// All that are left.
    void finish();

    const RangeCache& cache() const noexcept { return cache_; }
    /// The cache's, and those of the gets by their type.
    RangeCacheCounters counters() const;
    /// What a blocking program waits for the network, in all.
    std::uint64_t network_ns() const noexcept { return network_ns_; }
    SoftwareTimes times() const;

  private:
    AccessType fetch(const TraceGet& get);

    const Trace& trace_;
    NetworkModel network_;
    bool copies_;
    RangeCache cache_;
    std::size_t next_ = 0;
    RangeCacheCounters types_;
    std::uint64_t network_ns_ = 0;
    std::uint64_t hit_ticks_ = 0;
    std::vector<std::uint32_t> miss_ticks_;
    std::vector<std::byte> source_;  ///< what the network brings; nobody looks at it
    std::vector<std::byte> origin_;  ///< where the program gets to
    std::vector<LookupPart> parts_;
};

/// What hits save with this network: the benefit that makes a cache keep what takes it longest.
BenefitFunction benefit_of(const NetworkModel& network);

}  // namespace nearfetch

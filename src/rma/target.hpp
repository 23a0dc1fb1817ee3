// SPDX-License-Identifier: Apache-2.0
#pragma once

// How a window treats the operations on one target: its route, what was measured, and its circuit breakers.

#include <cstdint>

#include "base/ticks.hpp"
#include "base/types.hpp"
#include "policy/circuit_breaker.hpp"
#include "policy/cost_model.hpp"
#include "policy/put_cost_model.hpp"
#include "rma/front_end.hpp"

namespace nearfetch {

/// What the fast path may do with a target's operations.
enum class Route : std::uint8_t {
    slow,      ///< several threads, no cache, hits under check, fetching atomics, or puts that are combined
    bypass,    ///< its breaker is open, or nothing was read of it yet
    lookup,    ///< look gets up
    catch_up,  ///< the same where read-ahead may expire, after asking whether the process has acquired
    validate,  ///< the same in mode acquire, after asking that, and whether it polls
};

/// What hits and bypassed operations need stands first.
struct alignas(64) Target {
    Route route = Route::slow;
    std::uint64_t hits = 0;
    std::uint64_t bypassed_gets = 0;
    std::uint64_t hit_bytes = 0;
    std::uint64_t bypassed_bytes = 0;
    CircuitBreaker breaker;  ///< while it is open, nothing is in transit
    CircuitBreaker put_breaker;
    CostModel cost;
    PutCostModel put_cost;
    std::uint64_t interval_hits = 0;  ///< up to the last sampling interval
    std::uint64_t interval_hit_bytes = 0;
    std::uint64_t other_gets = 0;  ///< neither hits of the fast paths, nor bypassed by them
    Balance ended;                 ///< of all sampling intervals that are over
    std::uint64_t lone_bytes = 0;  ///< size and ticks of the only get in flight, for the cost model
    std::uint64_t lone_ticks = 0;
    std::uint64_t updates_when_opened = 0;  ///< of the window, bypassed when the breaker opened

    void count_bypassed_get(std::uint64_t size) noexcept {
        ++bypassed_gets;
        bypassed_bytes += size;
    }
    void count_hit(std::uint64_t size) noexcept {
        ++hits;
        hit_bytes += size;
    }
    /// What the network takes for a get of so many bytes; 0: not known.
    double network_ns(std::uint64_t size) const noexcept { return cost.network_ticks(size) * ns_per_tick(); }
    std::uint64_t gets() const noexcept { return hits + bypassed_gets + other_gets; }
    /// Whether its puts are combined, if they can be.
    bool combines_puts() const noexcept { return put_cost.is_known() && !put_breaker.is_open(); }
    /// Nothing of it was cached yet, or shall be for now.
    bool is_uncached() const noexcept { return breaker.is_open() || breaker.is_untried(); }
};

}  // namespace nearfetch

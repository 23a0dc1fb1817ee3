// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <queue>
#include <utility>
#include <vector>

#include "transport/job.hpp"
#include "transport/model/model_clock.hpp"
#include "transport/model/simulation.hpp"

namespace nearfetch {

/// Mutual waits of ranks in virtual time: the barrier, and messages. Its data belong to the running actor.
class VirtualRanks {
  public:
    VirtualRanks(Rank ranks, std::uint64_t seed)
        : simulation_(seed), clock_(simulation_), coming_(static_cast<std::size_t>(ranks)) {}

    Simulation& simulation() noexcept { return simulation_; }
    ModelClock& clock() noexcept { return clock_; }

    /// Returns `cost_ns` after the last arrival. \throws CollectiveError then, if the calls differ
    void barrier(Rank rank, const CollectiveCall& call, std::uint64_t cost_ns);
    /// A message was sent that can be received at `due_ns`.
    void announce(Rank target, Port port, std::uint64_t due_ns);
    /// Returns at `ns`, or earlier if a message is due.
    void await_message(Rank rank, Port port, std::uint64_t ns);
    /// Due time of the next message in flight to `rank`.
    std::uint64_t next_message_ns(Rank rank);

  private:
    using Times = std::priority_queue<std::uint64_t, std::vector<std::uint64_t>, std::greater<>>;

    void forget_past(Times& times) const;

    Simulation simulation_;
    VirtualClock clock_;
    std::vector<Simulation::Actor*> in_barrier_;
    std::vector<CollectiveArrival> arrivals_;
    std::uint64_t barrier_generation_ = 0;
    std::uint64_t differed_generation_ = ~std::uint64_t{0};  ///< the last in which calls differed
    std::optional<CollectiveError> difference_;              ///< its error
    std::vector<Times> coming_;                              ///< messages in flight, by target
    std::map<std::pair<Rank, Port>, Simulation::Actor*> receivers_;
};

}  // namespace nearfetch

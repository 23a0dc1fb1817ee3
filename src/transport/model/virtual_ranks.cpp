// SPDX-License-Identifier: Apache-2.0
#include "transport/model/virtual_ranks.hpp"

#include <algorithm>

namespace nearfetch {

void VirtualRanks::barrier(Rank rank, const CollectiveCall& call, std::uint64_t cost_ns) {
    simulation_.note_progress();
    simulation_.run_earlier_events();
    const std::uint64_t generation = barrier_generation_;
    const auto throw_if_differed = [&] {
        if (differed_generation_ == generation) throw CollectiveError(*difference_);
    };
    arrivals_.push_back({rank, call.id, call.text()});
    if (in_barrier_.size() + 1 < coming_.size()) {
        in_barrier_.push_back(&simulation_.self());
        while (barrier_generation_ == generation)
            simulation_.block_until(never_ns, "in a barrier");
        return throw_if_differed();
    }
    if (std::any_of(arrivals_.begin(), arrivals_.end(),
                    [&](const CollectiveArrival& other) { return other.id != call.id; })) {
        difference_ = collective_error(arrivals_, static_cast<Rank>(coming_.size()));
        differed_generation_ = generation;
    }
    arrivals_.clear();
    // Earlier arrivals have run before this actor.
    const std::uint64_t end_ns = simulation_.now_ns() + cost_ns;
    ++barrier_generation_;
    for (Simulation::Actor* actor : in_barrier_)
        simulation_.wake(*actor, end_ns);
    in_barrier_.clear();
    simulation_.sleep_until(end_ns);
    throw_if_differed();
}

void VirtualRanks::announce(Rank target, Port port, std::uint64_t due_ns) {
    simulation_.note_progress();
    Times& times = coming_[static_cast<std::size_t>(target)];
    forget_past(times);
    times.push(due_ns);
    if (const auto receiver = receivers_.find({target, port}); receiver != receivers_.end()) {
        simulation_.wake(*receiver->second, due_ns);
    }
}

void VirtualRanks::await_message(Rank rank, Port port, std::uint64_t ns) {
    simulation_.note_progress();
    Simulation::Actor& self = simulation_.self();
    receivers_[{rank, port}] = &self;
    simulation_.block_until(ns, "for a message");
    receivers_.erase({rank, port});
}

std::uint64_t VirtualRanks::next_message_ns(Rank rank) {
    Times& times = coming_[static_cast<std::size_t>(rank)];
    forget_past(times);
    return times.empty() ? never_ns : times.top();
}

void VirtualRanks::forget_past(Times& times) const {
    while (!times.empty() && times.top() <= simulation_.now_ns())
        times.pop();
}

}  // namespace nearfetch

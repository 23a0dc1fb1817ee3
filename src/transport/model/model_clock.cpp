// SPDX-License-Identifier: Apache-2.0
#include "transport/model/model_clock.hpp"

#include <thread>

#include "base/clock.hpp"
#include "transport/model/simulation.hpp"

namespace nearfetch {

std::uint64_t WallClock::now_ns() const { return steady_ns(); }

void WallClock::compute(std::uint64_t ns) { compute_for(ns); }

void WallClock::wait_until(std::uint64_t ns) {
    while (now_ns() < ns) {
        if (oversubscribed_) std::this_thread::yield();
    }
}

std::uint64_t VirtualClock::now_ns() const { return simulation_.now_ns(); }

void VirtualClock::compute(std::uint64_t ns) { simulation_.advance(ns); }

void VirtualClock::spend(std::uint64_t ns) { simulation_.advance(ns); }

void VirtualClock::wait_until(std::uint64_t ns) { simulation_.sleep_until(ns); }

void VirtualClock::run_earlier_events() { simulation_.run_earlier_events(); }

}  // namespace nearfetch

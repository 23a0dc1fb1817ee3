// SPDX-License-Identifier: Apache-2.0
#include "policy/cost_model.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <vector>

#include "base/copy.hpp"
#include "base/ticks.hpp"

namespace nearfetch {

namespace {

constexpr double simulated_copy_ns_per_byte = 0.03;
constexpr std::size_t sample_bytes = 16384;
constexpr int samples = 8;

/// Ticks per byte of a copy, as a hit makes it, within the processor's cache: the best of a few.
double measure_copy() noexcept try {
    // Of two runs that the heap gives one after the other, the second begins a few bytes further in its
    // page: there a string move takes some of AMD's processors thirty times as long.
    constexpr std::size_t half_page = 2048;
    std::vector<std::byte> memory(2 * sample_bytes + half_page);
    const std::byte* const from = memory.data();
    std::byte* const to = memory.data() + sample_bytes + half_page;
    std::uint64_t best = std::numeric_limits<std::uint64_t>::max();
    for (int i = 0; i < samples; ++i) {
        const std::uint64_t begin = ticks();
        copy_bytes(to, from, sample_bytes);
        best = std::min(best, ticks() - begin);
    }
    return static_cast<double>(best) / static_cast<double>(sample_bytes);
} catch (const std::bad_alloc&) {
    return 0.1 / ns_per_tick();
}

}  // namespace

const HitCost& hit_cost() noexcept {
    static constexpr HitCost simulated{policy::hit_ns, simulated_copy_ns_per_byte, policy::most_own_ns,
                                       policy::unnoticed_ns};
    if (const SimulatedWork* const work = simulated_work(); work != nullptr) {
        static const HitCost spent{static_cast<double>(work->lookup_ns), work->copy_ns_per_byte,
                                   policy::most_own_ns, policy::unnoticed_ns};
        return spent;
    }
    if (simulated_ticks != nullptr) return simulated;
    static const HitCost cost{
        policy::hit_ns / ns_per_tick(), measure_copy(),
        static_cast<std::uint64_t>(static_cast<double>(policy::most_own_ns) / ns_per_tick()),
        policy::unnoticed_ns / ns_per_tick()};
    return cost;
}

}  // namespace nearfetch

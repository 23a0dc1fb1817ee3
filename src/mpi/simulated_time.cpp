// SPDX-License-Identifier: Apache-2.0
#include "mpi/simulated_time.hpp"

#include <simgrid/engine.h>
#include <smpi/smpi.h>

#include "base/ticks.hpp"

namespace nearfetch::simulated {

namespace {

constexpr std::uint64_t begin_ns = 1'000'000'000;  // ticks are never 0
constexpr std::uint64_t most_owed_ns = 2'000;      // to stop a rank takes longer than a hit

std::uint64_t owed_ns = 0;

std::uint64_t now_ns() noexcept {
    return begin_ns + static_cast<std::uint64_t>(simgrid_get_clock() * 1e9) + owed_ns;
}

/// So much time passes in this rank. The others see it a little later.
void charge(std::uint64_t ns) noexcept {
    owed_ns += ns;
    if (owed_ns < most_owed_ns) return;
    const double seconds = static_cast<double>(owed_ns) * 1e-9;
    owed_ns = 0;
    smpi_execute_benched(seconds);
}

constexpr SimulatedWork work{.lookup_ns = lookup_ns,
                             .admission_ns = admission_ns,
                             .copy_ns_per_byte = copy_ns_per_byte,
                             .spend = charge};

}  // namespace

void use_clock() noexcept {
    static constinit SimulatedTicks clock{.now = 0, .step = 0, .read = now_ns, .work = &work};
    simulated_ticks = &clock;
}

void charge_hit(std::uint64_t bytes) noexcept {
    spend_lookup();
    spend_copy(bytes);
}

}  // namespace nearfetch::simulated

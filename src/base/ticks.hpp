// SPDX-License-Identifier: Apache-2.0
#pragma once

// A fast clock: the processor's time stamp counter if there is one, because a reading must be cheap compared
// with a get of 50 ns. Ticks compare only with ticks; ns_per_tick() converts thresholds of settings.

#include <cstdint>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#include "base/clock.hpp"

namespace nearfetch {

/// What work takes where a simulation's clock does not see it.
struct SimulatedWork {
    std::uint64_t lookup_ns;                   ///< what a hit takes beside its copy
    std::uint64_t admission_ns;                ///< what a miss takes beside a lookup
    double copy_ns_per_byte;                   ///< to the program or into the cache
    void (*spend)(std::uint64_t ns) noexcept;  ///< so much time passes
};

/// A clock that advances only when it is read, for reproducible runs; or one that somebody else simulates.
struct SimulatedTicks {
    std::uint64_t now;
    std::uint64_t step;
    std::uint64_t (*read)() noexcept = nullptr;  ///< if there is one, it tells the time
    const SimulatedWork* work = nullptr;         ///< none: work takes no time
};
/// The simulation's clock, with ticks of a nanosecond; nullptr: the processor's.
inline SimulatedTicks* simulated_ticks = nullptr;

inline std::uint64_t ticks() noexcept {
    if (simulated_ticks != nullptr) [[unlikely]]
        return simulated_ticks->read != nullptr ? simulated_ticks->read()
                                                : simulated_ticks->now += simulated_ticks->step;
#if defined(__x86_64__)
    return __rdtsc();
#else
    return steady_ns();
#endif
}

// What the clock sees anyway, unless it is such a simulation's.
inline const SimulatedWork* simulated_work() noexcept {
    return simulated_ticks == nullptr ? nullptr : simulated_ticks->work;
}
inline void spend_lookup() noexcept {
    if (const SimulatedWork* const work = simulated_work(); work != nullptr) [[unlikely]]
        work->spend(work->lookup_ns);
}
inline void spend_admission() noexcept {
    if (const SimulatedWork* const work = simulated_work(); work != nullptr) [[unlikely]]
        work->spend(work->admission_ns);
}
inline void spend_copy(std::uint64_t bytes) noexcept {
    if (const SimulatedWork* const work = simulated_work(); work != nullptr) [[unlikely]]
        work->spend(static_cast<std::uint64_t>(static_cast<double>(bytes) * work->copy_ns_per_byte));
}

#if defined(__x86_64__)
namespace detail {
struct Instant {
    std::uint64_t ns = steady_ns();
    std::uint64_t ticks = __rdtsc();
};
inline const Instant loaded;  ///< when this was loaded
}  // namespace detail
#endif

/// Measured once per process, over the time since loading, at least 100 us.
inline double ns_per_tick() noexcept {
#if defined(__x86_64__)
    if (simulated_ticks != nullptr) return 1.0;
    static const double ratio = [] {
        const auto ns_since = [] { return steady_ns() - detail::loaded.ns; };
        while (ns_since() < 100'000) {
        }
        const std::uint64_t ns = ns_since(), since = __rdtsc() - detail::loaded.ticks;
        return static_cast<double>(ns) / static_cast<double>(since > 0 ? since : 1);
    }();
    return ratio;
#else
    return 1.0;
#endif
}

}  // namespace nearfetch

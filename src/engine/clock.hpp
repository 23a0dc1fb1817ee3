// SPDX-License-Identifier: Apache-2.0
#pragma once

// The engine's clock: the processor's time stamp counter where there is one, because a reading has to be
// cheap next to a get of 50 ns. Ticks are only ever compared with ticks; ns_per_tick() is for thresholds that
// are settings.

#include <cstdint>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#include "base/clock.hpp"

namespace nearfetch {

#if defined(__x86_64__)

inline std::uint64_t ticks() noexcept { return __rdtsc(); }

/// Measured once per process, over at least 100 us.
inline double ns_per_tick() noexcept {
    static const double ratio = [] {
        const std::uint64_t ns0 = steady_ns(), t0 = ticks();
        std::uint64_t ns1 = ns0;
        while (ns1 - ns0 < 100'000)
            ns1 = steady_ns();
        const std::uint64_t t1 = ticks();
        return static_cast<double>(ns1 - ns0) / static_cast<double>(t1 > t0 ? t1 - t0 : 1);
    }();
    return ratio;
}

#else

inline std::uint64_t ticks() noexcept { return steady_ns(); }
inline double ns_per_tick() noexcept { return 1.0; }

#endif

}  // namespace nearfetch

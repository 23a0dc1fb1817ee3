// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <unordered_map>

#include "mpi/simulated_time.hpp"

namespace nearfetch::apps {

/// What an infinite cache saves of a program's gets if its work takes time: a bound for caches that do not
/// read ahead. It knows all gets beforehand, and for each range it does what is faster: get it each time, or
/// keep it at its first get and copy it at each later one. Lookups and copies take what nearfetch's take
/// where ranks are simulated; what is done while the message of a first get travels takes nothing. Elsewhere
/// it is not known what they take, and nothing is saved.
class IdealCache {
  public:
    static constexpr bool is_known = simulated::ranks_are_simulated;

    /// A get of so many bytes, not the range's first one, took that long.
    void add_repeated(std::uint64_t range, std::uint64_t bytes, double seconds) {
        if (!is_known) return;
        const double copy_ns = static_cast<double>(bytes) * simulated::copy_ns_per_byte;
        const auto [place, is_new] = saved_ns_.try_emplace(range, 0);
        if (is_new) place->second -= copy_ns;
        place->second += seconds * 1e9 - (simulated::lookup_ns + copy_ns);
    }
    /// What was cached is stale from now on.
    void invalidate() {
        before_ns_ = saved_ns();
        saved_ns_.clear();
    }
    double saved_seconds() const { return saved_ns() * 1e-9; }

  private:
    double saved_ns() const {
        double sum = before_ns_;
        for (const auto& [range, saved] : saved_ns_)
            sum += std::max(saved, 0.0);
        return sum;
    }

    double before_ns_ = 0;
    std::unordered_map<std::uint64_t, double> saved_ns_;  ///< of each range
};

}  // namespace nearfetch::apps

// SPDX-License-Identifier: Apache-2.0
#pragma once

// Collective calls, as ranks bring them to a barrier. Each collective function begins with one. So ranks
// compare their calls before they read anything that another rank wrote. They compare ids, and ask for texts
// if these differ.

#include <cstdint>
#include <functional>
#include <nearfetch/detail/base/error.hpp>
#include <string>
#include <vector>

#include "base/types.hpp"

namespace nearfetch {

/// A collective call of one rank.
struct CollectiveCall {
    std::uint64_t id = 0;  ///< the same where ranks call the same
    /// Describes the call and its source line. Called in the calling thread.
    std::function<std::string()> describe = nullptr;

    std::string text() const { return describe ? describe() : "a barrier"; }
};

/// How long ranks that differ wait for the others, to include them in the error.
inline constexpr std::uint64_t collective_timeout_ns = 1'000'000'000;

/// The call of a rank that has arrived.
struct CollectiveArrival {
    Rank rank = 0;
    std::uint64_t id = 0;
    std::string text;
};

/// The error for the ranks that have arrived, of `ranks` ranks.
CollectiveError collective_error(std::vector<CollectiveArrival> arrivals, Rank ranks);

}  // namespace nearfetch

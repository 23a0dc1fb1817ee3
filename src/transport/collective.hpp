// SPDX-License-Identifier: Apache-2.0
#pragma once

// What ranks are in when they come to a barrier. All that ranks do together begins with one, so that there,
// before anything is read that another one wrote, they find out whether they do the same. Ids are compared;
// words are asked for when these differ.

#include <cstdint>
#include <functional>
#include <nearfetch/detail/base/error.hpp>
#include <string>
#include <vector>

#include "base/types.hpp"

namespace nearfetch {

/// A collective function, as one rank has called it.
struct CollectiveCall {
    std::uint64_t id = 0;  ///< the same where ranks call the same
    /// What it is, and where it was called. Asked for in the calling thread.
    std::function<std::string()> describe = nullptr;

    std::string text() const { return describe ? describe() : "a barrier"; }
};

/// How long those that differ wait for ranks that have not come to the same barrier, to name them, too.
inline constexpr std::uint64_t collective_patience_ns = 1'000'000'000;

/// What a rank has come with.
struct CollectiveArrival {
    Rank rank = 0;
    std::uint64_t id = 0;
    std::string text;
};

/// The error of all that have come, by whom of so many ranks.
CollectiveError collective_error(std::vector<CollectiveArrival> arrivals, Rank ranks);

}  // namespace nearfetch

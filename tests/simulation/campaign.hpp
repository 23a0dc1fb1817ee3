// SPDX-License-Identifier: Apache-2.0
#pragma once

// Runs programs of one cache until there are enough or one fails. Then it reports the failure with a shrunken
// program. A crash is a failure too: programs run in a child process, and the seed of a crashed one is shrunk
// in further children.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "fault.hpp"

namespace nearfetch::simulation {

struct Options {
    std::vector<CacheKind> caches;
    Fault fault = Fault::none;
    std::uint64_t seed = 1;
    std::optional<std::uint64_t> program;  ///< only this one
    std::uint64_t operations = 0;          ///< per cache; 0: as many as time allows
    double seconds = 0;
    bool progress = true;
};

/// Result of one program.
struct Outcome {
    std::string failure;      ///< the first failure; empty: none
    std::uint32_t op = 0;     ///< at which operation
    std::uint64_t ops = 0;    ///< that were run
    std::uint64_t bytes = 0;  ///< read and checked
};

/// A failure as text.
struct Finding {
    std::string what;
    std::vector<std::string> history;  ///< the operations needed, in order
};

/// The seed of a campaign's program number `index`.
std::uint64_t program_seed(CacheKind cache, std::uint64_t seed, std::uint64_t index);

/// Runs the program of that seed and adds to the totals. \return the failure, shrunk; nothing: none
std::optional<Finding> examine(CacheKind cache, std::uint64_t seed, Fault fault, Outcome& total);

/// \return exit status: 0, or 1 after a failure
int campaign(const Options& options);

}  // namespace nearfetch::simulation

// SPDX-License-Identifier: Apache-2.0
#pragma once

// Runs programs of one cache after the other until there is enough of them or one fails, and then says what
// failed and how little of the program is needed for it. A program that crashes is a failure, too: programs
// run in a child process, and the crashed one's seed is shrunk in further children.

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
    std::optional<std::uint64_t> program;  ///< only that one
    std::uint64_t operations = 0;          ///< of each cache; 0: as many as the time allows
    double seconds = 0;
    bool progress = true;
};

/// What one program did.
struct Outcome {
    std::string failure;      ///< what went wrong first; empty: nothing
    std::uint32_t op = 0;     ///< at which operation
    std::uint64_t ops = 0;    ///< that were run
    std::uint64_t bytes = 0;  ///< that were read and checked
};

/// A failure, in text for people.
struct Finding {
    std::string what;
    std::vector<std::string> history;  ///< the operations that it takes, in order
};

/// The seed of a campaign's program number `index`.
std::uint64_t program_seed(CacheKind cache, std::uint64_t seed, std::uint64_t index);

/// Runs one program of that seed and adds to the totals. \return what failed, shrunk; nothing: it did not
std::optional<Finding> examine(CacheKind cache, std::uint64_t seed, Fault fault, Outcome& total);

/// \return the exit code: 0, or 1 if something failed
int campaign(const Options& options);

}  // namespace nearfetch::simulation

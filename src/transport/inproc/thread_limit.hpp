// SPDX-License-Identifier: Apache-2.0
#pragma once

// How many threads a process can have. A program with more ranks is refused before memory is taken for them.

#include <cstdint>
#include <limits>
#include <string>

namespace nearfetch {

struct ThreadLimit {
    std::uint64_t threads = std::numeric_limits<std::uint64_t>::max();
    std::string source = {};  ///< the setting that says so; empty: none is known
};

/// The least that the system's settings say. Others may use threads, too, so fewer may be available.
/// \param proc where the kernel's settings are
ThreadLimit thread_limit(const std::string& proc = "/proc");

}  // namespace nearfetch

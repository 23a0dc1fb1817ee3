// SPDX-License-Identifier: Apache-2.0
#pragma once

// What a file of events says as a whole, found in one pass over it.

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "recording/event.hpp"
#include "recording/sampling.hpp"

namespace nearfetch {

/// When a process held exclusive locks of a window's target, ns since 1970.
struct WriteInterval {
    std::uint64_t begin_ns = 0;
    std::uint64_t end_ns = 0;
};
using WriteIntervals = std::map<std::pair<std::uint32_t, Rank>, std::vector<WriteInterval>>;

struct RecordedProcess {
    std::string path;
    Rank rank = 0;
    Rank ranks = 1;
    std::uint64_t begin_ns = 0;             ///< since 1970
    std::uint64_t elapsed_ns = 0;           ///< until the end, or the last event
    bool is_whole = false;                  ///< it came to its end
    std::uint64_t sampled = Sampling::all;  ///< the share of all blocks of memory, as Sampling has it
    std::uint64_t gets = 0;                 ///< of others' memory
    std::uint64_t get_bytes = 0;            ///< of these
    std::uint64_t shared_locks = 0;         ///< of one target
    std::uint64_t updates = 0;              ///< puts, accumulates and atomics
    std::uint64_t largest_get = 0;          ///< bytes
    double byte_ns = 0;                     ///< what each byte adds to a call that completes gets
    Rereads rereads{};
    WriteIntervals writes{};

    double share() const noexcept {
        return static_cast<double>(sampled) / static_cast<double>(Sampling::all);
    }
};

/// \throws Error if the file cannot be read, or is no recording
RecordedProcess read_process(const std::string& path);

}  // namespace nearfetch

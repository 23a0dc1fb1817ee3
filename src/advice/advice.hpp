// SPDX-License-Identifier: Apache-2.0
#pragma once

// Advice about a recorded run: it is replayed with the settings that a user may think of, and what the
// recording shows of the promises among them is looked at.
//
// A promise is called kept if no byte that was read again had changed where the promise says that it has not.
// That is as far as this run shows.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "cache/counters/range_cache_counters.hpp"
#include "recording/recorded_process.hpp"

namespace nearfetch {

using SettingWords = std::vector<std::pair<std::string, std::string>>;

/// What settings come to, over all ranks.
struct Prospect {
    SettingWords settings{};
    RangeCacheCounters counters{};
    double saved_s = 0;         ///< of a rank's time, on average
    double saved_margin_s = 0;  ///< half of its 95 % confidence interval
    double least_saved_s = 0;   ///< of all ranks
    double most_saved_s = 0;
    std::uint64_t memory_bytes = 0;  ///< that caches of a rank take at most
    bool is_safe = true;             ///< as far as the recording shows
    std::string why{};               ///< or why not

    double hit_ratio() const noexcept;
};

struct Advice {
    std::vector<Prospect> choices{};   ///< with all memory that they want; the first one is the default
    std::size_t best = 0;              ///< of these
    std::vector<Prospect> curve{};     ///< of the best one, by its memory, the least first
    std::vector<Prospect> policies{};  ///< of the best one with the memory that is advised
    std::uint64_t memory_bytes = 0;    ///< the least that brings 95 % of the gain; 0: nothing is gained
};

/// What is known of the promises.
struct Rereading {
    Rereads all{};
    bool is_known = true;  ///< all processes came to their end
};

/// \param step called before each of so many replays: which one it is, and of how many at most
/// \throws Error if a recording cannot be replayed
Advice advise(const std::vector<RecordedProcess>& processes,
              const std::function<void(std::size_t, std::size_t)>& step);

/// Of all processes.
Rereading rereading_of(const std::vector<RecordedProcess>& processes);

}  // namespace nearfetch

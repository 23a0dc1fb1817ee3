// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/settings.hpp"
#include "base/types.hpp"

namespace nearfetch {

/// What an application says a range is worth (policy "application"): the least goes first.
using ScoreFunction =
    std::function<double(Rank target, std::uint64_t offset_bytes, std::uint64_t size_bytes)>;

/// What not having to fetch so many bytes saves, in a unit that is the same for all targets; above 0.
using BenefitFunction = std::function<double(Rank target, std::uint64_t size_bytes)>;

/// Thresholds and factors of 001, section III-E1. All ratios are over the gets since the last look.
struct AdaptConfig {
    double conflict_threshold = 0.1;  ///< conflicting / gets above which the index grows
    double index_increase_factor = 1.5;
    double sparsity_threshold = 0.1;  ///< q, non-empty / visited slots, below which the index shrinks
    double index_decrease_factor = 0.75;
    double capacity_threshold = 0.1;  ///< (capacity + failing) / gets above which the buffer grows
    double memory_increase_factor = 2.0;
    double stable_threshold = 0.9;  ///< hits / gets above which the buffer may shrink ...
    double free_threshold = 0.5;    ///< ... when more than this share of it is free
    double memory_decrease_factor = 0.5;
    std::uint64_t interval_gets = 1000;  ///< gets between two looks
};

struct RangeCacheConfig {
    std::uint64_t buffer_bytes = 32ull << 20;  ///< |S_w|
    std::uint64_t buffer_bytes_max = 256ull << 20;
    std::uint64_t index_entries = 16384;  ///< |I_w|
    std::uint64_t index_entries_max = 4ull << 20;
    std::uint32_t sample_entries = 16;  ///< M
    std::string policy = "density";
    bool adaptive = true;
    bool keep_on_resize = true;             ///< false, as 001: a resize invalidates
    bool exact_match = false;               ///< true, as 001: only a get at an entry's own displacement hits
    bool weak_admission = false;            ///< true, as 001: evict one victim, then perhaps fail
    std::uint64_t read_ahead_bytes = 4096;  ///< most that is fetched around a miss
    AdaptConfig adapt;
    std::uint64_t seed = 1;
    ScoreFunction application_score;
    BenefitFunction hit_benefit;  ///< asked when a range arrives; none: all hits are worth the same

    /// Itself. \throws Error when a value makes no sense
    const RangeCacheConfig& checked() const;
};

/// What the settings say; `score` is for the policy "application".
RangeCacheConfig range_cache_config(const Settings& settings, ScoreFunction score = nullptr);

}  // namespace nearfetch

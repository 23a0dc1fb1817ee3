// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/memory_budget.hpp"
#include "base/settings.hpp"
#include "base/types.hpp"

namespace nearfetch {

/// An application's score of a range (policy "application"): the lowest is evicted first.
using ScoreFunction =
    std::function<double(Rank target, std::uint64_t offset_bytes, std::uint64_t size_bytes)>;

/// What a hit of that size saves, in a unit that is the same for all targets; above 0.
using BenefitFunction = std::function<double(Rank target, std::uint64_t size_bytes)>;

/// Thresholds and factors of 001, section III-E1. Ratios are over the gets since the last adaptation.
struct AdaptConfig {
    double conflict_threshold = 0.1;  ///< conflicting / gets above which the index grows
    double index_increase_factor = 1.5;
    double sparsity_threshold = 0.1;  ///< q, occupied / visited slots, below which the index shrinks
    double index_decrease_factor = 0.75;
    double capacity_threshold = 0.1;  ///< (capacity + failing) / gets above which the buffer grows
    double memory_increase_factor = 2.0;
    double stable_threshold = 0.9;  ///< hits / gets above which the buffer may shrink ...
    double free_threshold = 0.5;    ///< ... if more than this share of it is free
    double memory_decrease_factor = 0.5;
    std::uint64_t interval_gets = 1000;  ///< gets between two adaptations
};

/// What a slot of the index takes of a budget: 24 bytes, and half of an entry's description, its key in the
/// order and its ghosts.
inline constexpr std::uint64_t index_slot_bytes = 128;

struct RangeCacheConfig {
    std::uint64_t buffer_bytes = 32ull
                                 << 20;  ///< |S_w|; adaptive: at first, and at most half of what is left
    std::uint64_t buffer_bytes_max = 256ull << 20;
    std::uint64_t index_entries = 16384;  ///< |I_w|; of an adaptive log it is as entries need it
    std::uint64_t index_entries_max = 4ull << 20;
    MemoryBudget* memory = nullptr;     ///< that the cache takes from while it adapts; outlives it
    std::uint32_t sample_entries = 16;  ///< M
    std::string storage =
        "log";  ///< or "best_fit", as 001: there an admission evicts one victim, which may not suffice
    std::string policy = "density";
    bool adaptive = true;
    bool keep_on_resize = true;             ///< false, as 001: a resize invalidates
    bool exact_match = false;               ///< true, as 001: only a get at an entry's displacement hits
    std::uint64_t read_ahead_bytes = 4096;  ///< limit of a region that is fetched around a miss
    AdaptConfig adapt;
    std::uint64_t seed = 1;
    ScoreFunction application_score;
    BenefitFunction hit_benefit;  ///< called at an admission; empty: all hits save the same

    /// Returns itself. \throws Error for an invalid value
    const RangeCacheConfig& checked() const;
};

/// The configuration of the settings; `score` is for the policy "application". \param memory nullptr: of this
/// cache alone, if settings.memory_bytes says how much
RangeCacheConfig range_cache_config(const Settings& settings, ScoreFunction score = nullptr,
                                    MemoryBudget* memory = nullptr);

}  // namespace nearfetch

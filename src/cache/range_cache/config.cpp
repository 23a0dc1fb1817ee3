// SPDX-License-Identifier: Apache-2.0
#include "cache/range_cache/config.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/error.hpp"
#include "cache/eviction/eviction_policy.hpp"
#include "cache/range_cache/storage_buffer.hpp"

namespace nearfetch {

namespace {

constexpr std::uint64_t most_index_entries = std::numeric_limits<std::uint32_t>::max() / 2;

void require(bool good, const std::string& problem, const char* why, const char* what_to_do) {
    if (!good) throw Error(problem, why, what_to_do);
}

void require_factor(double value, const char* name, bool grows) {
    const bool good = grows ? value > 1.0 && value <= 1e6 : value > 0.0 && value < 1.0;
    require(good, std::string(name) + " = " + std::to_string(value),
            grows ? "it has to make things larger" : "it has to make things smaller",
            grows ? "use a number above 1" : "use a number between 0 and 1");
}

void require_ratio(double value, const char* name) {
    require(value >= 0.0 && value <= 1.0, std::string(name) + " = " + std::to_string(value), "it is a share",
            "use a number from 0 to 1");
}

}  // namespace

const RangeCacheConfig& RangeCacheConfig::checked() const {
    require(buffer_bytes >= StorageBuffer::line_bytes, "buffer_bytes = " + std::to_string(buffer_bytes),
            "not one entry fits", "use at least 64");
    require(buffer_bytes_max >= buffer_bytes, "buffer_bytes_max = " + std::to_string(buffer_bytes_max),
            "it is below buffer_bytes", "raise it or lower buffer_bytes");
    require(storage == "log" || storage == "best_fit", "storage = " + storage,
            "there is no storage of that name", "choose one of: log best_fit");
    require(storage == "best_fit" || !scores_free_space(policy), "policy = " + policy,
            "it scores the free space beside an entry, which a log does not have", "set storage to best_fit");
    require(index_entries > 0, "index_entries = 0", "not one entry fits", "use at least 1");
    require(index_entries_max >= index_entries, "index_entries_max = " + std::to_string(index_entries_max),
            "it is below index_entries", "raise it or lower index_entries");
    require(index_entries_max <= most_index_entries,
            "index_entries_max = " + std::to_string(index_entries_max), "entries are numbered in 32 bits",
            "use at most 2147483647");
    require(sample_entries > 0, "sample_entries = 0", "no victim could be found", "use at least 1");
    require_ratio(adapt.conflict_threshold, "conflict_threshold");
    require_ratio(adapt.sparsity_threshold, "sparsity_threshold");
    require_ratio(adapt.capacity_threshold, "capacity_threshold");
    require_ratio(adapt.stable_threshold, "stable_threshold");
    require_ratio(adapt.free_threshold, "free_threshold");
    require_factor(adapt.index_increase_factor, "index_increase_factor", true);
    require_factor(adapt.index_decrease_factor, "index_decrease_factor", false);
    require_factor(adapt.memory_increase_factor, "memory_increase_factor", true);
    require_factor(adapt.memory_decrease_factor, "memory_decrease_factor", false);
    require(adapt.interval_gets > 0, "adapt_interval_gets = 0", "nothing can be observed in no time",
            "use at least 1");
    require(policy != "application" || application_score != nullptr, "policy = application",
            "the application has given no score", "register a score function or choose another policy");
    return *this;
}

RangeCacheConfig range_cache_config(const Settings& settings, ScoreFunction score, MemoryBudget* memory) {
    RangeCacheConfig config;
    config.memory = memory;
    config.buffer_bytes = settings.buffer_bytes;
    config.index_entries = settings.index_entries;
    std::uint64_t most_bytes = memory == nullptr ? settings.memory_bytes : memory->limit();
    if (most_bytes == 0 || most_bytes == MemoryBudget::unlimited) most_bytes = config.buffer_bytes_max;
    if (!settings.adaptive) most_bytes = 0;
    config.buffer_bytes_max = std::max(config.buffer_bytes, most_bytes);
    config.index_entries_max =
        std::max(config.index_entries, std::min(most_bytes / index_slot_bytes, most_index_entries));
    config.sample_entries = static_cast<std::uint32_t>(settings.sample_entries);
    config.storage = settings.storage;
    config.policy = settings.policy;
    config.adaptive = settings.adaptive;
    config.keep_on_resize = settings.keep_on_resize;
    config.exact_match = settings.exact_match;
    config.read_ahead_bytes = settings.read_ahead_bytes;
    config.adapt.conflict_threshold = settings.conflict_threshold;
    config.adapt.index_increase_factor = settings.index_increase_factor;
    config.adapt.sparsity_threshold = settings.sparsity_threshold;
    config.adapt.index_decrease_factor = settings.index_decrease_factor;
    config.adapt.capacity_threshold = settings.capacity_threshold;
    config.adapt.memory_increase_factor = settings.memory_increase_factor;
    config.adapt.stable_threshold = settings.stable_threshold;
    config.adapt.free_threshold = settings.free_threshold;
    config.adapt.memory_decrease_factor = settings.memory_decrease_factor;
    config.adapt.interval_gets = settings.adapt_interval_gets;
    config.seed = settings.seed;
    config.application_score = std::move(score);
    return config;
}

}  // namespace nearfetch

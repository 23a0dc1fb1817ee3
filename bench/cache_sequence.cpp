// SPDX-License-Identifier: Apache-2.0
//
// A sequence of gets through the range cache alone, without MPI: what hits and how full the buffer is are
// exact and the same on every machine (001, section IV-A, Fig. 10 and 11). Each --config is a cache of its
// own. One JSON object per line: config, counters, averages since the buffer was full for the first time, and
// with --occupancy-every K the share of the buffer that is occupied after every K gets.

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/error.hpp"
#include "base/settings.hpp"
#include "cache/range_cache/range_cache.hpp"
#include "sequence.hpp"

namespace nearfetch::bench {
namespace {

Settings settings_of(const Config& config) {
    Settings settings;
    for (const auto& [name, value] : config.settings)
        apply_setting(settings, name, value);
    return settings;
}

/// Gets that complete at once, as between a blocking program and its target.
class Replay {
  public:
    explicit Replay(const RangeCacheConfig& config, std::uint64_t largest)
        : cache_(config, 1), source_(largest) {}

    AccessType get(const SequenceGet& get) {
        const AccessType type =
            cache_.find(0, get.offset, get.size) != nullptr ? AccessType::hit : fetch(get);
        types_.count(type);
        return type;
    }
    const RangeCache& cache() const { return cache_; }
    /// The cache's and those of the gets by their type.
    RangeCacheCounters counters() const {
        RangeCacheCounters sum = types_;
        sum.add(cache_.counters());
        return sum;
    }

  private:
    AccessType fetch(const SequenceGet& get) {
        cache_.plan_lookup(0, get.offset, get.size, parts_);
        const bool partial = std::any_of(parts_.begin(), parts_.end(), [](const LookupPart& each) {
            return each.kind != LookupPart::Kind::gap;
        });
        AccessType type = AccessType::hit;
        for (const LookupPart& part : parts_) {
            if (part.kind != LookupPart::Kind::gap) continue;
            const Admission admission = cache_.admit(0, part.offset, part.size, cache_.now(), true);
            if (admission.entry != nullptr) cache_.commit(admission.entry, source_.data());
            type = partial ? AccessType::partial_hit : admission.type;
        }
        return type;
    }

    RangeCache cache_;
    RangeCacheCounters types_;
    std::vector<std::byte> source_;
    std::vector<LookupPart> parts_;
};

nlohmann::ordered_json replay(const Config& config, const std::vector<SequenceGet>& gets,
                              std::uint64_t every) {
    Replay run(range_cache_config(settings_of(config)), largest_size(gets));
    auto occupancy = nlohmann::ordered_json::array();
    double free_sum = 0;
    std::uint64_t full_gets = 0;
    for (std::size_t id = 0; id < gets.size(); ++id) {
        const AccessType type = run.get(gets[id]);
        if (full_gets == 0 && type != AccessType::capacity && type != AccessType::failing) continue;
        const Occupancy now = run.cache().occupancy();
        const double free = static_cast<double>(now.free_bytes) / static_cast<double>(now.buffer_bytes);
        ++full_gets;
        free_sum += free;
        if (every != 0 && id % every == 0) occupancy.push_back({id, 1 - free});
    }
    const RangeCacheCounters sum = run.counters();
    nlohmann::ordered_json counters;
    for (const CounterInfo& row : range_cache_counter_table)
        counters[std::string(row.name)] = sum.*row.member;
    return {{"config", config.name},
            {"gets_since_full", full_gets},
            {"free_share", full_gets == 0 ? 0 : free_sum / static_cast<double>(full_gets)},
            {"counters", counters},
            {"occupancy", occupancy}};
}

}  // namespace
}  // namespace nearfetch::bench

int main(int argc, char** argv) {
    using namespace nearfetch::bench;
    const Arguments arguments(argc, argv, {"--sequence", "--config", "--occupancy-every"});
    const std::vector<SequenceGet> gets = read_sequence(arguments.text("--sequence", ""));
    try {
        for (const Config& config : arguments.configs())
            std::printf("%s\n",
                        replay(config, gets, arguments.number("--occupancy-every", 0)).dump().c_str());
    } catch (const nearfetch::Error& error) {
        give_up(error.what());
    }
}

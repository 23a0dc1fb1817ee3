// SPDX-License-Identifier: Apache-2.0
//
// Regions of read-ahead for small gets and ranges of large gets share one buffer. It has to serve whichever
// saves more at the moment. The reference is every fixed split between two caches, in network time. Exact,
// without a network.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "workload.hpp"

namespace nearfetch {
namespace {

using testing::Runner;
using testing::uniform;

constexpr std::uint64_t block_bytes = 4096, range_bytes = 16384;
constexpr std::uint64_t regions = 512, ranges = 128;
constexpr std::uint64_t buffer_bytes = 2 << 20;
constexpr std::uint64_t parts = 8;

/// In units of the latency: a range takes 2.5 of them.
double network_cost(std::uint64_t bytes) { return 1 + 1.5 * static_cast<double>(bytes) / range_bytes; }

struct MixedGet {
    bool small;
    std::uint64_t offset;
};

/// Draws 0 .. count - 1 by Zipf's law.
class Zipf {
  public:
    Zipf(std::uint64_t count, double exponent) {
        double sum = 0;
        for (std::uint64_t i = 1; i <= count; ++i)
            sums_.push_back(sum += std::pow(static_cast<double>(i), -exponent));
    }
    std::uint64_t operator()(std::mt19937_64& random) const {
        const double at = uniform(random) * sums_.back();
        return static_cast<std::uint64_t>(std::upper_bound(sums_.begin(), sums_.end(), at) - sums_.begin());
    }

  private:
    std::vector<double> sums_;
};

/// 10000 gets for each share of small ones.
std::vector<MixedGet> mixed_trace(const std::vector<double>& small_shares, std::uint64_t seed = 7) {
    std::mt19937_64 random(seed);
    const Zipf region(regions, 0.8), range(ranges, 0.8);
    std::vector<MixedGet> trace;
    for (const double share : small_shares) {
        for (int i = 0; i < 10000; ++i) {
            const bool small = uniform(random) < share;
            // An odd factor spreads the popular ones over the memory.
            if (small)
                trace.push_back({true, region(random) * 37 % regions * block_bytes + random() % 512 * 8});
            else
                trace.push_back({false, regions * block_bytes + range(random) * 37 % ranges * range_bytes});
        }
    }
    return trace;
}

RangeCacheConfig config_of(std::uint64_t bytes, bool weighs) {
    RangeCacheConfig config;
    config.buffer_bytes = config.buffer_bytes_max = bytes;
    config.adaptive = false;
    if (weighs) config.hit_benefit = [](Rank, std::uint64_t size) { return network_cost(size); };
    return config;
}

/// Network time of a get.
double cost_of(Runner& runner, const MixedGet& get) {
    double cost = 0;
    for (const std::uint64_t bytes :
         get.small ? runner.get(0, get.offset, 8, block_bytes) : runner.get(0, get.offset, range_bytes))
        cost += network_cost(bytes);
    return cost;
}

double cost_of_one(const std::vector<MixedGet>& trace, bool weighs) {
    Runner runner(config_of(buffer_bytes, weighs));
    double cost = 0;
    for (const MixedGet& each : trace)
        cost += cost_of(runner, each);
    return cost;
}

/// The cost of the best fixed split, which is unknown in advance.
double cost_of_best_split(const std::vector<MixedGet>& trace) {
    double best = HUGE_VAL;
    for (std::uint64_t part = 1; part < parts; ++part) {
        const std::uint64_t for_blocks = buffer_bytes * part / parts;
        Runner small(config_of(for_blocks, false)), large(config_of(buffer_bytes - for_blocks, false));
        double cost = 0;
        for (const MixedGet& each : trace)
            cost += cost_of(each.small ? small : large, each);
        best = std::min(best, cost);
    }
    return best;
}

TEST(SharedBuffer, MovesToWhatSavesMore) {
    const auto by_turns = mixed_trace({0.95, 0.3, 0.95, 0.3});
    EXPECT_LT(cost_of_one(by_turns, true), 0.8 * cost_of_best_split(by_turns));
}

// A trace alone says little: with few entries the ratio varies. Where nearly all ranges fit, a split serves
// them best.
TEST(SharedBuffer, IsNearTheBestSplitWhereNothingChanges) {
    for (const double share : {0.95, 0.8, 0.5, 0.2}) {
        double one = 0, best_split = 0;
        for (std::uint64_t seed = 1; seed <= 8; ++seed) {
            const auto trace = mixed_trace({share}, seed);
            one += cost_of_one(trace, true);
            best_split += cost_of_best_split(trace);
        }
        EXPECT_LT(one, (share < 0.5 ? 1.13 : 1.07) * best_split) << share;
    }
}

TEST(SharedBuffer, WeighingByWhatIsSavedSaves) {
    double weighed = 0, counted = 0;
    for (const double share : {0.8, 0.5, 0.2}) {
        weighed += cost_of_one(mixed_trace({share}), true);
        counted += cost_of_one(mixed_trace({share}), false);
    }
    EXPECT_LT(weighed, counted);
}

// Hits on a same-node target save a hundredth of those on a remote one.
TEST(SharedBuffer, RemoteTargetsTakeItFromSameNodeOnes) {
    RangeCacheConfig config;
    config.buffer_bytes = config.buffer_bytes_max = 64 * 64;
    config.adaptive = false;
    config.hit_benefit = [](Rank target, std::uint64_t) { return target == 0 ? 0.01 : 1.0; };
    Runner runner(config, 2);
    const auto get_all = [&](Rank target) {
        for (std::uint64_t i = 0; i < 64; ++i)
            runner.get(target, i * 64, 64);
    };
    for (int round = 0; round < 3; ++round)
        get_all(0);
    get_all(1);
    const std::uint64_t hits_before = runner.counters().hits;
    get_all(1);
    EXPECT_EQ(runner.counters().hits - hits_before, 64u);
    runner.cache.check_invariants();
}

}  // namespace
}  // namespace nearfetch

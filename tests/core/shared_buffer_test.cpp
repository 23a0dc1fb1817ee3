// SPDX-License-Identifier: Apache-2.0
//
// Blocks that are read ahead for small gets and ranges that are asked for share one buffer. It has to go to
// whichever saves more at the moment: against every fixed split of it between two caches, in what the network
// would take. Exact, without a network.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "core/range_cache/range_cache.hpp"

namespace nearfetch {
namespace {

constexpr std::uint64_t block_bytes = 4096, range_bytes = 16384;
constexpr std::uint64_t blocks = 512, ranges = 128;
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
        const double at = static_cast<double>(random() >> 11) * 0x1p-53 * sums_.back();
        return static_cast<std::uint64_t>(std::upper_bound(sums_.begin(), sums_.end(), at) - sums_.begin());
    }

  private:
    std::vector<double> sums_;
};

/// 10000 gets for each share of small ones.
std::vector<MixedGet> mixed_trace(const std::vector<double>& small_shares) {
    std::mt19937_64 random(7);
    const Zipf block(blocks, 0.8), range(ranges, 0.8);
    std::vector<MixedGet> trace;
    for (const double share : small_shares) {
        for (int i = 0; i < 10000; ++i) {
            const bool small = static_cast<double>(random() >> 11) * 0x1p-53 < share;
            // An odd factor spreads the popular ones over the memory.
            if (small)
                trace.push_back({true, block(random) * 37 % blocks * block_bytes + random() % 512 * 8});
            else
                trace.push_back({false, blocks * block_bytes + range(random) * 37 % ranges * range_bytes});
        }
    }
    return trace;
}

class MixedCache {
  public:
    MixedCache(std::uint64_t bytes, bool weighs) : cache_(config(bytes, weighs), 1) {}

    /// What the network takes for it.
    double get(const MixedGet& get) {
        const std::uint64_t size = get.small ? 8 : range_bytes;
        if (cache_.find(0, get.offset, size) != nullptr) return 0;
        cache_.survey(0, get.offset, size, segments_);
        double cost = 0;
        for (const Segment& each : segments_) {
            if (each.kind != Segment::Kind::gap) continue;
            ByteRange gap{each.offset, each.offset + each.size};
            if (get.small) {
                const std::uint64_t block = gap.begin - gap.begin % block_bytes;
                gap = cache_.gap_around(0, gap, {block, block + block_bytes});
            }
            cost += network_cost(gap.size());
            const Admission admission = get.small
                                            ? cache_.admit_ahead(0, gap)
                                            : cache_.admit(0, gap.begin, gap.size(), cache_.now(), true);
            if (admission.entry != nullptr) cache_.commit(admission.entry, source_.data());
        }
        return cost;
    }

  private:
    static RangeCacheConfig config(std::uint64_t bytes, bool weighs) {
        RangeCacheConfig config;
        config.buffer_bytes = config.buffer_bytes_max = bytes;
        config.adaptive = false;
        if (weighs) config.hit_worth = [](Rank, std::uint64_t size) { return network_cost(size); };
        return config;
    }

    RangeCache cache_;
    std::vector<Segment> segments_;
    std::vector<std::byte> source_ = std::vector<std::byte>(range_bytes);
};

double cost_of_one(const std::vector<MixedGet>& trace, bool weighs) {
    MixedCache cache(buffer_bytes, weighs);
    double cost = 0;
    for (const MixedGet& each : trace)
        cost += cache.get(each);
    return cost;
}

/// What the best split costs, which nobody knows before.
double cost_of_best_split(const std::vector<MixedGet>& trace) {
    double best = HUGE_VAL;
    for (std::uint64_t part = 1; part < parts; ++part) {
        const std::uint64_t for_blocks = buffer_bytes * part / parts;
        MixedCache small(for_blocks, false), large(buffer_bytes - for_blocks, false);
        double cost = 0;
        for (const MixedGet& each : trace)
            cost += (each.small ? small : large).get(each);
        best = std::min(best, cost);
    }
    return best;
}

TEST(SharedBuffer, MovesToWhatSavesMore) {
    const auto by_turns = mixed_trace({0.95, 0.3, 0.95, 0.3});
    EXPECT_LT(cost_of_one(by_turns, true), 0.8 * cost_of_best_split(by_turns));
}

TEST(SharedBuffer, IsNearTheBestSplitWhereNothingChanges) {
    for (const double share : {0.95, 0.8, 0.5, 0.2}) {
        const auto trace = mixed_trace({share});
        EXPECT_LT(cost_of_one(trace, true), 1.1 * cost_of_best_split(trace)) << share;
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

// Hits on the neighbour's memory save a hundredth of those on what is far away.
TEST(SharedBuffer, FarTargetsTakeItFromNearOnes) {
    RangeCacheConfig config;
    config.buffer_bytes = config.buffer_bytes_max = 64 * 64;
    config.adaptive = false;
    config.hit_worth = [](Rank target, std::uint64_t) { return target == 0 ? 0.01 : 1.0; };
    RangeCache cache(config, 2);
    const std::array<std::byte, 64> source{};
    const auto fetch = [&](Rank target, std::uint64_t offset) {
        if (cache.find(target, offset, 64) != nullptr) return true;
        const Admission admission = cache.admit(target, offset, 64, cache.now(), true);
        if (admission.entry != nullptr) cache.commit(admission.entry, source.data());
        return false;
    };
    for (int round = 0; round < 3; ++round)
        for (std::uint64_t i = 0; i < 64; ++i)
            fetch(0, i * 64);
    for (std::uint64_t i = 0; i < 64; ++i)
        fetch(1, i * 64);
    int far_hits = 0;
    for (std::uint64_t i = 0; i < 64; ++i)
        far_hits += fetch(1, i * 64) ? 1 : 0;
    EXPECT_EQ(far_hits, 64);
    cache.check_invariants();
}

}  // namespace
}  // namespace nearfetch

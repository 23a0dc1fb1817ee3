// SPDX-License-Identifier: Apache-2.0
//
// The policies on the workload of 001, section IV-A, in the real cache: contiguous space, 64-byte lines, 1500
// slots. Golden counts pin every policy. The default has to be at least as good as an exact GDSF over an
// ideal store.

#include "workload.hpp"

#include <gtest/gtest.h>

#include <cstdio>

namespace nearfetch {
namespace {

using testing::Get;
using testing::Runner;

constexpr int seeds = 5;

RangeCacheConfig fixed_config(const std::string& policy, std::uint64_t buffer_bytes,
                              bool as_published = false) {
    RangeCacheConfig config;
    config.buffer_bytes = config.buffer_bytes_max = buffer_bytes;
    config.index_entries = config.index_entries_max = 1500;
    config.adaptive = false;
    config.policy = policy;
    config.exact_match = as_published;
    if (as_published) config.storage = "best_fit";
    return config;
}

std::uint64_t hits_of(const RangeCacheConfig& config, const std::vector<Get>& trace) {
    Runner runner(config);
    runner.run(trace);
    runner.cache.check_invariants();
    const RangeCacheCounters counters = runner.counters();
    EXPECT_EQ(counters.gets, trace.size());
    EXPECT_EQ(counters.gets, counters.hits + counters.partial_hits + counters.pending_hits + counters.direct +
                                 counters.conflicting + counters.capacity + counters.failing +
                                 counters.bypassed);
    return counters.hits;
}

template <class Hits>
double mean_percent(const std::vector<std::vector<Get>>& traces, Hits&& hits) {
    double sum = 0;
    for (const auto& trace : traces)
        sum += static_cast<double>(hits(trace)) / static_cast<double>(trace.size());
    return 100 * sum / static_cast<double>(traces.size());
}

TEST(Workload, OfflineGdsfByHand) {
    // Capacity 10. Sizes: a 4, b 4, c 4. a a b: then c evicts b (1/4 < 2/4), L = 1/4; b evicts c (L + 1/4 =
    // 1/2 ties with a's 2/4: the lower offset, a, goes first).
    const Get a{0, 4}, b{10, 4}, c{20, 4};
    EXPECT_EQ(testing::offline_gdsf_hits({a, a, b, c, a}, 10), 2u);
    EXPECT_EQ(testing::offline_gdsf_hits({a, a, b, c, b, a}, 10), 1u);
    EXPECT_EQ(testing::offline_gdsf_hits({a, a, b, c, b, c}, 10), 2u);
}

TEST(Workload, TheDefaultPolicyIsAtLeastAsGoodAsOfflineGdsf) {
    std::vector<std::vector<Get>> traces;
    for (std::uint64_t seed = 1; seed <= seeds; ++seed)
        traces.push_back(testing::paper_trace(seed));
    std::printf("%-28s %8s %8s\n", "hits in percent", "1 MiB", "4 MiB");
    const auto row = [&](const char* name, auto&& hits) {
        const double small = mean_percent(traces, [&](const auto& trace) { return hits(trace, 1ull << 20); });
        const double large = mean_percent(traces, [&](const auto& trace) { return hits(trace, 4ull << 20); });
        std::printf("%-28s %8.2f %8.2f\n", name, small, large);
        return std::pair{small, large};
    };
    row("infinite cache", [](const auto& trace, std::uint64_t) { return testing::infinite_hits(trace); });
    const auto gdsf = row("GDSF, offline, ideal store", testing::offline_gdsf_hits);
    std::pair<double, double> density, published;
    for (const std::string policy : {"density", "gdsf", "lru", "temporal"}) {
        const auto result = row(policy.c_str(), [&](const auto& trace, std::uint64_t bytes) {
            return hits_of(fixed_config(policy, bytes), trace);
        });
        if (policy == "density") density = result;
    }
    for (const std::string policy : {"clampi", "temporal", "positional"}) {
        const auto result =
            row((policy + ", as published").c_str(), [&](const auto& trace, std::uint64_t bytes) {
                return hits_of(fixed_config(policy, bytes, true), trace);
            });
        if (policy == "clampi") published = result;
    }
    EXPECT_GE(density.first, gdsf.first);
    EXPECT_GE(density.second, gdsf.second);
    EXPECT_GT(density.first, published.first + 10);
    EXPECT_GT(density.second, published.second + 4);
}

TEST(Workload, TheDefaultPolicyFollowsAPopularSetThatChanges) {
    std::vector<std::vector<Get>> traces;
    for (std::uint64_t seed = 1; seed <= seeds; ++seed)
        traces.push_back(testing::shifting_trace(seed));
    for (const std::uint64_t bytes : {512ull << 10, 1ull << 20}) {
        const auto percent = [&](const std::string& policy) {
            return mean_percent(
                traces, [&](const auto& trace) { return hits_of(fixed_config(policy, bytes), trace); });
        };
        const double offline =
            mean_percent(traces, [&](const auto& trace) { return testing::offline_gdsf_hits(trace, bytes); });
        const double density = percent("density"), gdsf = percent("gdsf"), lru = percent("lru");
        std::printf("popular set changes, %4llu KiB: offline GDSF %.2f, density %.2f, GDSF %.2f, LRU %.2f\n",
                    static_cast<unsigned long long>(bytes >> 10), offline, density, gdsf, lru);
        EXPECT_GE(density, offline);
        EXPECT_GE(density, gdsf - 0.1);
        EXPECT_GT(density, lru + 1);
    }
}

TEST(Workload, GoldenCounts) {
    const std::vector<Get> trace = testing::paper_trace(1);
    ASSERT_EQ(trace.size(), 20000u);
    struct Golden {
        const char* policy;
        bool as_published;
        std::uint64_t hits;
        std::uint64_t evictions;
    };
    const Golden golden[] = {
        {"density", false, 15883, 211},    {"gdsf", false, 15273, 1194},  {"lru", false, 8865, 8069},
        {"temporal", false, 7209, 10343},  {"clampi", true, 12881, 3300}, {"temporal", true, 12913, 3283},
        {"positional", true, 12839, 3314},
    };
    for (const Golden& expected : golden) {
        Runner runner(fixed_config(expected.policy, 1 << 20, expected.as_published));
        runner.run(trace);
        EXPECT_EQ(runner.counters().hits, expected.hits) << expected.policy;
        EXPECT_EQ(runner.cache.counters().evictions, expected.evictions) << expected.policy;
    }
    EXPECT_EQ(testing::offline_gdsf_hits(trace, 1 << 20), 15496u);
    EXPECT_EQ(testing::infinite_hits(trace), 19002u);
}

}  // namespace
}  // namespace nearfetch

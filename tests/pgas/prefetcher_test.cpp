// SPDX-License-Identifier: Apache-2.0
//
// A loop that finds its prefetch distance, in virtual time: reproducible results.

#include <gtest/gtest.h>

#include <nearfetch/pgas.hpp>
#include <vector>

namespace nearfetch {
namespace {

constexpr std::int64_t accesses = 3000;

struct Found {
    std::int64_t distance = 0;
    double ns_each = 0;
    std::vector<std::int64_t> hinted;
};

std::int64_t place(std::int64_t i) { return i * i * i * 7919 % 65'521; }

Found read_on(LaunchOptions options, std::uint64_t compute_ns) {
    Found found;
    options.virtual_time = true;
    options.miss_ns = options.overlapped_ns = 0;  // the network alone
    launch(options, [&] {
        const auto array = allocate<std::int64_t>(65'521).at_rank(1);
        if (rank() != 0) return;
        Prefetcher ahead;
        const std::uint64_t begin_ns = now_ns();
        for (std::int64_t i = 0; i < accesses; ++i) {
            ahead.step(i, accesses, [&](std::int64_t j) {
                EXPECT_GT(j, i);
                found.hinted.push_back(j);
                prefetch(array + place(j));
            });
            EXPECT_EQ(array[place(i)], 0);
            if (compute_ns != 0) compute(compute_ns);
        }
        found.ns_each = static_cast<double>(now_ns() - begin_ns) / accesses;
        found.distance = ahead.distance();
    });
    return found;
}

TEST(Prefetcher, AsksForEveryLaterIterationOnceAndInOrder) {
    const Found found = read_on({.network = "fdr-ib"}, 0);
    ASSERT_EQ(found.hinted.size(), static_cast<std::size_t>(accesses - 1));
    for (std::size_t i = 0; i < found.hinted.size(); ++i)
        ASSERT_EQ(found.hinted[i], static_cast<std::int64_t>(i) + 1);
}

TEST(Prefetcher, LooksAsFarAheadAsTheLatencyIsLong) {
    // 2.1 us take three iterations of 1 us, and 49 us about fifty, plus the margin of 8.
    const Found fast = read_on({.network = "fdr-ib"}, 1000);
    EXPECT_GE(fast.distance, 8 + 3);
    EXPECT_LE(fast.distance, 8 + 8);
    EXPECT_LT(fast.ns_each, 1.25 * 1000);
    // If the gap of messages exceeds an iteration, no distance suffices, and growth stops.
    const Found slow = read_on({.network = "1gbe"}, 1000);
    EXPECT_GT(slow.distance, 4);
    EXPECT_LT(slow.ns_each, 1.05 * 12'200);
}

TEST(Prefetcher, GivesNoHintsWithoutACache) {
    const Found found = read_on({.cached = false, .network = "fdr-ib"}, 0);
    EXPECT_TRUE(found.hinted.empty());
    EXPECT_EQ(found.distance, 0);
}

TEST(Prefetcher, UnusedHintsShortenIt) {
    // Two pages: distant prefetches are evicted before their use.
    LaunchOptions options{.network = "fdr-ib"};
    options.cache.capacity_bytes = 4096;
    options.cache.dirty_pages = 1;
    EXPECT_LE(read_on(options, 0).distance, 4);
}

TEST(Prefetcher, HintsThatDoNotFitUnderWayAreNotGiven) {
    LaunchOptions options{.network = "1gbe"};
    options.cache.operations = 8;
    EXPECT_LE(read_on(options, 0).distance, 6);
}

}  // namespace
}  // namespace nearfetch

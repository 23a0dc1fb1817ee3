// SPDX-License-Identifier: Apache-2.0
//
// What virtual time charges beside the network.

#include <gtest/gtest.h>

#include <nearfetch/pgas.hpp>
#include <utility>

namespace nearfetch {
namespace {

struct Times {
    std::uint64_t miss_ns = 0;
    std::uint64_t hit_ns = 0;
    std::uint64_t fence_ns = 0;
};

/// Of a get that fetches a line, of one of the same line, and of a fence after them.
Times times(std::uint64_t access_ns, std::uint64_t miss_ns, std::uint64_t overlapped_ns,
            std::uint64_t fence_ns) {
    Times found;
    LaunchOptions options{.network = "aries", .virtual_time = true};
    options.access_ns = access_ns;
    options.miss_ns = miss_ns;
    options.overlapped_ns = overlapped_ns;
    options.fence_ns = fence_ns;
    launch(options, [&] {
        const auto array = allocate<std::int64_t>(2).at_rank(1);
        if (rank() != 0) return;
        std::uint64_t begin_ns = now_ns();
        const auto took = [&] { return now_ns() - std::exchange(begin_ns, now_ns()); };
        EXPECT_EQ(get(array), 0);
        found.miss_ns = took();
        EXPECT_EQ(get(array + 1), 0);
        found.hit_ns = took();
        fence();
        found.fence_ns = took();
    });
    return found;
}

TEST(Costs, AnAccessAMissAndAFenceTakeWhatTheyAreChargedWith) {
    const Times network = times(0, 0, 0, 0);
    EXPECT_GT(network.miss_ns, 1000u);
    EXPECT_EQ(network.hit_ns, 0u);
    EXPECT_EQ(network.fence_ns, 0u);
    const Times all = times(7, 1000, 0, 30);
    EXPECT_EQ(all.miss_ns, network.miss_ns + 7 + 1000);
    EXPECT_EQ(all.hit_ns, 7u);
    EXPECT_EQ(all.fence_ns, 30u);
}

TEST(Costs, WhatAMissDoesWhileItsMessageTravelsIsHiddenUntilItTakesLonger) {
    const Times network = times(0, 0, 0, 0);
    EXPECT_EQ(times(0, 0, 500, 0).miss_ns, network.miss_ns);
    const Times longer = times(0, 0, 100'000, 0);
    EXPECT_GE(longer.miss_ns, 100'000u);
    EXPECT_LT(longer.miss_ns, 100'000 + network.miss_ns);
}

}  // namespace
}  // namespace nearfetch

// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <algorithm>

#include <cstdint>
#include <random>
#include <vector>

#include "cache/range_cache/asked_bytes.hpp"

namespace nearfetch {
namespace {

TEST(AskedBytes, AGranuleCountsIfOneGetHasCoveredIt) {
    AskedBytes asked;
    asked.reset({4096, 8192});
    asked.add({4100, 4110});
    EXPECT_TRUE(asked.has_all({4100, 4108}));
    EXPECT_TRUE(asked.has_all({4101, 4102}));
    EXPECT_FALSE(asked.has_all({4100, 4110})) << "half of the last one was not asked for";
    EXPECT_FALSE(asked.has_all({4096, 4104}));
    asked.add({4110, 4112});
    EXPECT_FALSE(asked.has_all({4108, 4112})) << "in two halves";
    asked.add({4096, 8192});
    EXPECT_TRUE(asked.has_all({4096, 8192}));
    asked.reset({4096, 8192});
    EXPECT_FALSE(asked.has_all({4100, 4104}));
}

TEST(AskedBytes, GranulesOfLargeRegionsAreLarger) {
    AskedBytes asked;
    asked.reset({0, 65536});
    asked.add({64, 96});
    EXPECT_FALSE(asked.has_all({64, 96}));
    asked.add({64, 128});
    EXPECT_TRUE(asked.has_all({64, 128}));
    asked.add({65472, 65536});
    EXPECT_TRUE(asked.has_all({65472, 65536}));
}

/// Against a flag for each byte: nothing counts that was not asked for, and all that was in whole granules.
TEST(AskedBytes, NothingElseIsTakenOver) {
    for (std::uint64_t round = 0; round < 2000; ++round) {
        std::mt19937_64 random(round);
        const std::uint64_t begin = random() % 5000, size = 1 + random() % 4096;
        AskedBytes asked, next;
        asked.reset({begin, begin + size});
        std::vector<bool> flags(20000);
        for (int n = 0; n < 8; ++n) {
            const std::uint64_t at = begin + random() % size, end = at + 1 + random() % (begin + size - at);
            asked.add({at, end});
            for (std::uint64_t byte = at; byte < end; ++byte)
                flags[byte] = true;
        }
        const std::uint64_t other = random() % 5000, other_size = 1 + random() % 8192;
        next.reset({other, other + other_size});
        const ByteRange common{std::max(begin, other), std::min(begin + size, other + other_size)};
        if (common.begin >= common.end) continue;
        next.add(asked, common);
        for (std::uint64_t byte = other; byte < other + other_size; ++byte) {
            const bool taken = next.has_all({byte, byte + 1});
            ASSERT_TRUE(!taken || (flags[byte] && common.contains({byte, byte + 1}))) << round << ' ' << byte;
            const ByteRange around{byte & ~std::uint64_t{7}, (byte & ~std::uint64_t{7}) + 8};
            if (size > 4096 || other_size > 4096 || !common.contains(around)) continue;
            const ByteRange granule{byte & ~std::uint64_t{3}, (byte & ~std::uint64_t{3}) + 4};
            ASSERT_EQ(next.has_all(granule), asked.has_all(granule)) << round << ' ' << byte;
        }
    }
}

}  // namespace
}  // namespace nearfetch

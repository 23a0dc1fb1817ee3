// SPDX-License-Identifier: Apache-2.0
#include "report/units.hpp"

#include <gtest/gtest.h>

namespace nearfetch {
namespace {

TEST(Units, CountsHaveCommas) {
    EXPECT_EQ(readable_count(0), "0");
    EXPECT_EQ(readable_count(999), "999");
    EXPECT_EQ(readable_count(1000), "1,000");
    EXPECT_EQ(readable_count(1234567), "1,234,567");
}

TEST(Units, BytesHaveBinaryUnits) {
    EXPECT_EQ(readable_bytes(1023), "1023 B");
    EXPECT_EQ(readable_bytes(1024), "1.0 KiB");
    EXPECT_EQ(readable_bytes(1536ull << 20), "1.5 GiB");
    EXPECT_EQ(readable_bytes(5ull << 50), "5120.0 TiB");
}

TEST(Units, TimesHaveTwoFigures) {
    EXPECT_EQ(readable_time(0), "0 s");
    EXPECT_EQ(readable_time(12.4), "12 s");
    EXPECT_EQ(readable_time(3.14), "3.1 s");
    EXPECT_EQ(readable_time(-0.25), "-250 ms");
    EXPECT_EQ(readable_time(40e-6), "40 us");
}

TEST(Units, SharesAreNeverRoundedToNoneOrAll) {
    EXPECT_EQ(readable_share(0, 10), "0 %");
    EXPECT_EQ(readable_share(1, 0), "0 %");
    EXPECT_EQ(readable_share(1, 100'000), "less than 0.1 %");
    EXPECT_EQ(readable_share(84, 100), "84 %");
    EXPECT_EQ(readable_share(5, 1000), "0.5 %");
    EXPECT_EQ(readable_share(99'999, 100'000), "99.9 %");
    EXPECT_EQ(readable_share(10, 10), "100 %");
}

}  // namespace
}  // namespace nearfetch

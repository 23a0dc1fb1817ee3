// SPDX-License-Identifier: Apache-2.0
#include "policy/doorkeeper.hpp"

#include <gtest/gtest.h>

namespace nearfetch {
namespace {

TEST(Doorkeeper, KnowsWhatWasAskedForBefore) {
    Doorkeeper doorkeeper;
    EXPECT_FALSE(doorkeeper.seen_before(1, 4096));
    EXPECT_TRUE(doorkeeper.seen_before(1, 4096));
    EXPECT_FALSE(doorkeeper.seen_before(2, 4096)) << "another target";
    doorkeeper.reset();
    EXPECT_FALSE(doorkeeper.seen_before(1, 4096));
}

TEST(Doorkeeper, RemembersAboutAsMuchAsItIsToCover) {
    constexpr std::uint64_t things = 200'000;
    const auto remembered = [](Doorkeeper& doorkeeper) {
        for (std::uint64_t i = 0; i < things; ++i)
            (void)doorkeeper.seen_before(1, i);
        std::uint64_t known = 0;
        for (std::uint64_t i = 0; i < things; ++i)
            known += doorkeeper.seen_before(1, i) ? 1 : 0;
        return known;
    };
    Doorkeeper doorkeeper;
    EXPECT_LT(remembered(doorkeeper), things / 10);
    doorkeeper.cover(2 * things);
    EXPECT_GT(remembered(doorkeeper), things / 2);
    doorkeeper.cover(things);
    EXPECT_TRUE(doorkeeper.seen_before(1, things - 1)) << "it covers less already";
    doorkeeper.cover(~std::uint64_t{0} / 4);
    EXPECT_FALSE(doorkeeper.seen_before(1, 7)) << "within limits";
    EXPECT_TRUE(doorkeeper.seen_before(1, 7));
}

}  // namespace
}  // namespace nearfetch

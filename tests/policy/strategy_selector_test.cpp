// SPDX-License-Identifier: Apache-2.0
#include "policy/strategy_selector.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>

namespace nearfetch {
namespace {

/// What is taken, while each way takes that long.
std::string ways_taken(StrategySelector& choice, int times, std::uint64_t wanted_ns, std::uint64_t whole_ns) {
    std::string all;
    for (int n = 0; n < times; ++n) {
        const StrategySelector::Strategy strategy = choice.next();
        const bool whole = strategy == StrategySelector::Strategy::whole;
        all += whole ? 'A' : 'w';
        choice.took(strategy, whole ? whole_ns : wanted_ns, 100);
    }
    return all;
}

TEST(StrategySelector, TriesBothAndTakesTheOneThatTakesLess) {
    StrategySelector wanted, whole;
    EXPECT_EQ(ways_taken(wanted, 20, 100, 150), "wAwA" + std::string(16, 'w'));
    EXPECT_EQ(ways_taken(whole, 20, 150, 100), "wAwA" + std::string(16, 'A'));
}

TEST(StrategySelector, TriesAgainWhenThatIsASmallShare) {
    StrategySelector choice;
    constexpr std::size_t rest = 256 * 2;  // of 100 ns, until the 200 ns that it takes longer are 1/256
    EXPECT_EQ(ways_taken(choice, 2 + rest + 1, 100, 300), "wA" + std::string(rest, 'w') + "A");
    EXPECT_EQ(ways_taken(choice, 2 * rest + 1, 100, 300), std::string(2 * rest, 'w') + "A")
        << "twice as late";
}

TEST(StrategySelector, TriesAgainSoonestAfter32) {
    StrategySelector choice;
    EXPECT_EQ(ways_taken(choice, 4 + 32 + 1, 100, 110), "wAwA" + std::string(32, 'w') + "A");
}

TEST(StrategySelector, FollowsWhatChanges) {
    StrategySelector choice;
    EXPECT_EQ(ways_taken(choice, 4, 100, 125), "wAwA");
    // What takes longer than it did takes effect when it has done so for some time.
    const std::string later = ways_taken(choice, 200, 1000, 125);
    EXPECT_EQ(later.find('A'), 1u) << later;
    EXPECT_GT(std::ranges::count(later, 'A'), 190) << later;
    // One that is better now is found when it is tried.
    const std::string again = ways_taken(choice, 5000, 10, 125);
    EXPECT_EQ(again.back(), 'w');
    EXPECT_GT(std::ranges::count(again, 'w'), 4000) << again;
}

}  // namespace
}  // namespace nearfetch

// SPDX-License-Identifier: Apache-2.0

// The shadow index: cases worked by hand, and random accesses against a model that remembers every byte.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <vector>

#include "cache/shadow/shadow_index.hpp"

namespace nearfetch {
namespace {

using Past = ShadowIndex::Past;

TEST(ShadowIndex, KnowsNothingAtFirst) {
    const ShadowIndex index;
    const Past past = index.past_of(0, {0, 8});
    EXPECT_EQ(past.weight, 1u);
    EXPECT_FALSE(past.was_fetched);
    EXPECT_EQ(index.distinct_bytes(), 0u);
}

TEST(ShadowIndex, KnowsBytesNotLines) {
    ShadowIndex index;
    index.fetch(1, {8, 16}, 3, Fate::kept);
    EXPECT_TRUE(index.past_of(1, {8, 16}).was_fetched);
    EXPECT_TRUE(index.past_of(1, {10, 12}).was_fetched);
    EXPECT_FALSE(index.past_of(1, {16, 24}).was_fetched) << "beside it";
    EXPECT_FALSE(index.past_of(1, {8, 17}).was_fetched) << "one byte more";
    EXPECT_FALSE(index.past_of(2, {8, 16}).was_fetched) << "of another target";
    EXPECT_EQ(index.distinct_bytes(), 8u);
}

TEST(ShadowIndex, TellsWhenItsOwnBytesWereFetched) {
    ShadowIndex index;
    index.fetch(0, {0, 8}, 1, Fate::kept);
    index.fetch(0, {8, 16}, 4, Fate::bypassed);
    EXPECT_EQ(index.past_of(0, {0, 8}).fetched, 1u) << "a neighbour of the same line came later";
    EXPECT_EQ(index.past_of(0, {8, 16}).fetched, 4u);
    EXPECT_EQ(index.past_of(0, {0, 16}).fetched, 1u) << "the older part counts";
    index.fetch(0, {0, 64}, 4, Fate::not_kept);
    EXPECT_EQ(index.past_of(0, {0, 8}).fetched, 4u);
    EXPECT_EQ(index.past_of(0, {0, 8}).fate, Fate::not_kept);
}

TEST(ShadowIndex, KnowsAllLinesOfARangeAndItsEnd) {
    ShadowIndex index;
    index.fetch(0, {100, 300}, 1, Fate::kept);
    for (std::uint64_t begin = 100; begin < 300; ++begin)
        EXPECT_TRUE(index.past_of(0, {begin, begin + 1}).was_fetched) << begin;
    EXPECT_FALSE(index.past_of(0, {99, 100}).was_fetched);
    EXPECT_FALSE(index.past_of(0, {300, 301}).was_fetched);
    EXPECT_EQ(index.distinct_bytes(), 200u);
}

TEST(ShadowIndex, OwnWritesAreRemembered) {
    ShadowIndex index;
    index.overwrite(0, {0, 8});
    EXPECT_EQ(index.line_count(), 0u) << "what was never fetched is not kept";
    index.fetch(0, {0, 8}, 1, Fate::kept);
    index.overwrite(0, {0, ~std::uint64_t{0}});
    EXPECT_EQ(index.past_of(0, {0, 8}).fate, Fate::overwritten);
    index.fetch(0, {0, 8}, 1, Fate::kept);
    EXPECT_EQ(index.past_of(0, {0, 8}).fate, Fate::kept);
}

TEST(ShadowIndex, ItsMemoryIsBounded) {
    ShadowIndex index(64);
    for (std::uint64_t line = 0; line < 100'000; ++line)
        index.fetch(0, {line * 64, line * 64 + 64}, 1, Fate::kept);
    EXPECT_LE(index.line_count(), 64u);
    EXPECT_GE(index.line_count(), 8u);
    EXPECT_GE(index.weight(), 1024u);
}

TEST(ShadowIndex, ALargeRangeIsNotedUpToALimit) {
    ShadowIndex index(1 << 20);
    index.fetch(0, {0, 1ull << 40}, 1, Fate::kept);
    EXPECT_EQ(index.distinct_bytes(), ShadowIndex::most_noted_bytes);
}

/// Remembers every byte.
class Model {
  public:
    struct Known {
        Stamp fetched;
    };
    bool was_fetched(Rank target, ByteRange range) const {
        for (std::uint64_t byte = range.begin; byte < range.end; ++byte)
            if (!bytes_.contains({target, byte})) return false;
        return true;
    }
    Stamp oldest(Rank target, ByteRange range) const {
        Stamp oldest = ~Stamp{0};
        for (std::uint64_t byte = range.begin; byte < range.end; ++byte)
            oldest = std::min(oldest, bytes_.at({target, byte}).fetched);
        return oldest;
    }
    void fetch(Rank target, ByteRange range, Stamp now) {
        for (std::uint64_t byte = range.begin; byte < range.end; ++byte)
            bytes_[{target, byte}] = {now};
    }
    std::uint64_t distinct_bytes() const { return bytes_.size(); }

  private:
    std::map<std::pair<Rank, std::uint64_t>, Known> bytes_;
};

/// The first line of a range: what a get stands for.
ByteRange first_line(ByteRange range) {
    return {range.begin, std::min(range.end, (range.begin / 64 + 1) * 64)};
}

TEST(ShadowIndex, IsExactWhileAllLinesFit) {
    for (unsigned seed = 1; seed <= 20; ++seed) {
        std::mt19937 random(seed);
        ShadowIndex index;
        Model model;
        Stamp now = 0;
        for (int step = 0; step < 2000; ++step) {
            now += random() % 8 == 0;
            const Rank target = static_cast<Rank>(random() % 3);
            const std::uint64_t begin = random() % 2000;
            const ByteRange range{begin, begin + 1 + random() % 200};
            const ByteRange asked = first_line(range);
            const Past past = index.past_of(target, range);
            ASSERT_EQ(past.weight, 1u);
            ASSERT_EQ(past.was_fetched, model.was_fetched(target, asked))
                << "seed " << seed << " step " << step;
            if (past.was_fetched) {
                // Of a line fetched at three stamps, the two oldest are not told apart.
                ASSERT_GE(past.fetched, model.oldest(target, asked));
                ASSERT_EQ(past.fetched == now, model.oldest(target, asked) == now);
            }
            index.fetch(target, range, now, Fate::kept);
            model.fetch(target, range, now);
        }
        EXPECT_EQ(index.distinct_bytes(), model.distinct_bytes());
    }
}

TEST(ShadowIndex, EstimatesWhatDoesNotFit) {
    // 200,000 gets of 8 bytes of 40,000 lines, some of them much more frequent than others.
    for (unsigned seed = 1; seed <= 5; ++seed) {
        std::mt19937_64 random(seed);
        ShadowIndex index(4096);
        std::vector<bool> seen(40'000);
        double again = 0, estimated_again = 0, estimated_all = 0;
        constexpr int gets = 200'000;
        for (int i = 0; i < gets; ++i) {
            const double u = static_cast<double>(random() % 1'000'000) / 1e6;
            const auto line = static_cast<std::uint64_t>(u * u * 40'000);
            const ByteRange range{line * 64, line * 64 + 8};
            const Past past = index.past_of(0, range);
            again += seen[line] ? 1 : 0;
            estimated_all += static_cast<double>(past.weight);
            if (past.was_fetched) estimated_again += static_cast<double>(past.weight);
            seen[line] = true;
            index.fetch(0, range, 1, Fate::kept);
        }
        EXPECT_NEAR(estimated_all / gets, 1.0, 0.1) << "seed " << seed;
        EXPECT_NEAR(estimated_again / estimated_all, again / gets, 0.03) << "seed " << seed;
        const auto distinct = static_cast<double>(std::ranges::count(seen, true)) * 8;
        EXPECT_NEAR(static_cast<double>(index.distinct_bytes()) / distinct, 1.0, 0.1) << "seed " << seed;
    }
}

}  // namespace
}  // namespace nearfetch

// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <deque>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "cache/eviction/eviction_policy.hpp"
#include "cache/eviction/score_sample.hpp"
#include "cache/eviction/slot_sampler.hpp"

namespace nearfetch {
namespace {

/// A fake cache: items, and all else as the test sets it.
class FakeView final : public EvictionView {
  public:
    EvictionItem& put(std::uint64_t bytes, std::uint64_t last) {
        items_.push_back({});
        EvictionItem& item = items_.back();
        item.bytes = bytes;
        item.last = last;
        item.frequency = 1;
        return item;
    }
    std::uint64_t item_count() const override { return items_.size(); }
    std::uint64_t slot_count() const override { return 64; }
    void scale_weights(int octaves) override {
        for (EvictionItem& item : items_)
            item.weight = std::ldexp(item.weight, -octaves);
    }
    /// Foreign items share one key.
    std::uint64_t key(const EvictionItem& item) const override {
        std::uint64_t number = 1;
        for (const EvictionItem& each : items_) {
            if (&each == &item) break;
            ++number;
        }
        return number * 0x9e3779b97f4a7c15ull;
    }
    std::uint64_t gets() const override { return now; }
    double average_get_bytes() const override { return average; }
    std::uint64_t adjacent_free_bytes(const EvictionItem& item) const override {
        return item.bytes % 2 == 1 ? free_beside_odd : 0;
    }
    double application_score(const EvictionItem& item) const override {
        return -static_cast<double>(item.bytes);
    }

    std::deque<EvictionItem> items_;
    std::uint64_t now = 100;
    double average = 1000;
    std::uint64_t free_beside_odd = 0;
};

TEST(EvictionRegistry, KnowsEachOfItsNames) {
    FakeView view;
    const auto names = eviction_policy_names();
    ASSERT_EQ(names.size(), 7u);
    EXPECT_EQ(names.front(), "density");
    for (const auto name : names)
        EXPECT_NE(make_eviction_policy(name, view), nullptr) << name;
}

TEST(EvictionRegistry, AnUnknownNameIsAnErrorThatListsTheAllowedOnes) {
    FakeView view;
    try {
        make_eviction_policy("mru", view);
        FAIL();
    } catch (const Error& error) {
        const std::string text = error.what();
        EXPECT_NE(text.find("mru"), std::string::npos) << text;
        for (const auto name : eviction_policy_names())
            EXPECT_NE(text.find(name), std::string::npos) << text;
    }
}

// 001, section III-C2: R_P = min(|ags - d_c| / ags, 1); III-D1: R_T = last / i, R = R_P x R_T. ags = 1000, i
// = 100.
TEST(PaperScores, AreThePrintedFormulas) {
    FakeView view;
    EvictionItem& odd = view.put(65, 40);
    EvictionItem& even = view.put(64, 40);
    const auto full = make_eviction_policy("clampi", view);
    const auto temporal = make_eviction_policy("temporal", view);
    const auto positional = make_eviction_policy("positional", view);
    EXPECT_DOUBLE_EQ(temporal->score(odd), 0.4);
    EXPECT_DOUBLE_EQ(positional->score(even), 1.0);
    view.free_beside_odd = 750;
    EXPECT_DOUBLE_EQ(positional->score(odd), 0.25);
    EXPECT_DOUBLE_EQ(full->score(odd), 0.1);
    EXPECT_DOUBLE_EQ(full->score(even), 0.4);
    view.free_beside_odd = 1000;
    EXPECT_DOUBLE_EQ(full->score(odd), 0.0);
    view.free_beside_odd = 1600;
    EXPECT_DOUBLE_EQ(positional->score(odd), 0.6);
    view.free_beside_odd = 5000;  // 4.0, clamped
    EXPECT_DOUBLE_EQ(positional->score(odd), 1.0);
    EXPECT_DOUBLE_EQ(full->score(odd), 0.4);
}

/// Slots of an index, for a sampler.
struct Slots {
    struct Slot {
        bool occupied = false;
        EvictionItem* item = nullptr;
    };
    std::vector<Slot> slots;
    SlotSampler::Sample draw(SlotSampler& sampler, const EvictionPolicy& policy) {
        return sampler.draw(slots.size(), policy, [this](std::uint64_t at) {
            return std::pair(slots[at].occupied, slots[at].item);
        });
    }
};

// v_i = max(M, k_i): at least M slots, on until there is an entry, around the end of the array.
TEST(SlotSampler, VisitsMSlotsOrUntilThereIsAnEntry) {
    FakeView view;
    const auto policy = make_eviction_policy("temporal", view);
    Slots index{std::vector<Slots::Slot>(1000)};
    EvictionItem& only = view.put(64, 1);
    index.slots[5] = {true, &only};
    SlotSampler sampler(16, 3);
    for (int i = 0; i < 50; ++i) {
        const auto sample = index.draw(sampler, *policy);
        ASSERT_EQ(sample.lowest, &only);
        EXPECT_GE(sample.visited, 16u);
        EXPECT_LE(sample.visited, 1000u);
        EXPECT_EQ(sample.occupied, 1u);
    }
    for (std::size_t slot = 0; slot < 1000; ++slot)
        if (slot != 5) index.slots[slot] = {true, &view.put(64, 10 + slot)};
    for (int i = 0; i < 50; ++i) {
        const auto sample = index.draw(sampler, *policy);
        EXPECT_EQ(sample.visited, 16u);
        EXPECT_EQ(sample.occupied, 16u);
    }
}

TEST(SlotSampler, ASampleOfAllIsExactAndPendingEntriesAreNotVictims) {
    FakeView view;
    const auto policy = make_eviction_policy("temporal", view);
    Slots index{std::vector<Slots::Slot>(8)};
    index.slots[0] = {true, &view.put(64, 30)};
    EvictionItem& oldest = view.put(64, 10);
    index.slots[3] = {true, &oldest};
    index.slots[6] = {true, &view.put(64, 20)};
    index.slots[1] = {true, nullptr};
    SlotSampler sampler(8, 1);
    const auto sample = index.draw(sampler, *policy);
    EXPECT_EQ(sample.lowest, &oldest);
    EXPECT_EQ(sample.visited, 8u);
    EXPECT_EQ(sample.occupied, 4u);
    index.slots.assign(8, {});
    EXPECT_EQ(index.draw(sampler, *policy).lowest, nullptr);
}

// Scores 1 to 8 of equal size: the lowest quarter of the bytes are 1 and 2.
TEST(ScoreSample, KnowsTheLimitOfTheLowestByBytes) {
    ScoreSample sample;
    for (const int score : {5, 3, 8, 1, 7, 2, 4}) {
        EXPECT_FALSE(sample.is_filled());
        sample.add(score, 100, 8);
    }
    sample.add(6, 100, 8);
    EXPECT_TRUE(sample.is_filled());
    EXPECT_EQ(sample.limit(), 2);
    // The oldest, 5, leaves; a quarter of what is then there are 675 bytes: 1, 2, 3, 4, 6 and 7.
    sample.add(9, 2000, 8);
    EXPECT_EQ(sample.limit(), 7);
    // The lowest has more than a quarter by itself.
    sample.add(0, 5000, 8);
    EXPECT_EQ(sample.limit(), 0);
}

TEST(ScoreSample, ForgetsTheOldest) {
    ScoreSample sample;
    for (int n = 0; n < 100; ++n)
        sample.add(n, 1, 16);
    EXPECT_EQ(sample.limit(), 84 + 3) << "of the last 16";
}

TEST(Lru, TheLeastRecentlyUsedHasTheLowestScore) {
    FakeView view;
    const auto policy = make_eviction_policy("lru", view);
    EvictionItem& a = view.put(64, 1);
    EvictionItem& b = view.put(640, 2);
    EXPECT_LT(policy->score(a), policy->score(b));
    a.last = 9;
    EXPECT_GT(policy->score(a), policy->score(b));
}

// H = L + frequency / size. a: 2/64, b: 1/64, c: 1/128. After the eviction of c, L = 1/128, so d = 1/128 +
// 1/128 = b.
TEST(Gdsf, FrequencyPerByteOnTopOfTheClock) {
    FakeView view;
    const auto policy = make_eviction_policy("gdsf", view);
    EvictionItem& a = view.put(64, 1);
    EvictionItem& b = view.put(64, 2);
    EvictionItem& c = view.put(128, 3);
    for (EvictionItem* item : {&a, &b, &c})
        policy->arrive(*item);
    a.frequency = 2;
    EXPECT_LT(policy->score(c), policy->score(b));
    EXPECT_LT(policy->score(b), policy->score(a));
    policy->erase(c, true);
    EXPECT_DOUBLE_EQ(policy->touch_rule().add, 1.0 / 128);
    EvictionItem& d = view.put(128, 4);
    policy->arrive(d);
    EXPECT_DOUBLE_EQ(policy->score(d), 1.0 / 64);
    policy->erase(d, false);
    EXPECT_DOUBLE_EQ(policy->touch_rule().add, 1.0 / 128) << "forgetting something stale is no eviction";
}

TEST(Application, ItsScoreIsThatOfTheItem) {
    FakeView view;
    const auto policy = make_eviction_policy("application", view);
    EvictionItem& small = view.put(64, 1);
    EvictionItem& large = view.put(640, 9);
    policy->arrive(small);
    policy->arrive(large);
    EXPECT_LT(policy->score(large), policy->score(small));
}

TEST(Density, CountsUsesPerByteAndRemembersWhatItEvicted) {
    FakeView view;
    view.now = 1;
    const auto policy = make_eviction_policy("density", view);
    EXPECT_TRUE(policy->weighs_newcomers());
    EvictionItem& a = view.put(640, 1);
    policy->arrive(a);
    EXPECT_NEAR(a.weight, 1.0, 0.01);
    const TouchRule rule = policy->touch_rule();
    for (int i = 0; i < 3; ++i)
        a.weight = a.weight * rule.keep + rule.add;
    EXPECT_NEAR(a.weight, 4.0, 0.01);
    policy->erase(a, true);
    policy->arrive(a);
    EXPECT_NEAR(a.weight, 5.0, 0.01);
    policy->rejected(a);
    policy->arrive(a);
    EXPECT_NEAR(a.weight, 6.0, 0.01);
}

TEST(Benefit, TheLeastPerByteHasTheLowestScore) {
    for (const char* const name : {"density", "gdsf"}) {
        FakeView view;
        const auto policy = make_eviction_policy(name, view);
        EvictionItem& block = view.put(4096, 1);
        EvictionItem& range = view.put(16384, 1);
        block.benefit = 1.5;
        for (const float benefit : {3.0F, 7.0F}) {
            range.benefit = benefit;
            policy->arrive(block);
            policy->arrive(range);
            EXPECT_EQ(policy->score(range) < policy->score(block), benefit == 3.0F) << name;
        }
    }
}

/// How much less one of two equal items is worth by its score, which is a logarithm.
double worth(const EvictionPolicy& policy, const EvictionItem& of, const EvictionItem& than) {
    return std::exp2(policy.score(of) - policy.score(than));
}

TEST(Density, NewUsesCountMoreThanOldOnesAndIdleItemsAreDiscounted) {
    FakeView view;
    view.now = 0;
    const auto policy = make_eviction_policy("density", view);
    EvictionItem& old_item = view.put(64, 0);
    policy->arrive(old_item);
    view.now = 1000;  // the shortest horizon: e times as much
    EvictionItem& new_item = view.put(64, 1000);
    policy->arrive(new_item);
    EXPECT_NEAR(new_item.weight / old_item.weight, 2.71828, 1e-3);
    // Idle for 1000 gets with a weight that promises 0.7 x 1000 e / 1: no discount.
    EXPECT_NEAR(worth(*policy, old_item, new_item), 1 / 2.71828, 0.03);
    view.now = 4000;
    policy->arrive(new_item);
    new_item.last = 4000;
    old_item.weight = new_item.weight;
    EXPECT_NEAR(worth(*policy, old_item, new_item), 0.7 * 1000 / 4000, 0.02);
}

TEST(Density, WeightsStayFiniteForeverAndScoresCompareAtAnyTime) {
    FakeView view;
    const auto policy = make_eviction_policy("density", view);
    EvictionItem& stays = view.put(64, 100);
    policy->arrive(stays);
    double before = policy->score(stays);
    for (int i = 0; i < 2000; ++i) {
        view.now += 1000;
        EvictionItem passing;
        passing.bytes = 64;
        passing.last = view.now;
        policy->arrive(passing);
        ASSERT_TRUE(std::isfinite(passing.weight));
        ASSERT_LT(passing.weight, 1e180);
        ASSERT_GT(policy->score(passing), before) << "a newer use counts more";
        before = policy->score(passing);
        policy->rejected(passing);
    }
    EXPECT_LT(stays.weight, 1e-80);
}

}  // namespace
}  // namespace nearfetch

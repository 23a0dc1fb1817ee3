// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <deque>

#include "base/error.hpp"
#include "cache/eviction/eviction_policy.hpp"

namespace nearfetch {
namespace {

/// A fake cache: items in slots, all else as the test sets it.
class FakeView final : public EvictionView {
  public:
    explicit FakeView(std::size_t slots) : slots_(slots) {}
    EvictionItem& put(std::size_t slot, std::uint64_t bytes, std::uint64_t last) {
        items_.push_back({});
        EvictionItem& item = items_.back();
        item.bytes = bytes;
        item.last = last;
        item.frequency = 1;
        slots_[slot] = {true, &item};
        return item;
    }
    std::uint64_t slot_count() const override { return slots_.size(); }
    Slot slot(std::uint64_t position) const override { return slots_[position]; }
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
    std::uint64_t capacity_bytes() const override { return capacity; }

    std::vector<Slot> slots_;
    std::deque<EvictionItem> items_;
    std::uint64_t now = 100;
    double average = 1000;
    std::uint64_t free_beside_odd = 0;
    std::uint64_t capacity = 1 << 20;
};

std::vector<EvictionItem*> order(EvictionPolicy& policy, std::size_t count) {
    EvictionCandidates out;
    policy.candidates(count, out);
    return out.items;
}

TEST(EvictionRegistry, KnowsEachOfItsNames) {
    FakeView view(4);
    const auto names = eviction_policy_names();
    ASSERT_EQ(names.size(), 8u);
    EXPECT_EQ(names.front(), "density");
    for (const auto name : names)
        EXPECT_NE(make_eviction_policy(name, view, {}), nullptr) << name;
}

TEST(EvictionRegistry, AnUnknownNameIsAnErrorThatListsTheAllowedOnes) {
    FakeView view(4);
    try {
        make_eviction_policy("mru", view, {});
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
    FakeView view(4);
    EvictionItem& odd = view.put(0, 65, 40);
    EvictionItem& even = view.put(1, 64, 40);
    const auto full = make_eviction_policy("clampi", view, {});
    const auto temporal = make_eviction_policy("temporal", view, {});
    const auto positional = make_eviction_policy("positional", view, {});
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

// v_i = max(M, k_i): at least M slots, on until there is an entry, around the end of the array.
TEST(PaperSampling, VisitsMSlotsOrUntilThereIsAnEntry) {
    FakeView view(1000);
    EvictionItem& only = view.put(5, 64, 1);
    const auto policy = make_eviction_policy("temporal", view, {16, 3});
    for (int i = 0; i < 50; ++i) {
        EvictionCandidates out;
        policy->candidates(1, out);
        ASSERT_EQ(out.items, std::vector<EvictionItem*>{&only});
        EXPECT_GE(out.visited, 16u);
        EXPECT_LE(out.visited, 1000u);
        EXPECT_EQ(out.nonempty, 1u);
    }
    for (std::size_t slot = 0; slot < 1000; ++slot)
        if (slot != 5) view.put(slot, 64, 10 + slot);
    for (int i = 0; i < 50; ++i) {
        EvictionCandidates out;
        policy->candidates(1, out);
        EXPECT_EQ(out.visited, 16u);
        EXPECT_EQ(out.nonempty, 16u);
    }
}

TEST(PaperSampling, ASampleOfAllIsExactAndPendingEntriesAreNotVictims) {
    FakeView view(8);
    view.put(0, 64, 30);
    EvictionItem& oldest = view.put(3, 64, 10);
    EvictionItem& next = view.put(6, 64, 20);
    view.slots_[1] = {true, nullptr};
    const auto policy = make_eviction_policy("temporal", view, {8, 1});
    EvictionCandidates out;
    policy->candidates(1, out);
    EXPECT_EQ(out.items, std::vector<EvictionItem*>{&oldest});
    EXPECT_EQ(out.visited, 8u);
    EXPECT_EQ(out.nonempty, 4u);
    EXPECT_EQ(order(*policy, 2), (std::vector<EvictionItem*>{&oldest, &next}));
    EXPECT_EQ(order(*policy, 10).size(), 3u);
}

TEST(Lru, LeastRecentlyUsedFirst) {
    FakeView view(8);
    const auto policy = make_eviction_policy("lru", view, {});
    EvictionItem& a = view.put(0, 64, 1);
    EvictionItem& b = view.put(1, 64, 2);
    EvictionItem& c = view.put(2, 64, 3);
    for (EvictionItem* item : {&c, &a, &b})
        policy->insert(*item);
    a.last = 9;
    EXPECT_EQ(order(*policy, 3), (std::vector<EvictionItem*>{&b, &c, &a}));
    policy->erase(b, true);
    EXPECT_EQ(order(*policy, 3), (std::vector<EvictionItem*>{&c, &a}));
}

// H = L + frequency / size. a: 2/64, b: 1/64, c: 1/128. After the eviction of c, L = 1/128, so d = 1/128 +
// 1/128 = b.
TEST(Gdsf, FrequencyPerByteOnTopOfTheClock) {
    FakeView view(8);
    const auto policy = make_eviction_policy("gdsf", view, {});
    EvictionItem& a = view.put(0, 64, 1);
    EvictionItem& b = view.put(1, 64, 2);
    EvictionItem& c = view.put(2, 128, 3);
    for (EvictionItem* item : {&a, &b, &c}) {
        policy->arrive(*item);
        policy->insert(*item);
    }
    a.frequency = 2;
    EXPECT_EQ(order(*policy, 3), (std::vector<EvictionItem*>{&c, &b, &a}));
    policy->erase(c, true);
    EXPECT_DOUBLE_EQ(policy->touch_rule().add, 1.0 / 128);
    EvictionItem& d = view.put(3, 128, 4);
    policy->arrive(d);
    policy->insert(d);
    EXPECT_DOUBLE_EQ(policy->score(d), 1.0 / 64);
    policy->erase(d, false);
    EXPECT_DOUBLE_EQ(policy->touch_rule().add, 1.0 / 128) << "forgetting something stale is no eviction";
}

TEST(S3Fifo, OneHitWondersLeaveBeforeWhatWasUsedAgainAndGhostsGoToMain) {
    FakeView view(16);
    view.capacity = 64 * 10;
    const auto policy = make_eviction_policy("s3fifo", view, {});
    std::vector<EvictionItem*> items;
    for (std::size_t i = 0; i < 6; ++i) {
        items.push_back(&view.put(i, 64, i));
        policy->arrive(*items.back());
        policy->insert(*items.back());
    }
    items[0]->frequency += 2;  // two uses: moves to the main queue instead of leaving
    items[1]->frequency += 1;  // once is not enough
    EXPECT_EQ(order(*policy, 2), (std::vector<EvictionItem*>{items[1], items[2]}));
    EXPECT_EQ(order(*policy, 2), (std::vector<EvictionItem*>{items[1], items[2]}))
        << "asking changes nothing";
    policy->erase(*items[1], true);
    // 1 returns and is remembered: it enters the main queue, after 0.
    policy->arrive(*items[1]);
    policy->insert(*items[1]);
    EXPECT_EQ(order(*policy, 6),
              (std::vector<EvictionItem*>{items[2], items[3], items[4], items[5], items[0], items[1]}));
    policy->erase(*items[3], false);
    EXPECT_EQ(order(*policy, 3), (std::vector<EvictionItem*>{items[2], items[4], items[5]}));
}

TEST(Application, LowestScoreFirst) {
    FakeView view(8);
    const auto policy = make_eviction_policy("application", view, {});
    EvictionItem& small = view.put(0, 64, 1);
    EvictionItem& large = view.put(1, 640, 9);
    for (EvictionItem* item : {&small, &large}) {
        policy->arrive(*item);
        policy->insert(*item);
    }
    EXPECT_EQ(order(*policy, 2), (std::vector<EvictionItem*>{&large, &small}));
}

TEST(Density, CountsUsesPerByteAndRemembersWhatItEvicted) {
    FakeView view(64);
    view.now = 1;
    const auto policy = make_eviction_policy("density", view, {});
    EXPECT_TRUE(policy->weighs_newcomers());
    EvictionItem& a = view.put(0, 640, 1);
    policy->arrive(a);
    EXPECT_NEAR(a.weight, 1.0, 0.01);
    policy->insert(a);
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

TEST(Benefit, TheLeastPerByteIsEvicted) {
    const auto first_to_leave = [](const char* name, double region_benefit, double range_benefit) {
        FakeView view(8);
        const auto policy = make_eviction_policy(name, view, {});
        EvictionItem& block = view.put(0, 4096, 1);
        EvictionItem& range = view.put(1, 16384, 1);
        block.benefit = region_benefit;
        range.benefit = range_benefit;
        for (EvictionItem* item : {&block, &range}) {
            policy->arrive(*item);
            policy->insert(*item);
        }
        return order(*policy, 1).front()->bytes;
    };
    for (const char* const name : {"density", "gdsf"}) {
        EXPECT_EQ(first_to_leave(name, 1.5, 3), 16384u) << name;
        EXPECT_EQ(first_to_leave(name, 1.5, 7), 4096u) << name;
    }
}

TEST(Density, NewUsesCountMoreThanOldOnesAndIdleItemsAreDiscounted) {
    FakeView view(64);
    view.now = 0;
    const auto policy = make_eviction_policy("density", view, {});
    EvictionItem& old_item = view.put(0, 64, 0);
    policy->arrive(old_item);
    policy->insert(old_item);
    view.now = 1000;  // the shortest horizon: e times as much
    EvictionItem& new_item = view.put(1, 64, 1000);
    policy->arrive(new_item);
    EXPECT_NEAR(new_item.weight / old_item.weight, 2.71828, 1e-3);
    // Idle for 1000 gets with a weight that promises 0.7 x 1000 e / 1.
    EXPECT_DOUBLE_EQ(policy->score(new_item), new_item.weight);
    EXPECT_DOUBLE_EQ(policy->score(old_item), old_item.weight);
    view.now = 4000;
    policy->arrive(new_item);
    old_item.weight = new_item.weight;
    EXPECT_NEAR(policy->score(old_item), old_item.weight * 0.7 * 1000 / 4000, old_item.weight * 1e-6);
}

TEST(Density, WeightsStayFiniteForever) {
    FakeView view(64);
    const auto policy = make_eviction_policy("density", view, {});
    EvictionItem& stays = view.put(0, 64, 0);
    EvictionItem& in_flight = view.put(1, 64, 0);
    policy->arrive(stays);
    policy->insert(stays);
    policy->arrive(in_flight);
    for (int i = 0; i < 1000; ++i) {
        view.now += 1000;
        EvictionItem passing;
        passing.bytes = 64;
        policy->arrive(passing);
        ASSERT_TRUE(std::isfinite(passing.weight));
        ASSERT_LT(passing.weight, 1e90);
        policy->rejected(passing);
    }
    policy->insert(in_flight);
    EXPECT_LT(in_flight.weight, 1e-80) << "a use of long ago counts as new";
    EXPECT_LT(stays.weight, 1e-80);
}

}  // namespace
}  // namespace nearfetch

// SPDX-License-Identifier: Apache-2.0

// Ranks added up: from their documents, and by messages between them.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "report/run_summary.hpp"

namespace nearfetch {
namespace {

using Json = nlohmann::ordered_json;

Json window(const std::string& name, std::uint64_t gets, std::uint64_t hits) {
    return {{"name", name}, {"mode", "acquire"}, {"site", "app(+0x1)"}, {"bytes", 100},
            {"windows", 1}, {"gets", gets},      {"hits", hits},        {"direct", gets - hits}};
}
Json document(const std::vector<Json>& windows) {
    return {{"elapsed_s", 2.0},
            {"memory", {{"limit_bytes", 1000}, {"most_taken_bytes", 10}, {"origin", "memory_bytes"}}},
            {"windows", windows}};
}

TEST(RunSummary, AddsRanksByKindOfWindow) {
    RunSummary all = summary_of_rank(document({window("a", 100, 50), window("b", 10, 0)}));
    all.add(summary_of_rank(document({window("b", 30, 30), window("b", 10, 0)})));
    all.sort();
    ASSERT_EQ(all.groups.size(), 2u);
    EXPECT_EQ(all.ranks, 2);
    EXPECT_EQ(all.groups[0].name, "a");
    EXPECT_EQ(all.groups[0].ranks, 1);
    EXPECT_EQ(all.groups[1].ranks, 2);
    EXPECT_EQ(all.groups[1].windows, 2u) << "the most of a rank";
    EXPECT_EQ(all.groups[1].counters.gets, 50u);
    EXPECT_EQ(all.groups[1].gets.least, 10);
    EXPECT_EQ(all.groups[1].gets.most, 40);
    EXPECT_EQ(all.groups[1].hit_share.least, 0);
    EXPECT_EQ(all.groups[1].hit_share.most, 0.75);
    EXPECT_EQ(all.totals().gets, 150u);
}

TEST(RunSummary, ScalesTheCausesOfASampleToAllGets) {
    Json one = window("a", 1000, 200);
    one.update({{"first_reads", 100}, {"forgotten", 300}, {"forgotten_by_locks", 30}});
    one["forgotten_by"] = {{"MPI_Recv", 270}, {"MPI_Win_lock", 30}};
    const RunSummary summary = summary_of_rank(document({one}));
    const WindowGroup& group = summary.groups.front();
    EXPECT_EQ(group.counters.first_reads, 200u);
    EXPECT_EQ(group.counters.forgotten, 600u);
    EXPECT_EQ(group.counters.forgotten_by_locks, 60u);
    EXPECT_EQ(group.forgotten_by.at("MPI_Recv"), 540u);
    EXPECT_EQ(group.forgotten_by.at("MPI_Win_lock"), 60u);
}

TEST(RunSummary, SurvivesAMessage) {
    Json one = window("a", 100, 50);
    one["forgotten_by"] = {{"MPI_Recv", 50}};
    one["forgotten"] = 50;
    one["not_shared"] = "threads";
    RunSummary sent = summary_of_rank(document({one, window("idle", 0, 0)}));
    Json threaded = document({});
    threaded["thread_multiple"] = true;
    EXPECT_FALSE(sent.is_threaded);
    sent.add(summary_of_rank(threaded));
    const RunSummary got = unpacked(packed(sent));
    EXPECT_EQ(got.ranks, 2);
    EXPECT_EQ(got.elapsed_s, 2.0);
    EXPECT_EQ(got.memory_origin, "memory_bytes");
    EXPECT_TRUE(got.is_threaded) << "of some rank";
    EXPECT_EQ(got.groups[0].not_shared, "threads");
    ASSERT_EQ(got.groups.size(), 2u);
    EXPECT_TRUE(got.groups[0].is_like(sent.groups[0]));
    EXPECT_EQ(got.groups[0].counters, sent.groups[0].counters);
    EXPECT_EQ(got.groups[0].forgotten_by, sent.groups[0].forgotten_by);
    EXPECT_EQ(got.groups[0].hit_share.most, 0.5);
    EXPECT_GT(got.groups[1].hit_share.least, got.groups[1].hit_share.most) << "there were no gets";
}

TEST(RunSummary, OfManyKindsOfWindowsTheRestIsOne) {
    RunSummary all;
    for (int rank = 0; rank < 3; ++rank) {
        std::vector<Json> windows;
        for (int i = 0; i < 100; ++i)
            windows.push_back(window(std::to_string(100 * rank + i), 10, 5));
        all.add(summary_of_rank(document(windows)));
    }
    EXPECT_LE(all.groups.size(), 26u);
    EXPECT_EQ(all.totals().gets, 3000u);
}

TEST(RunSummary, RefusesWhatIsNoDocument) {
    EXPECT_THROW(summary_of_rank(Json::object()), Json::exception);
    EXPECT_THROW(unpacked({1, 2, 3}), Json::exception);
}

}  // namespace
}  // namespace nearfetch

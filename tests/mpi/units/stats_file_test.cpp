// SPDX-License-Identifier: Apache-2.0

// Files of statistics: under which name they are written, and that nobody ever sees a part of one.

#include "mpi/report/stats_file.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <system_error>
#include <thread>
#include <vector>

namespace nearfetch {
namespace {

namespace fs = std::filesystem;

class StatsFile : public testing::Test {
  protected:
    StatsFile() {
        std::string name = (fs::temp_directory_path() / "nearfetch-stats-XXXXXX").string();
        folder_ = mkdtemp(name.data());
    }
    ~StatsFile() override { fs::remove_all(folder_); }

    StatsOwner owner(const std::string& job, const std::string& world, int rank = 0) const {
        return {folder_, job, world, rank, false};
    }
    std::string write(const StatsOwner& owner) const {
        const nlohmann::json document{{"job", owner.job}, {"world", owner.world}};
        return fs::path(write_stats_file(owner, document.dump())).filename();
    }
    std::string read(const std::string& name) const {
        std::ifstream file(fs::path(folder_) / name);
        std::ostringstream text;
        text << file.rdbuf();
        return text.str();
    }
    std::set<std::string> names() const {
        std::set<std::string> found;
        for (const auto& entry : fs::directory_iterator(folder_))
            found.insert(entry.path().filename());
        return found;
    }

    std::string folder_;
};

TEST_F(StatsFile, ASpawnedWorldStandsInTheName) {
    StatsOwner spawned = owner("job", "c0ffee", 3);
    spawned.spawned = true;
    EXPECT_EQ(write(spawned), "world-c0ffee-rank-3.json");
    EXPECT_EQ(write(spawned), "world-c0ffee-rank-3.json");
    EXPECT_EQ(names(), std::set<std::string>{"world-c0ffee-rank-3.json"});
}

TEST_F(StatsFile, AnotherWorldOfTheSameJobIsNotReplaced) {
    EXPECT_EQ(write(owner("job", "1")), "rank-0.json");
    EXPECT_EQ(write(owner("job", "2")), "world-2-rank-0.json");
    EXPECT_EQ(write(owner("job", "1")), "rank-0.json");
    EXPECT_EQ(write(owner("job", "1", 1)), "rank-1.json");
    EXPECT_EQ(names(), (std::set<std::string>{"rank-0.json", "rank-1.json", "world-2-rank-0.json"}));
    EXPECT_EQ(nlohmann::json::parse(read("rank-0.json"))["world"], "1");
}

TEST_F(StatsFile, AnotherJobIsReplaced) {
    for (const char* job : {"first", "second", "", ""}) {
        EXPECT_EQ(write(owner(job, std::string("world of ") + job)), "rank-0.json");
        EXPECT_EQ(nlohmann::json::parse(read("rank-0.json"))["job"], job);
    }
    for (const char* text : {"", "{", "[]", "3", R"({"job": 3})", R"({"job": "job"})"}) {
        std::ofstream(fs::path(folder_) / "rank-0.json") << text;
        const bool may_be_a_part_of_the_job = std::string_view(text).ends_with(R"("job"})");
        EXPECT_EQ(write(owner("job", "1")), may_be_a_part_of_the_job ? "world-1-rank-0.json" : "rank-0.json");
    }
}

TEST_F(StatsFile, ManyWorldsAtOnceHaveAFileEach) {
    constexpr int worlds = 16;
    std::vector<std::thread> threads;
    for (int i = 0; i < worlds; ++i)
        threads.emplace_back([this, i] { write(owner("job", std::to_string(i))); });
    for (std::thread& thread : threads)
        thread.join();
    std::set<std::string> seen;
    for (const std::string& name : names())
        seen.insert(nlohmann::json::parse(read(name))["world"]);
    EXPECT_EQ(names().size(), std::size_t{worlds});
    EXPECT_EQ(seen.size(), std::size_t{worlds});
}

TEST_F(StatsFile, AReaderSeesWholeFilesOnly) {
    std::atomic<bool> over = false;
    std::thread writer([&] {
        for (int i = 0; i < 300; ++i)
            write_stats_file(owner("", "1"), std::string(20000, static_cast<char>('a' + i % 26)) + "\n");
        over = true;
    });
    while (!over) {
        const std::string text = read("rank-0.json");
        if (text.empty()) continue;  // before the first one
        ASSERT_EQ(text.size(), 20001u);
        ASSERT_EQ(text.find_first_not_of(text[0]), 20000u);
    }
    writer.join();
}

TEST_F(StatsFile, AFullDiskLeavesNothingHalf) {
    write_stats_file(owner("job", "1"), "before");
    std::signal(SIGXFSZ, SIG_IGN);
    rlimit before{};
    getrlimit(RLIMIT_FSIZE, &before);
    rlimit little = before;
    little.rlim_cur = 1000;
    setrlimit(RLIMIT_FSIZE, &little);
    for (const int rank : {0, 1}) {
        try {
            write_stats_file(owner("job", "1", rank), std::string(5000, 'x'));
            ADD_FAILURE();
        } catch (const std::system_error& error) {
            EXPECT_EQ(error.code(), std::errc::file_too_large);
            const std::string path = folder_ + "/rank-" + std::to_string(rank) + ".json";
            EXPECT_EQ(std::string(error.what()).find("writing " + path), 0u) << error.what();
        }
    }
    setrlimit(RLIMIT_FSIZE, &before);
    EXPECT_EQ(names(), std::set<std::string>{"rank-0.json"});
    EXPECT_EQ(read("rank-0.json"), "before");
}

TEST_F(StatsFile, WhatIsInTheWayIsNamed) {
    fs::create_directory(fs::path(folder_) / "rank-0.json");
    EXPECT_THROW(write(owner("job", "1")), std::system_error);
    EXPECT_EQ(names(), std::set<std::string>{"rank-0.json"});
    StatsOwner lost = owner("job", "1");
    lost.folder += "/none";
    EXPECT_THROW(write(lost), std::system_error);
}

}  // namespace
}  // namespace nearfetch

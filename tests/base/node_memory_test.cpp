// SPDX-License-Identifier: Apache-2.0
#include "base/node_memory.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include "base/memory_budget.hpp"

namespace nearfetch {
namespace {

constexpr std::uint64_t mib = 1 << 20;

class NodeMemory : public ::testing::Test {
  protected:
    ~NodeMemory() override { std::filesystem::remove_all(root_); }

    void write(const std::string& path, const std::string& text) const {
        const std::filesystem::path file = root_ / path;
        std::filesystem::create_directories(file.parent_path());
        std::ofstream(file) << text;
    }
    SystemFiles files() const { return {(root_ / "proc").string(), (root_ / "cgroup").string()}; }
    std::uint64_t bytes() const { return node_memory_bytes(files()); }

  private:
    std::filesystem::path root_ =
        std::filesystem::path(::testing::TempDir()) / ("nearfetch-node-memory-" + std::to_string(getpid()));
};

TEST_F(NodeMemory, WithoutGroupsItIsThePhysicalOne) {
    const std::uint64_t physical = bytes();
    EXPECT_GT(physical, 64 * mib);
    write("proc/self/cgroup", "0::/\n");
    write("cgroup/memory.max", "max\n");
    EXPECT_EQ(bytes(), physical);
    write("proc/self/cgroup", "nonsense\n::\n1:\n2:memory\n0::relative\n");
    EXPECT_EQ(bytes(), physical);
}

TEST_F(NodeMemory, TheLeastLimitOfAllGroupsAroundHolds) {
    write("proc/self/cgroup", "0::/job_7/step_0/task_3\n");
    write("cgroup/job_7/memory.max", std::to_string(48 * mib) + "\n");
    write("cgroup/job_7/step_0/memory.max", "max\n");
    write("cgroup/job_7/step_0/task_3/memory.max", std::to_string(64 * mib) + "\n");
    EXPECT_EQ(bytes(), 48 * mib);
    // In a container the group is the root of what it sees.
    write("proc/self/cgroup", "0::/\n");
    write("cgroup/memory.max", std::to_string(32 * mib) + "\n");
    EXPECT_EQ(bytes(), 32 * mib);
}

TEST_F(NodeMemory, ControllersOfVersionOneAreToldApart) {
    write("proc/self/cgroup", "5:cpu,cpuacct:/a\n4:memory_of_others:/b\n3:hugetlb,memory:/c\n");
    write("cgroup/memory/a/memory.limit_in_bytes", std::to_string(1 * mib) + "\n");
    write("cgroup/memory/b/memory.limit_in_bytes", std::to_string(2 * mib) + "\n");
    write("cgroup/memory/c/memory.limit_in_bytes", std::to_string(40 * mib) + "\n");
    EXPECT_EQ(bytes(), 40 * mib);
}

TEST_F(NodeMemory, WhatIsAvailableIsWhatTheSystemSays) {
    write("proc/meminfo", "MemTotal: 9000 kB\nMemAvailable:  4000 kB\nSwapFree: 96 kB\n");
    EXPECT_EQ(available_memory_bytes(files()), 4096u << 10);
    write("proc/self/cgroup", "0::/job/task\n");
    write("cgroup/job/memory.max", "2000000\n");
    write("cgroup/job/memory.current", "1500000\n");
    EXPECT_EQ(available_memory_bytes(files()), 500'000u) << "what the group leaves";
    write("cgroup/job/memory.stat", "anon 1\ninactive_file 100000\nactive_file 50000\n");
    EXPECT_EQ(available_memory_bytes(files()), 650'000u) << "the system gives up cached files";
    write("cgroup/job/memory.current", "2500000\n");
    EXPECT_EQ(available_memory_bytes(files()), 0u) << "it has more than it may";
}

TEST_F(NodeMemory, VersionOneHasOtherFiles) {
    write("proc/meminfo", "MemAvailable: 4000000 kB\n");
    write("proc/self/cgroup", "3:memory:/a\n");
    write("cgroup/memory/a/memory.limit_in_bytes", "3000000\n");
    write("cgroup/memory/a/memory.usage_in_bytes", "1000000\n");
    write("cgroup/memory/a/memory.stat", "inactive_file 5\ntotal_inactive_file 7\ntotal_active_file 3\n");
    EXPECT_EQ(available_memory_bytes(files()), 2'000'010u);
}

TEST_F(NodeMemory, WhatIsMissingIsSaid) {
    write("proc/meminfo", "MemAvailable: 1000 kB\n");
    const std::string text = why_no_memory({0, 0, 2'000'000}, files());
    EXPECT_EQ(text, "this node has 1024000 bytes left, and its ranks need 2000000");
    EXPECT_EQ(why_no_memory({1 << 20, 1 << 20, 1'000'000}, files()), "");
    EXPECT_NE(why_no_memory({0, std::uint64_t{1} << 60, 0}, files()).find("no address space"),
              std::string::npos);
    write("proc/meminfo", "nonsense\n");
    EXPECT_EQ(why_no_memory({0, 0, 1 << 30}, files()), "") << "nothing is known";
}

TEST(ShareOfNode, IsAnEighthOfAPart) {
    EXPECT_EQ(share_of_node(64 * 1024 * mib, 128), 64 * mib);
    EXPECT_EQ(share_of_node(800 * mib, 1), 100 * mib);
    EXPECT_EQ(share_of_node(800 * mib, 0), 100 * mib) << "nobody knows how many";
    EXPECT_EQ(share_of_node(mib, 64), mib) << "at least one";
}

TEST(ShareOfNode, AddressSpaceLimitsItToo) {
    rlimit before{};
    ASSERT_EQ(getrlimit(RLIMIT_AS, &before), 0);
    if (before.rlim_max != RLIM_INFINITY) GTEST_SKIP() << "it is limited already";
    rlimit limited = before;
    limited.rlim_cur = rlim_t{1} << 40;
    ASSERT_EQ(setrlimit(RLIMIT_AS, &limited), 0);
    const std::uint64_t share = share_of_node(std::uint64_t{1} << 44, 1);
    setrlimit(RLIMIT_AS, &before);
    EXPECT_EQ(share, std::uint64_t{1} << 37);
}

TEST(MemoryBudget, GivesWhatIsLeftAndNoMore) {
    MemoryBudget budget;
    EXPECT_TRUE(budget.take(1000)) << "without a limit";
    budget.set_limit(1500);
    EXPECT_EQ(budget.left(), 500u);
    EXPECT_FALSE(budget.take(501));
    EXPECT_TRUE(budget.take(500));
    EXPECT_FALSE(budget.take(1));
    budget.charge(100);
    EXPECT_EQ(budget.left(), 0u);
    EXPECT_EQ(budget.taken(), 1600u);
    budget.give_back(1200);
    EXPECT_EQ(budget.left(), 1100u);
    EXPECT_EQ(budget.most_taken(), 1600u);
    budget.set_limit(100);
    EXPECT_EQ(budget.left(), 0u) << "it has fallen below what is taken";
    EXPECT_FALSE(budget.take(1));
}

TEST(MemoryBudget, AShareGivesBackInTheEnd) {
    MemoryBudget budget;
    budget.set_limit(1000);
    {
        MemoryShare share(&budget);
        EXPECT_TRUE(share.take(600));
        share.charge(600);
        share.give_back(100);
        EXPECT_FALSE(share.take(1));
        EXPECT_EQ(budget.taken(), 1100u);
    }
    EXPECT_EQ(budget.taken(), 0u);
    MemoryShare free(nullptr);
    EXPECT_TRUE(free.take(std::uint64_t{1} << 60));
    EXPECT_EQ(free.left(), MemoryBudget::unlimited);
}

TEST(MemoryBudget, ThreadsDoNotTakeTheSameBytes) {
    MemoryBudget budget;
    budget.set_limit(10000);
    std::vector<std::thread> threads;
    for (int n = 0; n < 4; ++n)
        threads.emplace_back([&budget] {
            for (int i = 0; i < 100000; ++i)
                if (budget.take(7)) budget.give_back(7);
            while (budget.take(10)) {
            }
        });
    for (std::thread& thread : threads)
        thread.join();
    EXPECT_EQ(budget.taken(), 10000u);
    EXPECT_LE(budget.most_taken(), 10000u);
}

}  // namespace
}  // namespace nearfetch

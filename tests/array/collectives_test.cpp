// SPDX-License-Identifier: Apache-2.0
//
// Mismatched collective calls: on threads, on a modelled network, and in virtual time.

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <csignal>
#include <mutex>
#include <set>
#include <thread>

#include "array_rig.hpp"
#include "collective_cases.hpp"

namespace nearfetch {
namespace {

using test::CollectiveArrays;
using test::Mismatch;
using test::mismatches;

LaunchOptions options_on(const std::string& network, bool virtual_time, Rank count = 3) {
    LaunchOptions options = array_options(count);
    options.network = network;
    options.virtual_time = virtual_time;
    return options;
}

/// After each case the ranks go on together, and all have had the same error.
void go_through_all(const LaunchOptions& options) {
    std::mutex mutex;
    launch(options, [&] {
        CollectiveArrays arrays;
        for (const Mismatch& one : mismatches()) {
            static std::set<std::string> texts;
            if (rank() == 0) texts.clear();
            barrier();
            {
                const std::string text = test::told_of(one, arrays);
                const std::lock_guard lock(mutex);
                EXPECT_FALSE(text.empty()) << one.title << " on rank " << rank();
                texts.insert(text);
            }
            barrier();
            EXPECT_EQ(texts.size(), 1U) << one.title;
            arrays.b.evict_prefetch();
            arrays.a.fill(2);
            EXPECT_EQ(arrays.a.sum(), 24) << one.title;
            EXPECT_EQ((BlockArray<long, 1>({7}).sum()), 0) << one.title;
        }
    });
}

TEST(Collectives, RanksThatMeetInDifferentOnesAreToldOnThreads) { go_through_all(options_on("", false)); }
TEST(Collectives, AndOnAModelledNetwork) { go_through_all(options_on("fdr-ib", false)); }
TEST(Collectives, AndInVirtualTime) { go_through_all(options_on("fdr-ib", true)); }

/// A program's error, and how long it takes.
std::pair<std::string, std::chrono::milliseconds> failure_of(const LaunchOptions& options,
                                                             const std::function<void()>& main) {
    const auto begin = std::chrono::steady_clock::now();
    std::string text = "none";
    try {
        launch(options, main);
    } catch (const CollectiveError& error) {
        text = error.what();
    }
    return {text,
            std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - begin)};
}

TEST(Collectives, TheEndOfMainIsOne) {
    for (const bool virtual_time : {false, true}) {
        const std::string text = failure_of(options_on("", virtual_time, 4), [] {
                                     BlockArray<long, 1> a({10});
                                     if (rank() == 2) a.sum();
                                 }).first;
        EXPECT_NE(text.find("ranks 0, 1 and 3 in the end of main; rank 2 in sum at " __FILE__),
                  std::string::npos)
            << text;
    }
}

TEST(Collectives, AllocateIsComparedAtTheNextBarrier) {
    const std::string text = failure_of(options_on("", false), [] {
                                 if (rank() == 1) allocate<long>(10);
                                 barrier();
                             }).first;
    EXPECT_NE(text.find("(after allocate at " __FILE__), std::string::npos) << text;
    EXPECT_EQ(failure_of(options_on("", false), [] { allocate<long>(10); }).first, "none");
}

// Ranks that differ do not wait for ever for one that calls nothing.
TEST(Collectives, ARankThatDoesNotComeIsNamed) {
    static std::atomic<bool> over;
    over = false;
    const auto [text, took] = failure_of(options_on("", false), [] {
        if (rank() == 0)
            while (!over)
                std::this_thread::sleep_for(std::chrono::milliseconds(1));
        try {
            BlockArray<long, 1> a({10 + rank()});
        } catch (const CollectiveError&) {
            over = true;
            throw;
        }
    });
    EXPECT_NE(text.find("nowhere yet: rank 0"), std::string::npos) << text;
    EXPECT_NE(text.find("rank 1 in DistributedArray at "), std::string::npos) << text;
    EXPECT_GE(took.count(), 1000) << "it may have come";
}

TEST(Collectives, ARankThatComputesForLongIsWaitedFor) {
    EXPECT_EQ(failure_of(options_on("", false),
                         [] {
                             BlockArray<long, 1> a({10});
                             if (rank() == 1) std::this_thread::sleep_for(std::chrono::milliseconds(1300));
                             EXPECT_EQ(a.sum(), 0);
                         })
                  .first,
              "none");
}

TEST(Collectives, FromDifferentPlacesInTheProgramTheyAreTheSame) {
    EXPECT_EQ(failure_of(options_on("", false),
                         [] {
                             BlockArray<long, 1> a({10});
                             if (rank() == 1)
                                 a.fill(1);
                             else
                                 a.fill(1);
                             EXPECT_EQ(a.sum(), 10);
                         })
                  .first,
              "none");
}

/// Ctrl-C ends a program of threads, whatever the ranks are in.
class Interrupt : public testing::TestWithParam<int> {};

TEST_P(Interrupt, EndsTheProgram) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    static const std::array<std::function<void()>, 4> ways = {
        [] {
            if (rank() != 0) barrier();
            std::this_thread::sleep_for(std::chrono::hours(1));
        },
        [] {
            BlockArray<long, 1> a({10});
            if (rank() != 0) a.sum();
            compute(std::uint64_t{1} << 60);
        },
        [] {
            BlockArray<long, 1> a({10});
            while (a(9) == 0)
                yield();
        },
        [] {
            if (rank() == 0) on(1, [] { std::this_thread::sleep_for(std::chrono::hours(1)); });
        },
    };
    EXPECT_EXIT(
        {
            std::thread([] {
                std::this_thread::sleep_for(std::chrono::milliseconds(50));
                kill(getpid(), SIGINT);
            }).detach();
            launch(array_options(3), ways[static_cast<std::size_t>(GetParam())]);
        },
        testing::KilledBySignal(SIGINT), "");
}

INSTANTIATE_TEST_SUITE_P(Ranks, Interrupt, testing::Range(0, 4));

}  // namespace
}  // namespace nearfetch

// SPDX-License-Identifier: Apache-2.0
#include "engine/progress.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

namespace nearfetch {
namespace {

TEST(ProgressTimer, ARankThatSpinsEntersTheLibrary) {
    ProgressTimer timer(100);
    std::uint64_t entries = 0;
    const std::uint64_t begin = steady_ns();
    while (steady_ns() < begin + 20'000'000)
        entries += timer.step();
    EXPECT_GE(entries, 2u);
    EXPECT_LE(entries, (steady_ns() - begin) / 99'000 + 1) << "at most one per interval";
}

TEST(ProgressTimer, SlowStepsAreAllLookedAt) {
    ProgressTimer timer(100);
    timer.step();
    std::uint64_t entries = 0;
    for (int i = 0; i < 40; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        entries += timer.step();
    }
    // The first looks find out that the steps are slow; from then on each step enters.
    EXPECT_GE(entries, 40u - 17u);
}

TEST(ProgressTimer, NothingToDoRightAfterAnotherEntry) {
    ProgressTimer timer(1'000'000);
    timer.entered();
    std::uint64_t entries = 0;
    for (int i = 0; i < 1000; ++i)
        entries += timer.step();
    EXPECT_EQ(entries, 0u);
}

}  // namespace
}  // namespace nearfetch

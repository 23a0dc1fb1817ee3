// SPDX-License-Identifier: Apache-2.0
#include "base/thread_scratch.hpp"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace nearfetch {
namespace {

int alive = 0;

struct Counted {
    Counted() { ++alive; }
    ~Counted() { --alive; }
    std::vector<int> values;
};

struct Here;
struct There;

TEST(ThreadScratch, StaysBetweenUsesAndEachPlaceHasItsOwn) {
    thread_scratch<std::vector<int>, Here>().push_back(1);
    thread_scratch<std::vector<int>, There>().push_back(2);
    EXPECT_EQ((thread_scratch<std::vector<int>, Here>()), std::vector{1});
    EXPECT_EQ((thread_scratch<std::vector<int>, There>()), std::vector{2});
    std::thread([] { EXPECT_TRUE((thread_scratch<std::vector<int>, Here>().empty())); }).join();
}

TEST(ThreadScratch, GoesWithItsThread) {
    std::thread([] {
        thread_scratch<Counted, Here>().values.resize(100);
        EXPECT_EQ(alive, 1);
    }).join();
    EXPECT_EQ(alive, 0);
}

/// As the destructor of a static object does in the main thread.
TEST(ThreadScratch, IsMadeAgainByWhoUsesItAfterItsEnd) {
    static Counted* left = nullptr;
    struct Late {
        ~Late() {
            EXPECT_EQ(alive, 0);
            Counted& again = thread_scratch<Counted, There>();
            EXPECT_EQ(alive, 1);
            EXPECT_TRUE(again.values.empty());
            EXPECT_EQ((&thread_scratch<Counted, There>()), &again);
            left = &again;
        }
    };
    std::thread([] {
        [[maybe_unused]] static thread_local Late late;  // constructed before, so destroyed after
        thread_scratch<Counted, There>().values.push_back(1);
    }).join();
    EXPECT_EQ(alive, 1) << "nothing is left to end it";
    delete left;
    EXPECT_EQ(alive, 0);
}

}  // namespace
}  // namespace nearfetch

// SPDX-License-Identifier: Apache-2.0
//
// Arrays in several threads of each rank, where ranks are threads; and loops in tasks.

#include "array_rig.hpp"
#include "thread_cases.hpp"

namespace nearfetch {
namespace {

void run_all_cases(const LaunchOptions& options, int tasks) {
    for (const thread_cases::Way way : thread_cases::ways)
        launch(options, [&] {
            const auto failed = [&](const char* which) { ADD_FAILURE() << which << ", tasks " << tasks; };
            thread_cases::run<Block>(way, tasks, failed);
            thread_cases::run<Cyclic>(way, tasks, failed);
        });
}

TEST(ArraysInThreads, HaveTheRightValues) {
    for (const Rank count : {1, 2, 3})
        for (const bool cached : {true, false})
            for (const int tasks : {1, 2, 4})
                run_all_cases(array_options(count, cached), tasks);
}

TEST(ArraysInThreads, HaveTheRightValuesOnAModelledNetwork) {
    for (const bool cached : {true, false}) {
        LaunchOptions options = array_options(2, cached);
        options.network = "fdr-ib";
        options.virtual_time = true;
        run_all_cases(options, 3);
    }
}

TEST(ArraysInThreads, FetchPrefetchedDataOnceForAllTasks) {
    launch(array_options(2), [] {
        BlockArray<long, 1> a({400}), b({400});
        a.prefetch_all_to_all();
        for (long round = 1; round <= 5; ++round) {
            a.for_each([&](const Index<1>& i, long& x) { x = i[0] + round; }, 4);
            barrier();
            const std::uint64_t before = prefetch_statistics().updates;
            b.for_each([&](const Index<1>& i, long& x) { x = a(399 - i[0]); }, 4);
            EXPECT_EQ(prefetch_statistics().updates - before, 1u) << "round " << round;
            b.for_each([&](const Index<1>& i, const long& x) { ASSERT_EQ(x, 399 - i[0] + round); });
            barrier();
        }
    });
}

TEST(LoopsInTasks, VisitEachElementOnce) {
    launch(array_options(3), [] {
        for (const Box<2>& bounds : odd_boxes())
            for (const int tasks : {1, 2, 3, 7, 100}) {
                CyclicArray<long, 2> a(bounds);
                a.for_each([](const Index<2>& i, long& x) { x += value_at(i); }, tasks);
                a.for_each([](const Index<2>& i, const long& x) { ASSERT_EQ(x, value_at(i)); });
                const Box<2> part({bounds.lower[0], bounds.lower[1]}, {bounds.upper[0], bounds.lower[1] + 1});
                a.for_each(part, [](const Index<2>&, long& x) { x = -1; }, tasks);
                a.for_each([&](const Index<2>& i, const long& x) {
                    ASSERT_EQ(x, part.contains(i) ? -1 : value_at(i));
                });
                barrier();
            }
    });
}

TEST(LoopsInTasks, RunInSeveralThreads) {
    launch(array_options(1), [] {
        // Each waits for the others.
        std::atomic<int> here{0};
        in_tasks(4, [&](std::int64_t) {
            ++here;
            while (here < 4)
                yield();
        });
        EXPECT_EQ(here, 4);
        in_tasks(0, [](std::int64_t) { ADD_FAILURE(); });
    });
}

TEST(LoopsInTasks, HandAnExceptionOn) {
    launch(array_options(2), [] {
        BlockArray<long, 1> a({100});
        for (const std::int64_t failing : {0, 2}) {
            std::atomic<int> ended{0};
            try {
                in_tasks(4, [&](std::int64_t k) {
                    if (k == failing) throw Error("one of them");
                    ++ended;
                });
                ADD_FAILURE();
            } catch (const Error& error) {
                EXPECT_STREQ(error.what(), "one of them");
            }
            EXPECT_EQ(ended, 3);
        }
        EXPECT_THROW(a.for_each([](const Index<1>&, long&) {}, 0), Error);
        EXPECT_THROW(in_tasks(-1, [](std::int64_t) {}), Error);
        barrier();
    });
}

}  // namespace
}  // namespace nearfetch

// SPDX-License-Identifier: Apache-2.0
//
// Remote execution, tasks and sync variables: each brings its acquire and release (000, section III-D).

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <fstream>
#include <nearfetch/pgas.hpp>
#include <nearfetch/sync_var.hpp>
#include <thread>

#include "pgas/runtime.hpp"

namespace nearfetch {
namespace {

LaunchOptions options(Rank count) {
    LaunchOptions options;
    options.ranks = count;
    return options;
}

TEST(On, RunsThereSeesWhatWasPutAndGivesItsValue) {
    launch(options(3), [] {
        const auto a = allocate<long>(4);
        if (rank() == 0) {
            put(a.at_rank(1), 20);  // unreleased: on() releases
            put(a.at_rank(2), 30);
            const long sum = on(1, [a] {
                EXPECT_EQ(rank(), 1);
                const long both = *a.at_rank(1).local() + get(a.at_rank(2));
                put(a.at_rank(0) + 1, both);
                put(a.at_rank(2) + 1, both + 1);
                return both;
            });
            EXPECT_EQ(sum, 50);
            EXPECT_EQ(*(a + 1).local(), 50);
            EXPECT_EQ(get(a.at_rank(2) + 1), 51);
        }
        barrier();
    });
}

TEST(On, IsAnsweredWhileTheOwnerComputes) {
    launch(options(2), [] {
        const auto go = allocate<std::int64_t>(1);
        if (rank() == 0) {
            on(1, [go] { atomic_store(go.at_rank(1), 1); });
        } else {
            // Without communication, until another rank has changed it.
            while (std::atomic_ref<std::int64_t>(*go.local()).load() == 0)
                std::this_thread::yield();
        }
        barrier();
    });
}

TEST(On, MayCallOnAgain) {
    launch(options(2), [] {
        if (rank() == 0) {
            const int depth = on(1, [] {
                return 1 +
                       on(0, [] { return 1 + on(1, [] { return 1 + on(0, [] { return 1 + rank(); }); }); });
            });
            EXPECT_EQ(depth, 4);
        }
        barrier();
    });
}

TEST(On, ManyAtOnce) {
    launch(options(4), [] {
        const auto counter = allocate<std::int64_t>(1);
        for (int i = 0; i < 50; ++i)
            for (Rank other = 0; other < ranks(); ++other)
                on(other, [counter] { atomic_fetch_add(counter.at_rank(0), 1); });
        barrier();
        EXPECT_EQ(atomic_load(counter.at_rank(0)), 4 * 50 * 4);
        barrier();
    });
}

TEST(On, AnExceptionComesBack) {
    launch(options(2), [] {
        if (rank() == 0) {
            try {
                on(1, [] { throw Error("no such thing", "it was never made", "make it"); });
                FAIL();
            } catch (const Error& error) {
                EXPECT_STREQ(error.what(), "on rank 1: no such thing (it was never made): make it");
            }
            EXPECT_THROW(on(2, [] {}), Error);
        }
        barrier();
    });
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST(On, ARankThatCannotAnswerSaysSo) {
    launch(options(2), [] {
        barrier();
        if (rank() == 0) {
            rlimit old;
            ASSERT_EQ(getrlimit(RLIMIT_AS, &old), 0);
            // Enough memory for messages, not for a cache.
            std::uint64_t pages = 0;
            std::ifstream("/proc/self/statm") >> pages;
            const std::uint64_t most = pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)) + (1 << 20);
            const rlimit little{most, old.rlim_max};
            ASSERT_EQ(setrlimit(RLIMIT_AS, &little), 0);
            std::string said;
            try {
                on(1, [] {});
            } catch (const Error& error) {
                said = error.what();
            }
            ASSERT_EQ(setrlimit(RLIMIT_AS, &old), 0);
            // A thread's stack may be reused; the cache's memory is not.
            EXPECT_TRUE(said.starts_with("on rank 1: a thread cannot be started") ||
                        said.starts_with("on rank 1: cannot reserve"))
                << said;
            EXPECT_EQ(on(1, [] { return rank(); }), 1) << "when there is memory again";
        }
        barrier();
    });
}
#endif

// Puts of a function that then fails are ordered as usual: they must not arrive later.
TEST(On, AFunctionThatFailsHasPutWhatItPut) {
    launch(options(3), [] {
        const auto x = allocate<long>(1).at_rank(2);
        if (rank() == 0) {
            EXPECT_THROW(on(1,
                            [x] {
                                put(x, 1);
                                throw Error("on purpose");
                            }),
                         Error);
            EXPECT_EQ(get(x), 1);
            put(x, 2);
            release();
            on(1, [] {});
            acquire();
            EXPECT_EQ(get(x), 2);
        }
        barrier();
    });
}

// 000, Listing 3: memory freed elsewhere must not be written afterwards.
TEST(On, WritesBeforeItAreThereBeforeItRuns) {
    struct Point {
        int x, y;
    };
    launch(options(2), [] {
        const auto p = allocate<Point>(1).at_rank(1);
        if (rank() == 0) {
            put(p, {5, 10});
            on(1, [p] {
                EXPECT_EQ(p.local()->x, 5);
                *p.local() = {0, 0};
            });
            release();
            EXPECT_EQ(get(p).y, 0);
        }
        barrier();
    });
}

TEST(Spawn, ATaskSeesWhatWasPutAndIsSeenAfterItsJoin) {
    launch(options(2), [] {
        const auto a = allocate<long>(100);
        if (rank() == 0) {
            const auto there = a.at_rank(1);
            EXPECT_EQ(get(there + 1), 0);  // now cached here
            put(there, 1);
            std::vector<Task> tasks;
            for (int i = 1; i < 10; ++i)
                tasks.push_back(spawn([there, i] {
                    EXPECT_EQ(get(there), 1);
                    put(there + i, i);
                }));
            for (Task& task : tasks)
                task.join();
            for (int i = 1; i < 10; ++i)
                EXPECT_EQ(get(there + i), i);
            Task failing = spawn([there] {
                put(there, 10);
                throw Error("on purpose");
            });
            EXPECT_THROW(failing.join(), Error);
            EXPECT_EQ(get(there), 10);
            Task dropped = spawn([] {});
        }
        barrier();
    });
}

TEST(Spawn, TasksUseThreadsAndCachesAgain) {
    for (const bool virtual_time : {false, true}) {
        LaunchOptions its = options(2);
        if (virtual_time) its.network = "aries";
        its.virtual_time = virtual_time;
        launch(its, [] {
            pgas::Runtime& runtime = pgas::Context::here().runtime();
            const auto there = allocate<long>(100).at_rank(1 - rank());
            for (long i = 0; i < 20; ++i) {
                put(there, i);
                spawn([there, i] {
                    EXPECT_EQ(statistics()["misses"], 0u) << "of this task";
                    EXPECT_EQ(get(there), i) << "the task before has read the value before";
                    EXPECT_EQ(statistics()["misses"], 1u);
                    put(there + 1, i);
                }).join();
                EXPECT_EQ(get(there + 1), i);
            }
            EXPECT_EQ(runtime.ended().contexts_made, 1u);
            EXPECT_EQ(runtime.job().threads_made(), 2u) << "the other one is the server";
            EXPECT_EQ(rank_statistics()["misses"], statistics()["misses"] + 20);
            barrier();
        });
    }
}

// Each waits for one that is started later, so there have to be as many threads as tasks.
TEST(Spawn, TasksMayWaitForLaterOnes) {
    launch(options(2), [] {
        pgas::Runtime& runtime = pgas::Context::here().runtime();
        constexpr std::uint64_t count = 8;
        const auto cells = allocate<SyncVar<long>::Cell>(count + 1).at_rank(1 - rank());
        for (int again = 0; again < 3; ++again) {
            std::vector<Task> tasks;
            for (std::uint64_t i = 0; i < count; ++i)
                tasks.push_back(spawn([cells, i] {
                    const auto at = cells + static_cast<std::ptrdiff_t>(i);
                    SyncVar<long>(at).write_ef(SyncVar<long>(at + 1).read_fe() + 1);
                }));
            SyncVar<long>(cells + static_cast<std::ptrdiff_t>(count)).write_ef(0);
            EXPECT_EQ(SyncVar<long>(cells).read_fe(), static_cast<long>(count));
            for (Task& task : tasks)
                task.join();
        }
        EXPECT_EQ(runtime.ended().contexts_made, count);
        EXPECT_EQ(runtime.job().threads_made(), count + 1);
        barrier();
    });
}

TEST(Spawn, TasksMaySpawnAndCall) {
    launch(options(2), [] {
        const auto counter = allocate<std::int64_t>(1).at_rank(0);
        for (int again = 0; again < 5; ++again) {
            std::vector<Task> tasks;
            for (int i = 0; i < 3; ++i)
                tasks.push_back(spawn([counter] {
                    Task inner = spawn([counter] {
                        on(1 - rank(),
                           [counter] { spawn([counter] { atomic_fetch_add(counter, 1); }).join(); });
                    });
                    inner.join();
                }));
            for (Task& task : tasks)
                task.join();
        }
        barrier();
        EXPECT_EQ(atomic_load(counter), 2 * 5 * 3);
        // Three tasks at a time, each with one of its own; and those of the other rank's calls.
        EXPECT_LE(pgas::Context::here().runtime().ended().contexts_made, 9u);
        barrier();
    });
}

TEST(Sync, AVariableIsFullOrEmpty) {
    launch(options(2), [] {
        const SyncVar<long> ball(allocate<SyncVar<long>::Cell>(1).at_rank(0));
        const auto data = allocate<long>(1).at_rank(1);
        constexpr long rounds = 100;
        if (rank() == 0) {
            for (long i = 0; i < rounds; ++i) {
                put(data, i);
                ball.write_ef(i);
            }
        } else {
            for (long i = 0; i < rounds; ++i) {
                const long seen = ball.read_fe();
                EXPECT_EQ(seen, i);
                EXPECT_GE(*data.local(), seen) << "put before the variable was written";
            }
            EXPECT_FALSE(ball.is_full());
            ball.write_ef(77);
            EXPECT_EQ(ball.read_ff(), 77);
            EXPECT_TRUE(ball.is_full());
        }
        barrier();
    });
}

TEST(Launch, TheDefaultsOfTheCacheAreTheEnvironments) {
    ASSERT_EQ(setenv("NEARFETCH_PAGE_CACHE_LINE_BYTES", "128", 1), 0);
    const auto bytes_of_a_miss = [](std::uint64_t line_bytes) {
        LaunchOptions its = options(2);
        if (line_bytes != 0) its.cache.line_bytes = line_bytes;
        std::uint64_t bytes = 0;
        launch(its, [&bytes] {
            const auto a = allocate<long>(1).at_rank(1);
            if (rank() != 0) return;
            get(a);
            bytes = statistics()["get_message_bytes"];
        });
        return bytes;
    };
    EXPECT_EQ(bytes_of_a_miss(0), 128u);
    EXPECT_EQ(bytes_of_a_miss(256), 256u) << "what the program says";
    ASSERT_EQ(setenv("NEARFETCH_PAGE_CACHE_LINE_BYTES", "many", 1), 0);
    EXPECT_THROW(LaunchOptions(), Error);
    unsetenv("NEARFETCH_PAGE_CACHE_LINE_BYTES");
}

TEST(Launch, TheFirstExceptionEndsAll) {
    try {
        launch(options(3), [] {
            if (rank() == 1) throw Error("rank 1 has had enough");
            barrier();
        });
        FAIL();
    } catch (const Error& error) {
        EXPECT_STREQ(error.what(), "rank 1 has had enough");
    }
}

TEST(Launch, AnExceptionEndsRanksThatAreBusyForOthers) {
    for (int i = 0; i < 20; ++i)
        EXPECT_THROW(launch(options(3),
                            [] {
                                const Rank next = (rank() + 1) % ranks();
                                for (;;) {
                                    const int depth = on(next, [] { return on(0, [] { return 1; }) + 1; });
                                    if (rank() == 0 && depth == 2) throw Error("rank 0 has had enough");
                                }
                            }),
                     Error);
}

}  // namespace
}  // namespace nearfetch

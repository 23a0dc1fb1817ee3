// SPDX-License-Identifier: Apache-2.0

// A rank's failure ends all ranks' waits, and the caller gets its error.

#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <limits>
#include <stdexcept>

#include "rig.hpp"
#include "transport/inproc/thread_limit.hpp"

namespace nearfetch {
namespace {

using namespace test;

class Failure : public testing::TestWithParam<Kind> {
  protected:
    /// Rank 0 throws. The others do `waiting`, and count if it ends with the error.
    static void expect_end_of(const std::function<void(Job&)>& waiting) {
        std::atomic<int> told = 0;
        try {
            launch_inproc(with_ranks(GetParam().config, 4), [&](Job& job) {
                if (job.rank() == 0) {
                    job.compute(10'000);
                    throw std::runtime_error("the first failure");
                }
                try {
                    waiting(job);
                } catch (const Error& error) {
                    if (std::string(error.what()).find("another rank failed") != std::string::npos) ++told;
                    throw;
                }
            });
            ADD_FAILURE() << "no failure arrived";
        } catch (const std::runtime_error& error) {
            EXPECT_STREQ(error.what(), "the first failure");
        }
        EXPECT_EQ(told, 3);
    }
};

TEST_P(Failure, EndsABarrier) {
    expect_end_of([](Job& job) { job.barrier(); });
}

TEST_P(Failure, EndsAReceive) {
    expect_end_of([](Job& job) {
        Message message;
        job.receive(0, message, true);
    });
}

TEST_P(Failure, EndsASpinOnAnAtomic) {
    expect_end_of([](Job& job) {
        while (job.atomic(0, 0, AtomicOp::load, 0, 0) == 0) {
        }
    });
}

TEST_P(Failure, EndsALoopThatYields) {
    expect_end_of([](Job& job) {
        const auto transport = job.endpoint();
        Message message;
        while (!job.receive(1, message, false))
            transport->yield();
    });
}

TEST_P(Failure, EndsAThreadThatIsBeingJoined) {
    expect_end_of([](Job& job) {
        const auto thread = job.start_thread([&job] {
            Message message;
            job.receive(0, message, true);
        });
        thread->join();
    });
}

TEST_P(Failure, OfAThreadIsThrownByJoin) {
    std::atomic<int> caught = 0;
    launch_inproc(with_ranks(GetParam().config, 2), [&](Job& job) {
        const auto thread = job.start_thread([] { throw std::logic_error("in the thread"); });
        try {
            thread->join();
        } catch (const std::logic_error&) {
            ++caught;
        }
    });
    EXPECT_EQ(caught, 2);
}

TEST_P(Failure, OfAThreadThatNobodyJoinsIsTheProgramsFailure) {
    EXPECT_THROW(launch_inproc(with_ranks(GetParam().config, 2),
                               [](Job& job) { job.start_thread([] { throw std::logic_error("alone"); }); }),
                 std::logic_error);
}

TEST_P(Failure, BarrierWithoutARankThatHasEndedIsAnError) {
    const std::string text = error_of([] {
        launch_inproc(with_ranks(GetParam().config, 3), [](Job& job) {
            if (job.rank() != 1) job.barrier();
        });
    });
    EXPECT_NE(text.find("barrier"), std::string::npos) << text;
}

INSTANTIATE_TEST_SUITE_P(Transports, Failure, testing::ValuesIn(all_kinds()),
                         [](const auto& kind) { return std::string(kind.param.name); });

TEST(Configuration, BadOnesAreNamed) {
    const auto nothing = [](Job&) {};
    EXPECT_NE(error_of([&] { launch_inproc({.ranks = 0}, nothing); }).find("ranks is 0"), std::string::npos);
    EXPECT_NE(error_of([&] { launch_inproc({.ranks = -3}, nothing); }).find("ranks is -3"),
              std::string::npos);
    const std::string huge =
        error_of([&] { launch_inproc({.ranks = 2, .segment_bytes = 1ULL << 60}, nothing); });
    EXPECT_NE(huge.find("cannot be allocated"), std::string::npos) << huge;
    EXPECT_NE(huge.find("1152921504606846976"), std::string::npos) << huge;
    EXPECT_THROW(launch_inproc({.ranks = 1, .segment_bytes = ~std::uint64_t{0}}, nothing), Error);
}

TEST(Configuration, MoreRanksThanThereCanBeThreadsAreRefusedAtOnce) {
    // Memory for so many would be exhausted.
    for (const bool virtual_time : {false, true}) {
        const std::string text = error_of([&] {
            launch_inproc({.ranks = std::numeric_limits<Rank>::max(), .virtual_time = virtual_time},
                          [](Job&) {});
        });
        EXPECT_NE(text.find("2147483647 ranks as threads of this process (it can have at most"),
                  std::string::npos)
            << text;
        EXPECT_NE(text.find(thread_limit().source + "): use fewer ranks"), std::string::npos) << text;
    }
}

TEST(Configuration, TheLimitOfThreadsIsTheLeastThatTheSystemSays) {
    const std::filesystem::path proc =
        std::filesystem::path(testing::TempDir()) / ("limits-" + std::to_string(getpid()));
    std::filesystem::create_directories(proc / "sys/kernel");
    std::filesystem::create_directories(proc / "sys/vm");
    EXPECT_EQ(thread_limit(proc).threads, std::numeric_limits<std::uint64_t>::max()) << "nothing is known";
    const auto expect_after = [&](const char* file, int number, std::uint64_t threads, const char* source) {
        std::ofstream(proc / "sys" / file) << number << '\n';
        EXPECT_EQ(thread_limit(proc).threads, threads);
        EXPECT_EQ(thread_limit(proc).source, source);
    };
    expect_after("kernel/threads-max", 9000, 9000, "kernel.threads-max");
    expect_after("vm/max_map_count", 19000, 9000, "kernel.threads-max");
    expect_after("vm/max_map_count", 8001, 4000, "vm.max_map_count");
    expect_after("kernel/pid_max", 100, 100, "kernel.pid_max");
    std::filesystem::remove_all(proc);
}

TEST(Configuration, ASegmentMayBeEmpty) {
    launch_inproc({.ranks = 2, .segment_bytes = 0}, [](Job& job) {
        EXPECT_TRUE(job.segment().empty());
        std::byte byte{};
        EXPECT_EQ(job.endpoint()->start_get(0, 0, 1, &byte, 0), transport_status::outside);
        EXPECT_THROW(job.atomic(0, 0, AtomicOp::load, 0, 0), Error);
    });
}

}  // namespace
}  // namespace nearfetch

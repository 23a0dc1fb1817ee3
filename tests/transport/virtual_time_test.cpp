// SPDX-License-Identifier: Apache-2.0

// Virtual time: reproducible, in clock order, without real waits; and the effects of seeds, jitter and late
// effects within the contract.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

#include "rig.hpp"
#include "transport/model/model_job.hpp"
#include "transport/model/random.hpp"

namespace nearfetch {
namespace {

using namespace test;

/// A checksum of the order and times of all that ranks observe. In virtual time one rank runs at a time.
class Observations {
  public:
    void note(std::uint64_t value) { hash_ = mixed(hash_ ^ value); }
    std::uint64_t hash() const { return hash_; }

  private:
    std::uint64_t hash_ = 0;
};

/// A program that uses every operation; returns what it observes.
std::uint64_t observe(const InprocConfig& config) {
    Observations seen;
    launch_inproc(config, [&](Job& job) {
        const auto transport = job.endpoint();
        SeededRandom chance(static_cast<std::uint64_t>(job.rank()) + 100);
        const auto random_rank = [&] {
            return static_cast<Rank>(chance.up_to(static_cast<std::uint64_t>(job.ranks()) - 1));
        };
        const auto note = [&](std::uint64_t what) {
            seen.note(static_cast<std::uint64_t>(job.rank()));
            seen.note(what);
            seen.note(transport->now_ns());
        };
        const auto thread = job.start_thread([&job, &seen] {
            const auto own = job.endpoint();
            Message message;
            while (job.receive(5, message, true) && !message.bytes.empty()) {
                seen.note(value_of(message));
                seen.note(own->now_ns());
            }
        });
        std::vector<std::uint64_t> words(16);
        for (int round = 0; round < 5; ++round) {
            for (std::uint64_t i = 0; i < 16; ++i) {
                auto* const word = reinterpret_cast<std::byte*>(&words[i]);
                ASSERT_EQ(transport->start_get(random_rank(), 8 * chance.up_to(100), 8, word, i), 0);
                if (chance.up_to(3) == 0) job.compute(chance.up_to(3000));
            }
            for (int reported = 0; reported < 16;) {
                std::array<Completion, 3> done;
                const std::size_t count = transport->wait(done);
                for (std::size_t i = 0; i < count; ++i)
                    note(done[i].token);
                reported += static_cast<int>(count);
            }
            note(job.atomic(random_rank(), 800, AtomicOp::add, 1, 0));
            send_value(job, random_rank(), 5, chance.up_to(1000));
            put_value(*transport, random_rank(), 8 * chance.up_to(90), chance.up_to(1000));
            job.barrier();
            note(round);
        }
        job.send(job.rank(), 5, {});
        thread->join();
        note(99);
    });
    return seen.hash();
}

TEST(VirtualTime, IsTheSameInEveryRun) {
    for (const char* network : {"aries", "1gbe"}) {
        for (const bool unruly : {false, true}) {
            InprocConfig config{.ranks = 6, .network = network, .virtual_time = true, .seed = 11};
            if (unruly) {
                config.jitter_ns = 5'000;
                config.late_effects = true;
            }
            const std::uint64_t first = observe(config);
            EXPECT_EQ(observe(config), first);
            EXPECT_EQ(observe(config), first);
            config.seed = 12;
            EXPECT_NE(observe(config), first);
        }
    }
}

TEST(VirtualTime, SeedsAreOtherOrdersOfWhatHappensAtOnce) {
    const auto order = [](std::uint64_t seed) {
        std::vector<Rank> ranks;
        launch_inproc({.ranks = 8, .virtual_time = true, .seed = seed}, [&](Job& job) {
            job.barrier();
            ranks.push_back(job.rank());
        });
        return ranks;
    };
    EXPECT_EQ(order(3), order(3));
    EXPECT_NE(order(3), order(4));
}

TEST(VirtualTime, ComputingTakesNoRealTimeAndOverlaps) {
    const auto begin = std::chrono::steady_clock::now();
    launch_inproc({.ranks = 3, .network = "fdr-ib", .virtual_time = true}, [](Job& job) {
        EXPECT_TRUE(job.virtual_time());
        const auto transport = job.endpoint();
        constexpr std::uint64_t hour_ns = 3'600'000'000'000;
        std::uint64_t word = 0;
        ASSERT_EQ(transport->start_get(0, 0, 8, reinterpret_cast<std::byte*>(&word), 1), 0);
        job.compute(hour_ns);
        const std::uint64_t before_ns = transport->now_ns();
        finish(*transport);
        EXPECT_EQ(transport->now_ns(), before_ns);
        EXPECT_GE(before_ns, hour_ns);
    });
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::minutes(10));
}

TEST(VirtualTime, WhatIsEarlierIsSeenByWhatIsLater) {
    launch_inproc({.ranks = 2, .network = "fdr-ib", .virtual_time = true}, [](Job& job) {
        const auto transport = job.endpoint();
        if (job.rank() == 0) {
            job.compute(50'000);
            put_value(*transport, 1, 0, 1);
            job.compute(50'000);
            put_value(*transport, 1, 0, 2);
        } else {
            job.compute(40'000);
            EXPECT_EQ(get_value(*transport, 1, 0), 0U);
            job.compute(40'000);
            EXPECT_EQ(get_value(*transport, 1, 0), 1U);
            job.compute(40'000);
            EXPECT_EQ(get_value(*transport, 1, 0), 2U);
        }
    });
}

TEST(VirtualTime, ABarrierEndsAtOneTimeForAll) {
    std::vector<std::uint64_t> ends(5);
    launch_inproc({.ranks = 5, .network = "fdr-ib", .virtual_time = true}, [&](Job& job) {
        const auto transport = job.endpoint();
        job.compute(static_cast<std::uint64_t>(job.rank()) * 1000);
        job.barrier();
        ends[static_cast<std::size_t>(job.rank())] = transport->now_ns();
    });
    EXPECT_EQ(ends, (std::vector<std::uint64_t>(5, 4000 + 3 * 1600)));
}

TEST(VirtualTime, AThreadBeginsAtItsParentsTimeAndIsJoinedAtItsEnd) {
    launch_inproc({.ranks = 2, .network = "aries", .virtual_time = true}, [](Job& job) {
        const auto transport = job.endpoint();
        job.compute(700);
        const auto thread = job.start_thread([&job] {
            const auto own = job.endpoint();
            EXPECT_EQ(own->now_ns(), 700U);
            job.compute(5000);
        });
        job.compute(1000);
        EXPECT_EQ(transport->now_ns(), 1700U);
        thread->join();
        EXPECT_EQ(transport->now_ns(), 5700U);
    });
}

TEST(VirtualTime, AMessageFromALaterSenderCanComeFirst) {
    launch_inproc({.ranks = 3, .network = "fdr-ib", .virtual_time = true}, [](Job& job) {
        if (job.rank() == 0) {
            const std::vector<std::byte> large(500'000);
            job.send(2, 0, large);
        } else if (job.rank() == 1) {
            job.compute(3000);
            send_value(job, 2, 0, 7);
        } else {
            Message message;
            ASSERT_TRUE(job.receive(0, message, true));
            EXPECT_EQ(message.source, 1);
            EXPECT_EQ(job.endpoint()->now_ns(), 4600U);
            ASSERT_TRUE(job.receive(0, message, true));
            EXPECT_EQ(message.source, 0);
            EXPECT_EQ(message.bytes.size(), 500'000U);
            EXPECT_GE(job.endpoint()->now_ns(), 60'000U);
        }
    });
}

TEST(VirtualTime, YieldingTakesFewLooksHoweverLongItTakes) {
    launch_inproc({.ranks = 2, .network = "1gbe", .virtual_time = true}, [](Job& job) {
        const auto transport = job.endpoint();
        if (job.rank() == 0) {
            job.compute(1'000'000'000);
            send_value(job, 1, 0, 5);
            return;
        }
        Message message;
        int looks = 0;
        while (!job.receive(0, message, false)) {
            ++looks;
            transport->yield();
        }
        EXPECT_LE(looks, 20);
        EXPECT_EQ(transport->now_ns(), 1'000'049'000U);
    });
}

TEST(VirtualTime, DeadlocksAreFoundAndNamed) {
    std::atomic<int> told = 0;
    const std::string text = error_of([&] {
        launch_inproc({.ranks = 3, .virtual_time = true}, [&](Job& job) {
            try {
                Message message;
                if (job.rank() == 0) job.barrier();
                if (job.rank() == 1) job.receive(0, message, true);
                if (job.rank() == 2) {
                    const auto thread = job.start_thread([&] { job.receive(1, message, true); });
                    thread->join();
                }
            } catch (const Error& error) {
                if (std::string(error.what()).find("deadlock") != std::string::npos) ++told;
                throw;
            }
        });
    });
    EXPECT_EQ(told, 3);
    EXPECT_NE(text.find("rank 0 waits in a barrier"), std::string::npos) << text;
    EXPECT_NE(text.find("rank 1 waits for a message"), std::string::npos) << text;
    EXPECT_NE(text.find("rank 2 waits for a thread's end"), std::string::npos) << text;
    EXPECT_NE(text.find("thread 1 of rank 2 waits for a message"), std::string::npos) << text;
}

TEST(VirtualTime, YieldingForNothingIsFoundToo) {
    const std::string text = error_of([] {
        launch_inproc({.ranks = 2, .virtual_time = true}, [](Job& job) {
            const auto transport = job.endpoint();
            Message message;
            while (!job.receive(0, message, false))
                transport->yield();
        });
    });
    EXPECT_NE(text.find("does not go on"), std::string::npos) << text;
}

TEST(VirtualTime, ARingOf256Ranks) {
    constexpr Rank ranks = 256;
    constexpr std::uint64_t rounds = 4;
    launch_inproc({.ranks = ranks, .segment_bytes = 4096, .network = "aries", .virtual_time = true},
                  [](Job& job) {
                      const auto transport = job.endpoint();
                      const Rank next = (job.rank() + 1) % ranks;
                      for (std::uint64_t round = 0; round < rounds; ++round) {
                          Message message;
                          if (job.rank() == 0) send_value(job, next, 0, round * ranks);
                          ASSERT_TRUE(job.receive(0, message, true));
                          if (job.rank() != 0) send_value(job, next, 0, value_of(message) + 1);
                          if (job.rank() == 0) {
                              EXPECT_EQ(value_of(message), round * ranks + ranks - 1);
                          }
                      }
                      if (job.rank() == 0) {
                          // Each hop is one message, passed on at once.
                          EXPECT_EQ(transport->now_ns(), rounds * ranks * 1300);
                      }
                      job.barrier();
                      put_value(*transport, next, 0, 5);
                      job.barrier();
                      EXPECT_EQ(get_value(*transport, job.rank(), 0), 5U);
                  });
}

/// The order in which 100 GETs are reported.
std::vector<Token> order_of_gets(const InprocConfig& config) {
    std::vector<Token> order;
    launch_inproc(config, [&](Job& job) {
        if (job.rank() != 0) return;
        const auto transport = job.endpoint();
        std::vector<std::uint64_t> words(100);
        for (Token token = 0; token < 100; ++token) {
            auto* const word = reinterpret_cast<std::byte*>(&words[token]);
            ASSERT_EQ(transport->start_get(1, 8 * token, 8, word, token), 0);
        }
        std::array<Completion, 1> done;
        while (order.size() < 100) {
            ASSERT_EQ(transport->wait(done), 1U);
            order.push_back(done[0].token);
        }
    });
    return order;
}

TEST(Unruly, JitterReordersCompletions) {
    InprocConfig config{.network = "fdr-ib", .virtual_time = true, .seed = 3};
    const std::vector<Token> quiet = order_of_gets(config);
    EXPECT_TRUE(std::is_sorted(quiet.begin(), quiet.end()));
    config.jitter_ns = 10'000;
    const std::vector<Token> unruly = order_of_gets(config);
    std::size_t overtaken = 0;
    for (std::size_t i = 1; i < unruly.size(); ++i)
        overtaken += unruly[i] < unruly[i - 1] ? 1 : 0;
    EXPECT_GE(overtaken, 25U);
    EXPECT_TRUE(std::is_permutation(quiet.begin(), quiet.end(), unruly.begin()));
    EXPECT_EQ(order_of_gets(config), unruly);
    config.seed = 4;
    EXPECT_NE(order_of_gets(config), unruly);
}

/// Of 100 operations, how many had taken effect after half of their time; all had when complete.
int early_effects(bool late_effects, bool put) {
    int early = 0;
    launch_inproc(
        {.ranks = 2, .network = "1gbe", .virtual_time = true, .seed = 9, .late_effects = late_effects},
        [&](Job& job) {
            if (job.rank() == 1) {
                const std::uint64_t word = 77;
                for (std::size_t i = 0; i < 100; ++i)
                    std::memcpy(job.segment().data() + 8 * i, &word, 8);
            }
            job.barrier();
            if (job.rank() != 0) return;
            const auto transport = job.endpoint();
            const std::uint64_t from = 88;
            for (std::uint64_t i = 0; i < 100; ++i) {
                std::uint64_t to = 0;
                auto* const bytes = reinterpret_cast<std::byte*>(&to);
                const int status =
                    put ? transport->start_put(1, 8 * i, 8, reinterpret_cast<const std::byte*>(&from), 1)
                        : transport->start_get(1, 8 * i, 8, bytes, 1);
                ASSERT_EQ(status, 0);
                job.compute(49'000 / 2);
                std::array<Completion, 1> done;
                EXPECT_EQ(transport->test(done), 0U);
                if (put) to = job.atomic(1, 8 * i, AtomicOp::load, 0, 0);
                if (to == (put ? 88U : 77U)) ++early;
                finish(*transport);
                if (put) to = job.atomic(1, 8 * i, AtomicOp::load, 0, 0);
                EXPECT_EQ(to, put ? 88U : 77U);
            }
        });
    return early;
}

TEST(Unruly, LateEffectsComeAtAnyTimeBeforeCompletion) {
    for (const bool put : {false, true}) {
        EXPECT_EQ(early_effects(false, put), 100);
        const int early = early_effects(true, put);
        EXPECT_GE(early, 30);
        EXPECT_LE(early, 70);
    }
}

TEST(Unruly, WhatIsRefusedIsRefusedAtOnceWhenEffectsAreLate) {
    launch_inproc({.network = "fdr-ib", .virtual_time = true, .late_effects = true}, [](Job& job) {
        const auto transport = job.endpoint();
        std::byte byte{};
        EXPECT_EQ(transport->start_get(2, 0, 1, &byte, 1), transport_status::bad_rank);
        EXPECT_EQ(transport->start_put(1, job.segment().size(), 1, &byte, 1), transport_status::outside);
        EXPECT_EQ(transport->start_get(1, ~std::uint64_t{0}, 1, &byte, 1), transport_status::outside);
        EXPECT_EQ(traffic_of(job).get_messages + traffic_of(job).put_messages, 0U);
    });
}

}  // namespace
}  // namespace nearfetch

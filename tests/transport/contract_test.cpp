// SPDX-License-Identifier: Apache-2.0

// What every transport and job promises, on each way to start ranks in this process.

#include <atomic>
#include <cstdint>
#include <numeric>
#include <set>
#include <vector>

#include "rig.hpp"

namespace nearfetch {
namespace {

using namespace test;

class Contract : public testing::TestWithParam<Kind> {
  protected:
    static void run(Rank ranks, const std::function<void(Job&)>& main) {
        launch_inproc(with_ranks(GetParam().config, ranks), main);
    }
};

TEST_P(Contract, EveryRankHasANumberAndAZeroedSegment) {
    std::atomic<int> sum = 0;
    run(4, [&](Job& job) {
        EXPECT_EQ(job.ranks(), 4);
        sum += 1 << (4 * job.rank());
        const std::span<std::byte> segment = job.segment();
        EXPECT_EQ(segment.size(), 1U << 20);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(segment.data()) % 4096, 0U);
        for (const std::byte byte : segment)
            ASSERT_EQ(byte, std::byte{0});
    });
    EXPECT_EQ(sum, 0x1111);
}

TEST_P(Contract, PutsAreThereAndGetsFetchThem) {
    run(3, [](Job& job) {
        const auto transport = job.endpoint();
        const Rank next = (job.rank() + 1) % 3;
        put_value(*transport, next, 64, 100 + static_cast<std::uint64_t>(job.rank()));
        job.barrier();
        std::uint64_t mine = 0;
        std::memcpy(&mine, job.segment().data() + 64, 8);
        EXPECT_EQ(mine, 100U + static_cast<std::uint64_t>((job.rank() + 2) % 3));
        EXPECT_EQ(get_value(*transport, next, 64), 100U + static_cast<std::uint64_t>(job.rank()));
    });
}

TEST_P(Contract, LargeTransfersOfOddSizesArrivesWhole) {
    run(2, [](Job& job) {
        const auto transport = job.endpoint();
        std::vector<std::byte> bytes(300'001);
        for (std::size_t i = 0; i < bytes.size(); ++i)
            bytes[i] = static_cast<std::byte>(i * 7);
        if (job.rank() == 0) {
            ASSERT_EQ(transport->start_put(1, 3, bytes.size(), bytes.data(), 1), 0);
            finish(*transport);
            std::vector<std::byte> back(bytes.size());
            ASSERT_EQ(transport->start_get(1, 3, back.size(), back.data(), 2), 0);
            finish(*transport);
            EXPECT_EQ(back, bytes);
        }
        job.barrier();
        if (job.rank() == 1) {
            EXPECT_EQ(job.segment()[2], std::byte{0});
            EXPECT_EQ(job.segment()[3 + 300'001], std::byte{0});
            EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), job.segment().begin() + 3));
        }
    });
}

TEST_P(Contract, EachOperationIsReportedOnceHoweverSmallTheSpan) {
    run(2, [](Job& job) {
        const auto transport = job.endpoint();
        std::vector<std::uint64_t> values(100);
        for (Token token = 0; token < 100; ++token) {
            ASSERT_EQ(
                transport->start_get(1, 8 * token, 8, reinterpret_cast<std::byte*>(&values[token]), token),
                0);
        }
        std::set<Token> seen;
        std::array<Completion, 3> done;
        while (seen.size() < 100) {
            const std::size_t count = transport->wait(done);
            ASSERT_GE(count, 1U);
            ASSERT_LE(count, 3U);
            for (std::size_t i = 0; i < count; ++i)
                EXPECT_TRUE(seen.insert(done[i].token).second);
        }
        EXPECT_EQ(transport->test(done), 0U);
    });
}

TEST_P(Contract, TestReportsWithoutWaiting) {
    run(2, [](Job& job) {
        const auto transport = job.endpoint();
        std::array<Completion, 3> done;
        EXPECT_EQ(transport->test(done), 0U);
        std::uint64_t value = 5;
        ASSERT_EQ(transport->start_put(1 - job.rank(), 0, 8, reinterpret_cast<std::byte*>(&value), 3), 0);
        std::size_t count = 0;
        while (count == 0)
            count = transport->test(done);
        EXPECT_EQ(count, 1U);
        EXPECT_EQ(done[0].token, 3U);
    });
}

TEST_P(Contract, TimeNeverGoesBack) {
    run(2, [](Job& job) {
        const auto transport = job.endpoint();
        std::uint64_t last_ns = transport->now_ns();
        for (int i = 0; i < 20; ++i) {
            if (i % 3 == 0) job.compute(1000);
            if (i % 3 == 1) get_value(*transport, 1, 0);
            if (i % 3 == 2) transport->yield();
            const std::uint64_t now_ns = transport->now_ns();
            EXPECT_GE(now_ns, last_ns + (i % 3 == 0 ? 1000 : 0));
            last_ns = now_ns;
        }
    });
}

TEST_P(Contract, BadRanksAndAddressesAreRefused) {
    run(2, [](Job& job) {
        const auto transport = job.endpoint();
        std::uint64_t value = 0;
        auto* const bytes = reinterpret_cast<std::byte*>(&value);
        const std::uint64_t end = job.segment().size();
        EXPECT_EQ(transport->start_get(2, 0, 8, bytes, 1), transport_status::bad_rank);
        EXPECT_EQ(transport->start_put(-1, 0, 8, bytes, 1), transport_status::bad_rank);
        EXPECT_EQ(transport->start_get(1, end - 7, 8, bytes, 1), transport_status::outside);
        EXPECT_EQ(transport->start_put(1, end, 1, bytes, 1), transport_status::outside);
        EXPECT_EQ(transport->start_get(1, ~std::uint64_t{0} - 3, 8, bytes, 1), transport_status::outside);
        std::array<Completion, 1> done;
        EXPECT_EQ(transport->test(done), 0U);
        EXPECT_NE(transport->status_text(transport_status::bad_rank).find("0 to 1"), std::string::npos);
        EXPECT_NE(transport->status_text(transport_status::outside).find("1048576"), std::string::npos);

        EXPECT_NE(error_of([&] { job.atomic(5, 0, AtomicOp::add, 1, 0); }).find("rank 5"), std::string::npos);
        EXPECT_NE(error_of([&] { job.atomic(0, 4, AtomicOp::add, 1, 0); }).find("address 4"),
                  std::string::npos);
        EXPECT_NE(error_of([&] { job.atomic(0, end, AtomicOp::add, 1, 0); }).find("1048576 bytes"),
                  std::string::npos);
        EXPECT_NE(error_of([&] { send_value(job, -1, 0, 1); }).find("rank -1"), std::string::npos);
        EXPECT_NE(error_of([&] { send_value(job, 0, 40'000, 1); }).find("40000"), std::string::npos);
        Message message;
        EXPECT_NE(error_of([&] { job.receive(40'000, message, false); }).find("40000"), std::string::npos);
    });
}

TEST_P(Contract, WhatMayBeReadIsTheSegment) {
    run(2, [](Job& job) {
        const auto transport = job.endpoint();
        const std::uint64_t end = job.segment().size();
        EXPECT_EQ(transport->readable(1, 0), (ByteRange{0, end}));
        EXPECT_EQ(transport->readable(0, end - 1), (ByteRange{0, end}));
        EXPECT_TRUE(transport->readable(0, end).empty());
        EXPECT_TRUE(transport->readable(2, 0).empty());
        EXPECT_TRUE(transport->readable(-1, 0).empty());
    });
}

TEST_P(Contract, AtomicsDoWhatTheySayAndTellWhatWasThere) {
    run(1, [](Job& job) {
        const auto transport = job.endpoint();
        const auto apply = [&](AtomicOp op, std::uint64_t operand, std::uint64_t compare = 0) {
            return job.atomic(0, 8, op, operand, compare);
        };
        EXPECT_EQ(apply(AtomicOp::store, 12), 0U);
        EXPECT_EQ(apply(AtomicOp::load, 99), 12U);
        EXPECT_EQ(apply(AtomicOp::add, 3), 12U);
        EXPECT_EQ(apply(AtomicOp::bit_and, 0b1101), 15U);
        EXPECT_EQ(apply(AtomicOp::bit_or, 0b0010), 13U);
        EXPECT_EQ(apply(AtomicOp::bit_xor, 0b0001), 15U);
        EXPECT_EQ(apply(AtomicOp::swap, 70), 14U);
        EXPECT_EQ(apply(AtomicOp::compare_swap, 71, 1), 70U);
        EXPECT_EQ(apply(AtomicOp::compare_swap, 72, 70), 70U);
        EXPECT_EQ(apply(AtomicOp::load, 0), 72U);
        EXPECT_EQ(get_value(*transport, 0, 8), 72U);
        EXPECT_EQ(get_value(*transport, 0, 16), 0U);
    });
}

TEST_P(Contract, AtomicsOfAllRanksAddUp) {
    run(4, [](Job& job) {
        for (int i = 0; i < 200; ++i)
            job.atomic(i % 4, 0, AtomicOp::add, 1, 0);
        job.barrier();
        EXPECT_EQ(job.atomic((job.rank() + 1) % 4, 0, AtomicOp::load, 0, 0), 200U);
    });
}

TEST_P(Contract, MessagesToAPortArriveInOrderOfEachSender) {
    run(4, [](Job& job) {
        constexpr std::uint64_t count = 50;
        for (std::uint64_t i = 0; i < count; ++i) {
            for (Rank target = 0; target < 4; ++target)
                send_value(job, target, 3, i);
        }
        std::vector<std::uint64_t> expected(4, 0);
        for (std::uint64_t i = 0; i < 4 * count; ++i) {
            Message message;
            ASSERT_TRUE(job.receive(3, message, true));
            EXPECT_EQ(value_of(message), expected[static_cast<std::size_t>(message.source)]++);
        }
        Message none;
        EXPECT_FALSE(job.receive(3, none, false));
        EXPECT_EQ(expected, (std::vector<std::uint64_t>(4, count)));
    });
}

TEST_P(Contract, PortsAreApartAndEmptyMessagesAreMessages) {
    run(2, [](Job& job) {
        if (job.rank() == 0) {
            job.send(1, 1, {});
            send_value(job, 1, 2, 22);
            send_value(job, 1, port_max, 33);
        } else {
            Message message;
            ASSERT_TRUE(job.receive(port_max, message, true));
            EXPECT_EQ(value_of(message), 33U);
            ASSERT_TRUE(job.receive(2, message, true));
            EXPECT_EQ(value_of(message), 22U);
            EXPECT_FALSE(job.receive(2, message, false));
            ASSERT_TRUE(job.receive(1, message, true));
            EXPECT_TRUE(message.bytes.empty());
            EXPECT_EQ(message.source, 0);
        }
    });
}

TEST_P(Contract, NobodyLeavesABarrierBeforeAllHaveCome) {
    std::atomic<int> arrived = 0;
    run(5, [&](Job& job) {
        for (int round = 1; round <= 20; ++round) {
            if (job.rank() == round % 5) job.compute(500);
            ++arrived;
            job.barrier();
            EXPECT_GE(arrived, 5 * round);
            job.barrier();
        }
    });
    EXPECT_EQ(arrived, 100);
}

TEST_P(Contract, ThreadsOfARankHaveEndpointsOfTheirOwn) {
    run(2, [](Job& job) {
        ASSERT_TRUE(job.threads());
        std::vector<std::unique_ptr<Job::Thread>> threads;
        for (std::uint64_t i = 0; i < 4; ++i) {
            threads.push_back(job.start_thread([&job, i] {
                const auto transport = job.endpoint();
                put_value(*transport, 1 - job.rank(), 8 * i, 1000 + i);
                EXPECT_EQ(get_value(*transport, 1 - job.rank(), 8 * i), 1000 + i);
                job.compute(100);
            }));
        }
        for (auto& thread : threads)
            thread->join();
        job.barrier();
        const auto transport = job.endpoint();
        for (std::uint64_t i = 0; i < 4; ++i)
            EXPECT_EQ(get_value(*transport, job.rank(), 8 * i), 1000 + i);
    });
}

TEST_P(Contract, AServiceThreadAnswersWhileItsRankComputes) {
    run(3, [](Job& job) {
        constexpr Port requests = 0;
        constexpr Port answers = 1;
        const auto service = job.start_thread([&job] {
            while (true) {
                Message request;
                job.receive(requests, request, true);
                if (request.bytes.empty()) return;
                send_value(job, request.source, answers, 2 * value_of(request));
            }
        });
        const Rank next = (job.rank() + 1) % 3;
        for (std::uint64_t i = 0; i < 20; ++i) {
            send_value(job, next, requests, i);
            Message answer;
            ASSERT_TRUE(job.receive(answers, answer, true));
            EXPECT_EQ(answer.source, next);
            EXPECT_EQ(value_of(answer), 2 * i);
        }
        job.barrier();
        job.send(job.rank(), requests, {});
        service->join();
    });
}

TEST_P(Contract, WhatRoundingUpReadsBesideItsOwnIsNoRace) {
    run(2, [](Job& job) {
        const auto transport = job.endpoint();
        std::array<std::byte, 64> line{};
        for (int i = 0; i < 200; ++i) {
            if (job.rank() == 0) {
                job.segment()[static_cast<std::size_t>(32 + i % 32)] = static_cast<std::byte>(i);
            } else {
                ASSERT_EQ(transport->start_get(0, 0, 64, line.data(), 1), 0);
                finish(*transport);
                EXPECT_EQ(line[0], std::byte{0});
            }
        }
    });
}

INSTANTIATE_TEST_SUITE_P(Transports, Contract, testing::ValuesIn(all_kinds()),
                         [](const auto& kind) { return std::string(kind.param.name); });

}  // namespace
}  // namespace nearfetch

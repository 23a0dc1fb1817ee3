// SPDX-License-Identifier: Apache-2.0

// The contract of transports and jobs, for each way to start ranks in this process.

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <tuple>

#include "contract_cases.hpp"
#include "rig.hpp"

namespace nearfetch {

namespace {

using namespace test;

class Contract : public testing::TestWithParam<std::tuple<Kind, ContractCase>> {};

TEST_P(Contract, Holds) {
    const auto& [kind, which] = GetParam();
    for (const Rank ranks : {1, 2, 4})
        launch_inproc(with_ranks(kind.config, ranks), which.run);
}

std::string title_of(const testing::TestParamInfo<std::tuple<Kind, ContractCase>>& info) {
    const auto& [kind, which] = info.param;
    return std::string(kind.name) + "_" + which.name;
}

INSTANTIATE_TEST_SUITE_P(Transports, Contract,
                         testing::Combine(testing::ValuesIn(all_kinds()),
                                          testing::ValuesIn(contract_cases().begin(),
                                                            contract_cases().end())),
                         title_of);

class InOneProcess : public testing::TestWithParam<Kind> {
  protected:
    static void run(Rank ranks, const std::function<void(Job&)>& main) {
        launch_inproc(with_ranks(GetParam().config, ranks), main);
    }
};

TEST_P(InOneProcess, EveryRankHasANumberAndAZeroedSegment) {
    std::atomic<int> sum = 0;
    run(4, [&](Job& job) {
        EXPECT_EQ(job.ranks(), 4);
        EXPECT_TRUE(job.threads());
        sum += 1 << (4 * job.rank());
        const std::span<std::byte> segment = job.segment();
        EXPECT_EQ(segment.size(), 1U << 20);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(segment.data()) % 4096, 0U);
        for (const std::byte byte : segment)
            ASSERT_EQ(byte, std::byte{0});
    });
    EXPECT_EQ(sum, 0x1111);
}

TEST_P(InOneProcess, WhoHoldsASegmentsMemoryKeepsIt) {
    std::array<std::shared_ptr<void>, 2> memory;
    std::array<std::byte*, 2> first{};
    run(2, [&](Job& job) {
        const auto rank = static_cast<std::size_t>(job.rank());
        memory[rank] = job.keep(job.segment().data());
        first[rank] = job.segment().data();
        *first[rank] = std::byte{7};
    });
    for (std::size_t rank = 0; rank < 2; ++rank) {
        ASSERT_NE(memory[rank], nullptr);
        EXPECT_EQ(memory[rank].use_count(), 1);
        EXPECT_EQ(*first[rank], std::byte{7});
    }
}

TEST_P(InOneProcess, WhatRoundingUpReadsBesideItsOwnIsNoRace) {
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

INSTANTIATE_TEST_SUITE_P(Transports, InOneProcess, testing::ValuesIn(all_kinds()),
                         [](const auto& kind) { return std::string(kind.param.name); });

}  // namespace
}  // namespace nearfetch

// SPDX-License-Identifier: Apache-2.0

// The modelled networks against their sources: 000's Table I, and the bounds of LogGP.

#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "rig.hpp"
#include "transport/model/model_job.hpp"

namespace nearfetch {
namespace {

using namespace test;

enum class Kindof : std::uint8_t { get, put };

/// Table I as printed.
struct Row {
    const char* network;
    double get_us, put_us;
    int get_mb_per_s, put_mb_per_s;

    friend std::ostream& operator<<(std::ostream& out, const Row& row) { return out << row.network; }
};

constexpr Row table_i[] = {{"1gbe", 49, 49, 11, 11},
                           {"10gbe", 16, 16, 52, 53},
                           {"fdr-ib", 2.1, 1.6, 405, 430},
                           {"aries", 1.7, 1.3, 415, 632}};

int start(Transport& transport, Kindof kind, std::uint64_t address, std::vector<std::byte>& bytes) {
    return kind == Kindof::get ? transport.start_get(1, address, bytes.size(), bytes.data(), 1)
                               : transport.start_put(1, address, bytes.size(), bytes.data(), 1);
}

std::uint64_t blocking_ns(Transport& transport, Kindof kind, std::size_t size_bytes) {
    std::vector<std::byte> bytes(size_bytes);
    const std::uint64_t begin_ns = transport.now_ns();
    EXPECT_EQ(start(transport, kind, 0, bytes), 0);
    finish(transport);
    return transport.now_ns() - begin_ns;
}

/// Runs `work` on rank 0 of two in virtual time.
void on_network(const char* network, const std::function<void(Job&, Transport&)>& work) {
    launch_inproc({.network = network, .virtual_time = true}, [&](Job& job) {
        if (job.rank() != 0) return;
        const auto transport = job.endpoint();
        work(job, *transport);
    });
}

class TableI : public testing::TestWithParam<Row> {};

TEST_P(TableI, LatenciesOfEightBytes) {
    const Row row = GetParam();
    on_network(row.network, [&](Job& job, Transport& transport) {
        for (int again = 0; again < 3; ++again) {
            EXPECT_EQ(blocking_ns(transport, Kindof::get, 8), std::llround(row.get_us * 1000));
            job.compute(100'000);
            EXPECT_EQ(blocking_ns(transport, Kindof::put, 8), std::llround(row.put_us * 1000));
            job.compute(100'000);
        }
    });
}

TEST_P(TableI, BandwidthsOfAThousandBytes) {
    const Row row = GetParam();
    on_network(row.network, [&](Job& job, Transport& transport) {
        const auto mb_per_s = [&](Kindof kind) {
            job.compute(200'000);
            return 1024.0 * 1000 / static_cast<double>(blocking_ns(transport, kind, 1024));
        };
        EXPECT_NEAR(mb_per_s(Kindof::get), row.get_mb_per_s, 0.1);
        EXPECT_NEAR(mb_per_s(Kindof::put), row.put_mb_per_s, 0.1);
    });
}

TEST_P(TableI, OneAfterTheOtherReachesTheSameBandwidth) {
    const Row row = GetParam();
    on_network(row.network, [&](Job&, Transport& transport) {
        std::uint64_t get_ns = 0;
        std::uint64_t put_ns = 0;
        for (int i = 0; i < 100; ++i)
            get_ns += blocking_ns(transport, Kindof::get, 1024);
        for (int i = 0; i < 100; ++i)
            put_ns += blocking_ns(transport, Kindof::put, 1024);
        EXPECT_NEAR(102'400.0 * 1000 / static_cast<double>(get_ns), row.get_mb_per_s, 0.1);
        EXPECT_NEAR(102'400.0 * 1000 / static_cast<double>(put_ns), row.put_mb_per_s, 0.1);
    });
}

TEST_P(TableI, ALineTakesLittleLongerThanAnElement) {
    const NetworkModel model = network_model(GetParam().network);
    for (const double longer : {static_cast<double>(model.get_ns(64)) / model.get.latency_ns,
                                static_cast<double>(model.put_ns(64)) / model.put.latency_ns}) {
        EXPECT_GT(longer, 1.01);
        EXPECT_LT(longer, 1.06);
    }
    EXPECT_EQ(model.get_ns(8), model.get_ns(1));
    for (std::uint64_t size = 8; size < 5000; ++size) {
        ASSERT_LE(model.get_ns(size), model.get_ns(size + 1)) << size;
        ASSERT_LE(model.put_ns(size), model.put_ns(size + 1)) << size;
        ASSERT_GE(model.get_ns(size), model.wire_ns(size)) << size;
    }
}

TEST_P(TableI, ManyAtOnceAreLimitedByTheCard) {
    const NetworkModel model = network_model(GetParam().network);
    on_network(GetParam().network, [&](Job& job, Transport& transport) {
        constexpr int count = 100;
        for (const Kindof kind : {Kindof::get, Kindof::put}) {
            job.compute(1'000'000);
            const bool get = kind == Kindof::get;
            const std::uint64_t begin_ns = transport.now_ns();
            std::vector<std::byte> word(8);
            for (int i = 0; i < count; ++i)
                ASSERT_EQ(start(transport, kind, 0, word), 0);
            for (int reported = 0; reported < count;) {
                std::array<Completion, 8> done;
                reported += static_cast<int>(transport.wait(done));
            }
            const std::uint64_t took_ns = transport.now_ns() - begin_ns;
            const TransferModel& transfer = get ? model.get : model.put;
            EXPECT_EQ(took_ns, std::llround((count - 1) * transfer.gap_ns + transfer.latency_ns));
            const double bound_ns =
                get ? model.bound_ns(count, 8 * count, 0, 0) : model.bound_ns(0, 0, count, 8 * count);
            EXPECT_NEAR(bound_ns, static_cast<double>(took_ns), 1);
        }
    });
}

TEST_P(TableI, LongTransfersReachTheWiresRateInBothDirectionsAtOnce) {
    const NetworkModel model = network_model(GetParam().network);
    on_network(GetParam().network, [&](Job& job, Transport& transport) {
        constexpr std::size_t size = 100'000;
        std::vector<std::byte> bytes(size);
        for (const auto& [gets, puts] : {std::pair(5U, 0U), std::pair(0U, 5U), std::pair(5U, 5U)}) {
            job.compute(1'000'000'000);
            const std::uint64_t begin_ns = transport.now_ns();
            for (std::size_t i = 0; i < 5; ++i) {
                if (i < gets) {
                    ASSERT_EQ(start(transport, Kindof::get, i * size, bytes), 0);
                }
                if (i < puts) {
                    ASSERT_EQ(start(transport, Kindof::put, i * size, bytes), 0);
                }
            }
            for (std::size_t reported = 0; reported < gets + puts;) {
                std::array<Completion, 4> done;
                reported += transport.wait(done);
            }
            const auto took_ns = static_cast<double>(transport.now_ns() - begin_ns);
            const double bound_ns = model.bound_ns(gets, gets * size, puts, puts * size);
            EXPECT_GE(bound_ns, 5 * size * model.byte_ns);
            EXPECT_GE(took_ns + 5, bound_ns);  // each transfer is rounded to a nanosecond
            EXPECT_LE(took_ns, 1.3 * bound_ns);
        }
    });
}

INSTANTIATE_TEST_SUITE_P(Networks, TableI, testing::ValuesIn(table_i),
                         [](const auto& row) { return "network_" + std::to_string(row.index); });

TEST(NetworkModelTest, TheBoundIsNeverAboveWhatHappens) {
    for (const std::string& name : network_names()) {
        const NetworkModel model = network_model(name);
        on_network(name.c_str(), [&](Job& job, Transport& transport) {
            for (const std::size_t size : {1U, 8U, 64U, 65U, 500U, 1024U, 3000U}) {
                const Traffic before = traffic_of(job);
                job.compute(1'000'000);
                const std::uint64_t begin_ns = transport.now_ns();
                std::vector<std::byte> bytes(size);
                for (int i = 0; i < 9; ++i) {
                    ASSERT_EQ(start(transport, i % 3 == 0 ? Kindof::put : Kindof::get, 0, bytes), 0);
                    if (i == 4) finish(transport);
                }
                for (std::size_t reported = 1; reported < 9;) {
                    std::array<Completion, 8> done;
                    reported += transport.wait(done);
                }
                const Traffic after = traffic_of(job);
                EXPECT_EQ(after.get_messages - before.get_messages, 6U);
                EXPECT_EQ(after.put_messages - before.put_messages, 3U);
                EXPECT_EQ(after.get_bytes - before.get_bytes, 6 * size);
                EXPECT_EQ(after.put_bytes - before.put_bytes, 3 * size);
                const auto took_ns = static_cast<double>(transport.now_ns() - begin_ns);
                EXPECT_LE(model.bound_ns(6, 6 * size, 3, 3 * size), took_ns + 9) << name << " " << size;
                EXPECT_LE(after.wait_ns - before.wait_ns, took_ns);
            }
        });
    }
}

TEST(NetworkModelTest, RoundTripsThatDependOnEachOtherAddUp) {
    const NetworkModel model = network_model("fdr-ib");
    EXPECT_DOUBLE_EQ(model.bound_ns(10, 80, 0, 0, 10), 21'000);
    EXPECT_DOUBLE_EQ(model.bound_ns(0, 0, 0, 0), 0);
    EXPECT_DOUBLE_EQ(model.bound_ns(1, 8, 0, 0), 2'100);
}

TEST(NetworkModelTest, OverlapWinsWhatItWonInThePaper) {
    const auto ratio = [](const TransferModel& transfer) { return transfer.latency_ns / transfer.gap_ns; };
    EXPECT_GE(ratio(network_model("fdr-ib").get), 4.2);
    EXPECT_GE(ratio(network_model("fdr-ib").put), 3.3);
    EXPECT_NEAR(ratio(network_model("1gbe").put), 3.7, 0.1);
    EXPECT_NEAR(ratio(network_model("10gbe").put), 2.0, 0.1);
    EXPECT_NEAR(ratio(network_model("1gbe").get), 4.0, 0.1);
    EXPECT_NEAR(ratio(network_model("10gbe").get), 4.0, 0.1);
}

TEST(NetworkModelTest, AnUnknownNameGetsTheKnownOnes) {
    const std::string text = error_of([] { network_model("token-ring"); });
    EXPECT_EQ(text, "network token-ring (no model has that name): use one of aries, fdr-ib, 10gbe, 1gbe");
    EXPECT_EQ(error_of([] { launch_inproc({.network = "token-ring"}, [](Job&) {}); }), text);
    EXPECT_EQ(network_names().size(), 4U);
}

TEST(NetworkModelTest, ImpossibleParametersAreRefused) {
    const auto refused = [](const std::function<void(NetworkModel&)>& change, const char* what) {
        NetworkModel model = network_model("aries");
        change(model);
        const std::string text = error_of([&] { launch_inproc({.model = model}, [](Job&) {}); });
        EXPECT_NE(text.find(what), std::string::npos) << text;
    };
    refused([](NetworkModel& model) { model.get.latency_ns = -1; }, "GET's latency");
    refused([](NetworkModel& model) { model.put.gap_ns = std::nan(""); }, "PUT's latency or gap");
    refused([](NetworkModel& model) { model.put.long_ns = 1000; }, "long_ns is too short");
    refused([](NetworkModel& model) { model.get.latency_ns = 0.5; }, "latency is too short");
    refused([](NetworkModel& model) { model.short_bytes = 1024; }, "short_bytes is 1024");
    refused([](NetworkModel& model) { model.byte_ns = -0.5; }, "a time is negative");
}

TEST(NetworkModelTest, ANetworkOfOnesOwn) {
    NetworkModel model;
    model.name = "slow";
    model.get = {.latency_ns = 5000, .long_ns = 9000, .gap_ns = 10};
    model.put = {.latency_ns = 7000, .long_ns = 9000, .gap_ns = 10};
    model.byte_ns = 1;
    model.message_ns = 3000;
    model.atomic_ns = 4000;
    launch_inproc({.ranks = 8, .model = model, .virtual_time = true}, [](Job& job) {
        ASSERT_NE(network_of(job), nullptr);
        EXPECT_EQ(network_of(job)->name, "slow");
        const auto transport = job.endpoint();
        job.barrier();
        EXPECT_EQ(transport->now_ns(), 3 * 3000U);  // three rounds for eight ranks
        const Rank next = (job.rank() + 1) % 8;
        std::uint64_t begin_ns = transport->now_ns();
        get_value(*transport, next, 0);
        EXPECT_EQ(transport->now_ns() - begin_ns, 5000U);
        begin_ns = transport->now_ns();
        job.atomic(next, 0, AtomicOp::add, 1, 0);
        EXPECT_EQ(transport->now_ns() - begin_ns, 4000U);
        begin_ns = transport->now_ns();
        send_value(job, next, 0, 1);
        EXPECT_EQ(transport->now_ns(), begin_ns);
        Message message;
        job.receive(0, message, true);
        EXPECT_EQ(transport->now_ns() - begin_ns, 3000U);
        // Accesses to itself need no network.
        begin_ns = transport->now_ns();
        get_value(*transport, job.rank(), 0);
        EXPECT_EQ(transport->now_ns(), begin_ns);
        const Traffic traffic = traffic_of(job);
        EXPECT_EQ(traffic.get_messages, 1U);
        EXPECT_EQ(traffic.put_messages, 0U);
        EXPECT_EQ(traffic.atomics, 1U);
        EXPECT_EQ(traffic.messages, 1U);
        EXPECT_EQ(traffic.message_bytes, 8U);
        EXPECT_EQ(traffic.wait_ns, 5000U);
    });
    launch_inproc({.ranks = 1}, [](Job& job) { EXPECT_EQ(network_of(job), nullptr); });
}

TEST(NetworkModelTest, OnTheWallsClockNothingIsEarly) {
    launch_inproc({.network = "10gbe"}, [](Job& job) {
        if (job.rank() != 0) return;
        const auto transport = job.endpoint();
        EXPECT_FALSE(job.virtual_time());
        for (int i = 0; i < 10; ++i) {
            EXPECT_GE(blocking_ns(*transport, Kindof::get, 8), 16'000U);
            EXPECT_GE(blocking_ns(*transport, Kindof::put, 1024), 19'320U);
        }
        const std::uint64_t begin_ns = transport->now_ns();
        job.atomic(1, 0, AtomicOp::add, 1, 0);
        EXPECT_GE(transport->now_ns() - begin_ns, 16'000U);
        EXPECT_EQ(traffic_of(job).get_messages, 10U);
    });
}

}  // namespace
}  // namespace nearfetch

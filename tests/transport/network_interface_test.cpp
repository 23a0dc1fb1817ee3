// SPDX-License-Identifier: Apache-2.0

// Messages of several ranks to one queue there.

#include "transport/model/network_interface.hpp"

#include <algorithm>
#include <vector>

#include "rig.hpp"
#include "transport/model/random.hpp"

namespace nearfetch {
namespace {

using namespace test;

TEST(BusyTimes, TheEarliestIdleTimeIsTaken) {
    BusyTimes times;
    EXPECT_EQ(times.wait_ns(0, 100, 10), 0U);
    EXPECT_EQ(times.wait_ns(0, 100, 10), 10U) << "after the first";
    EXPECT_EQ(times.wait_ns(0, 95, 10), 25U) << "the 5 before it are too few";
    EXPECT_EQ(times.wait_ns(0, 85, 10), 0U) << "what comes earlier is not behind what came first";
    EXPECT_EQ(times.wait_ns(0, 90, 5), 5U);
    EXPECT_EQ(times.wait_ns(0, 90, 1), 40U);
    EXPECT_EQ(times.wait_ns(0, 90, 0), 41U);
    EXPECT_EQ(times.wait_ns(50, 130, 7), 1U);
    EXPECT_EQ(times.wait_ns(500, 500, 3), 0U);
}

TEST(BusyTimes, AgreeWithATimelineOfNanoseconds) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        SeededRandom chance(seed);
        BusyTimes times;
        std::vector<bool> busy(40'000);
        std::uint64_t now_ns = 0;
        for (int i = 0; i < 1'000; ++i) {
            now_ns += chance.up_to(20);
            const std::uint64_t begin_ns = now_ns + chance.up_to(100);
            const std::uint64_t duration_ns = 1 + chance.up_to(15);
            std::uint64_t at_ns = begin_ns;
            const auto taken = [&] {
                const auto first = busy.begin() + static_cast<std::ptrdiff_t>(at_ns);
                return std::find(first, first + static_cast<std::ptrdiff_t>(duration_ns), true) !=
                       first + static_cast<std::ptrdiff_t>(duration_ns);
            };
            while (taken())
                ++at_ns;
            std::fill_n(busy.begin() + static_cast<std::ptrdiff_t>(at_ns), duration_ns, true);
            ASSERT_EQ(times.wait_ns(now_ns, begin_ns, duration_ns), at_ns - begin_ns) << seed << " " << i;
        }
    }
}

/// What blocking GETs, PUTs, atomics and messages take that all ranks but the last send at once.
std::vector<std::uint64_t> times_of_all(bool to_one, const std::function<void(Job&, Rank)>& send) {
    std::vector<std::uint64_t> times(4);
    const InprocConfig config{.ranks = 8, .network = "aries", .virtual_time = true};
    launch_inproc(config, [&](Job& job) {
        const auto transport = job.endpoint();
        if (job.rank() >= 4) return;
        const std::uint64_t begin_ns = transport->now_ns();
        send(job, to_one ? 4 : job.rank() + 4);
        times[static_cast<std::size_t>(job.rank())] = transport->now_ns() - begin_ns;
    });
    std::sort(times.begin(), times.end());
    return times;
}

TEST(NetworkInterface, MessagesToOneRankQueue) {
    const NetworkModel model = network_model("aries");
    const std::vector<std::function<void(Job&, Rank)>> kinds{
        [](Job& job, Rank target) { get_value(*job.endpoint(), target, 0); },
        [](Job& job, Rank target) { put_value(*job.endpoint(), target, 0, 1); },
        [](Job& job, Rank target) { job.atomic(target, 0, AtomicOp::add, 1, 0); },
        [](Job& job, Rank target) {
            job.start_addition(target, 0, AtomicOp::add, 1);
            job.finish_additions();
        },
    };
    const auto gap_ns = static_cast<std::uint64_t>(model.get.gap_ns);
    ASSERT_EQ(model.get.gap_ns, model.put.gap_ns);
    for (const auto& send : kinds) {
        const std::vector<std::uint64_t> apart = times_of_all(false, send);
        EXPECT_EQ(apart, std::vector<std::uint64_t>(4, apart.front())) << "each at a rank of its own";
        const std::vector<std::uint64_t> queued = times_of_all(true, send);
        EXPECT_EQ(queued.front(), apart.front());
        for (std::size_t i = 1; i < queued.size(); ++i)
            EXPECT_EQ(queued[i] - queued[i - 1], gap_ns);
    }
}

TEST(NetworkInterface, LongAnswersQueueForTheLink) {
    const NetworkModel model = network_model("aries");
    constexpr std::size_t size = 1 << 20;
    const auto get = [](Job& job, Rank target) {
        std::vector<std::byte> bytes(size);
        const auto transport = job.endpoint();
        ASSERT_EQ(transport->start_get(target, 0, size, bytes.data(), 1), 0);
        finish(*transport);
    };
    const std::vector<std::uint64_t> queued = times_of_all(true, get);
    for (std::size_t i = 1; i < queued.size(); ++i)
        EXPECT_EQ(queued[i] - queued[i - 1], model.wire_ns(size));
}

}  // namespace
}  // namespace nearfetch

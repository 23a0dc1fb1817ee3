// SPDX-License-Identifier: Apache-2.0
// Hits that are fetched again.
#include <gtest/gtest.h>

#include "window_fixture.hpp"

namespace nearfetch {
namespace {

using testing::Buffer;
using testing::Rig;
using testing::WindowCacheTest;

struct HitValidatorTest : WindowCacheTest {
    HitValidatorTest() {
        rig.call_site = {this, &reports};
        check_one_in(1);
        rig.window.completions().complete_all(rig.window.completions().now(), FlushKind::full, 0, 0);
        rig.on_stale_hit = [this](const StaleHit& stale) {
            reports.push_back(stale);
            callers.assign(stale.call_site.begin(), stale.call_site.end());
        };
    }
    void check_one_in(std::uint64_t hits) { change_setting(&Settings::check_hits, hits); }
    Buffer read(Rank target, std::size_t offset, std::size_t size) {
        Buffer to(size, 0xee);
        rig.get(target, offset, size, to.data());
        return to;
    }
    Buffer read_and_flush(Rank target, std::size_t offset, std::size_t size) {
        const Buffer hit = read(target, offset, size);
        rig.flush(target);
        return hit;
    }

    std::vector<StaleHit> reports;
    std::vector<void*> callers;
};

TEST_F(HitValidatorTest, WhatIsRightIsCountedAndNothingIsSaid) {
    fetched(1, 100, 50);
    EXPECT_EQ(read_and_flush(1, 100, 50), bytes(1, 100, 50));
    EXPECT_EQ(read_and_flush(1, 110, 8), bytes(1, 110, 8));
    EXPECT_EQ(rig.messages, 3u);
    EXPECT_EQ(rig.bytes, 50u + 50 + 8);
    EXPECT_EQ(counters().hits, 2u);
    EXPECT_EQ(counters().checked_hits, 2u);
    EXPECT_EQ(counters().stale_hits, 0u);
    EXPECT_EQ(counters().bytes_from_network, 50u) << "of the program's gets";
    EXPECT_TRUE(reports.empty());
}

TEST_F(HitValidatorTest, AStaleHitIsNamed) {
    fetched(1, 100, 50);
    const Buffer before = bytes(1, 100, 50);
    rig.memory[1][130] ^= 0x0f;
    rig.memory[1][140] ^= 0xff;
    EXPECT_EQ(read(1, 100, 50), before) << "the program gets what it would get without the check";
    EXPECT_TRUE(reports.empty()) << "the second get is not complete";
    rig.flush(1);
    ASSERT_EQ(reports.size(), 1u);
    EXPECT_EQ(reports[0].target, 1);
    EXPECT_EQ(reports[0].offset, 100u);
    EXPECT_EQ(reports[0].size, 50u);
    EXPECT_EQ(reports[0].differs_at, 30u);
    EXPECT_EQ(reports[0].served, static_cast<std::byte>(before[30]));
    EXPECT_EQ(reports[0].found, static_cast<std::byte>(before[30] ^ 0x0f));
    EXPECT_EQ(callers, rig.call_site);
    EXPECT_EQ(counters().stale_hits, 1u);
}

TEST_F(HitValidatorTest, EachTargetsChecksEndWithItsOwnFlush) {
    fetched(1, 100, 8);
    fetched(2, 100, 8);
    rig.memory[1][100] ^= 1;
    rig.memory[2][100] ^= 1;
    read(1, 100, 8);
    read(2, 100, 8);
    rig.flush(2);
    ASSERT_EQ(reports.size(), 1u);
    EXPECT_EQ(reports[0].target, 2);
    rig.flush_all();
    EXPECT_EQ(reports.size(), 2u);
}

TEST_F(HitValidatorTest, OneInSoManyIsChecked) {
    check_one_in(4);
    fetched(1, 100, 8);
    for (int i = 0; i < 12; ++i)
        read_and_flush(1, 100, 8);
    EXPECT_EQ(counters().hits, 12u);
    EXPECT_EQ(counters().checked_hits, 3u);
    EXPECT_EQ(rig.messages, 1u + 3);
    check_one_in(0);
    fetched(1, 100, 8);
    for (int i = 0; i < 12; ++i)
        read_and_flush(1, 100, 8);
    EXPECT_EQ(counters().checked_hits, 3u);
}

TEST_F(HitValidatorTest, WhatThisProcessPutsIsNotStale) {
    fetched(1, 100, 8);
    Buffer value(4, 0x11);
    read(1, 100, 8);
    rig.put(1, 102, 4, value.data());
    rig.flush(1);
    EXPECT_EQ(counters().checked_hits, 1u);
    rig.late_puts = true;
    Buffer other(4, 0x22);
    rig.put(1, 102, 4, other.data());
    EXPECT_EQ(read(1, 102, 4), other) << "its own writes are seen";
    rig.flush(1);
    EXPECT_EQ(counters().checked_hits, 1u) << "a second get may have overtaken the put";
    EXPECT_TRUE(reports.empty());
}

TEST_F(HitValidatorTest, AFailedFlushOrStartLosesNothing) {
    fetched(1, 100, 8);
    rig.memory[1][100] ^= 1;
    rig.status = 3;
    read(1, 100, 8);
    rig.status = 0;
    rig.flush(1);
    EXPECT_EQ(counters().checked_hits, 0u);
    read(1, 100, 8);
    rig.window.completions().complete(1, rig.window.completions().now(), FlushKind::full, 1, 0);
    EXPECT_EQ(counters().checked_hits, 0u);
    rig.flush(1);
    EXPECT_EQ(counters().stale_hits, 1u);
}

TEST(HitValidator, WithThreads) {
    Settings settings = Rig::settings(Mode::always_cache);
    settings.check_hits = 1;
    Rig rig(settings, 2, 4096, true);
    std::uint64_t reported = 0;
    rig.on_stale_hit = [&](const StaleHit&) { ++reported; };
    Buffer to(8);
    rig.get(1, 0, 8, to.data());
    rig.flush(1);
    rig.memory[1][3] = 1;
    rig.get(1, 0, 8, to.data());
    rig.flush(1);
    EXPECT_EQ(reported, 1u);
}

}  // namespace
}  // namespace nearfetch

// SPDX-License-Identifier: Apache-2.0

// Puts that are combined: what leaves when, in how many messages, and what the process itself sees
// meanwhile.

#include "rma/write_combiner.hpp"

#include <gtest/gtest.h>

#include <array>
#include <numeric>
#include <vector>

#include "base/ticks.hpp"
#include "rig.hpp"

namespace nearfetch {
namespace {

using testing::Rig;

constexpr std::size_t memory_bytes = 1 << 20;

class WriteCombinerTest : public ::testing::Test {
  protected:
    explicit WriteCombinerTest(Settings settings = Rig::settings(Mode::acquire))
        : rig(settings, 3, memory_bytes) {
        rig.window.describe_memory(std::array<TargetMemory, 3>{{{.extent_bytes = memory_bytes},
                                                                {.extent_bytes = memory_bytes},
                                                                {.extent_bytes = memory_bytes}}});
        rig.late_puts = true;
    }

    /// \return whether the library was called
    bool put(Rank target, std::uint64_t offset, std::uint64_t size) {
        std::vector<unsigned char> bytes(size);
        for (auto& byte : bytes)
            byte = ++value_;
        bool started = false;
        EXPECT_EQ(rig.put(target, offset, size, bytes.data(), &started), 0);
        wanted.resize(3, std::vector<unsigned char>(memory_bytes));
        std::copy(bytes.begin(), bytes.end(),
                  wanted[static_cast<std::size_t>(target)].begin() + static_cast<std::ptrdiff_t>(offset));
        std::fill(bytes.begin(), bytes.end(), 0xee);  // the program uses its buffer again
        return started;
    }
    void expect_there(Rank target) {
        EXPECT_EQ(rig.memory[static_cast<std::size_t>(target)], wanted[static_cast<std::size_t>(target)]);
    }
    std::uint64_t counted(std::uint64_t RangeCacheCounters::* counter) {
        return rig.window.counters().*counter;
    }

    Rig rig;
    std::vector<std::vector<unsigned char>> wanted;

  private:
    unsigned char value_ = 0;
};

TEST_F(WriteCombinerTest, NeighboursLeaveInOneMessageAtTheFlush) {
    for (std::uint64_t i = 0; i < 100; ++i)
        EXPECT_FALSE(put(1, 8 * ((i * 37) % 100), 8));
    EXPECT_EQ(rig.put_messages, 0u);
    rig.flush(1);
    EXPECT_EQ(rig.put_messages, 1u);
    EXPECT_EQ(rig.library_flushes, 1u);
    expect_there(1);
    EXPECT_EQ(counted(&RangeCacheCounters::puts_combined), 100u);
    EXPECT_EQ(counted(&RangeCacheCounters::put_messages), 1u);
    rig.flush(1);
    EXPECT_EQ(rig.library_flushes, 1u);  // nothing is outstanding any more
}

TEST_F(WriteCombinerTest, AFewRunsAreMessagesAndManyAreOne) {
    for (std::uint64_t i = 0; i < 15; ++i)
        put(1, 64 * i, 8);
    rig.flush(1);
    EXPECT_EQ(rig.put_messages, 15u);
    for (std::uint64_t i = 0; i < 16; ++i)
        put(1, 64 * i, 8);
    rig.flush(1);
    EXPECT_EQ(rig.put_messages, 16u);
    expect_there(1);
}

TEST_F(WriteCombinerTest, AFlushOfTheOriginBuffersSendsNothing) {
    put(1, 0, 8);
    rig.flush(1, FlushKind::local);
    rig.flush_all(FlushKind::local);
    EXPECT_EQ(rig.library_flushes, 0u);
    EXPECT_EQ(rig.put_messages, 0u);
    rig.flush(2);  // of another target
    EXPECT_EQ(rig.put_messages, 0u);
    rig.flush_all();
    EXPECT_EQ(rig.put_messages, 1u);
    expect_there(1);
}

TEST_F(WriteCombinerTest, GetsSeeThem) {
    put(1, 100, 16);
    std::vector<unsigned char> seen(16);
    rig.get(1, 104, 8, seen.data());
    EXPECT_EQ(rig.begun, Begun::served);
    EXPECT_EQ(std::vector(seen.begin(), seen.begin() + 8),
              std::vector(wanted[1].begin() + 104, wanted[1].begin() + 112));
    EXPECT_EQ(counted(&RangeCacheCounters::hits), 1u);
    EXPECT_EQ(rig.put_messages, 0u);
    // Half of it is not here: then the put goes first.
    rig.late_puts = false;
    rig.get(1, 108, 16, seen.data());
    EXPECT_EQ(rig.put_messages, 1u);
    rig.flush(1);
    EXPECT_EQ(seen, std::vector(wanted[1].begin() + 108, wanted[1].begin() + 124));
    // One of other bytes moves nothing.
    put(1, 300, 8);
    rig.get(1, 400, 8, seen.data());
    EXPECT_EQ(rig.put_messages, 1u);
}

TEST_F(WriteCombinerTest, CachedBytesTakeTheirValues) {
    std::vector<unsigned char> seen(64);
    rig.get(1, 0, 64, seen.data());
    rig.flush(1);
    put(1, 8, 8);
    seen.resize(60);
    EXPECT_TRUE(rig.hits(1, 4, 60, seen.data()));  // from 0 on it would be a poll
    EXPECT_EQ(seen, std::vector(wanted[1].begin() + 4, wanted[1].begin() + 64));
    rig.flush(1);
    expect_there(1);
}

TEST_F(WriteCombinerTest, WhatIsLargeGoesAloneAndNothingOlderArrivesAfterIt) {
    put(1, 1000, 8);
    put(1, 3000, 8);
    EXPECT_TRUE(put(1, 0, 2048));
    EXPECT_EQ(rig.put_messages, 1u);
    rig.flush(1);
    EXPECT_EQ(rig.put_messages, 2u);
    expect_there(1);
}

TEST_F(WriteCombinerTest, WhatTheLibraryMayRefuseGoesToIt) {
    EXPECT_FALSE(put(1, memory_bytes - 8, 8));
    std::vector<unsigned char> bytes(16);
    bool started = false;
    rig.put_status = 5;
    EXPECT_EQ(rig.put(1, memory_bytes - 8, 16, bytes.data(), &started), 5);  // beyond the window
    EXPECT_TRUE(started);
    EXPECT_EQ(rig.put(1, ~std::uint64_t{0} - 3, 8, bytes.data(), &started), 5);
    EXPECT_EQ(rig.put(1, 0, 8, nullptr, &started), 5);
    rig.window.locks().change_epochs([](EpochTracker& epochs) { epochs.set_all(Epoch::none); });
    EXPECT_EQ(rig.put(1, 0, 8, bytes.data(), &started), 5);  // outside of an epoch
    EXPECT_EQ(counted(&RangeCacheCounters::puts_combined), 1u);
}

TEST_F(WriteCombinerTest, AnErrorShowsWhenTheyAreSentAndTheCacheForgetsThem) {
    std::vector<unsigned char> seen(8);
    rig.get(1, 0, 8, seen.data());
    rig.flush(1);
    put(1, 0, 8);
    rig.put_status = 9;
    EXPECT_EQ(rig.send_combined(1), 9);
    EXPECT_FALSE(rig.hits(1, 0, 8, seen.data()));
    EXPECT_EQ(rig.send_combined(1), 0);  // it is not tried again
    rig.put_status = 0;
    put(1, 0, 8);
    rig.flush(1);
    expect_there(1);
}

TEST_F(WriteCombinerTest, PiecesOfADatatypeAreCombinedTogether) {
    std::array<unsigned char, 3> bytes{1, 2, 3};
    auto* const from = reinterpret_cast<std::byte*>(bytes.data());
    const std::array<ByteRun, 3> runs{ByteRun{10, 1, from}, ByteRun{5000, 1, from + 1},
                                      ByteRun{11, 1, from + 2}};
    bool started = true;
    EXPECT_EQ(rig.put(1, runs, &started), 0);
    EXPECT_FALSE(started);
    rig.flush(1);
    EXPECT_EQ(rig.put_messages, 2u);
    EXPECT_EQ(rig.memory[1][10], 1);
    EXPECT_EQ(rig.memory[1][11], 3);
    EXPECT_EQ(rig.memory[1][5000], 2);
}

class SmallWriteCombinerTest : public WriteCombinerTest {
  protected:
    SmallWriteCombinerTest() : WriteCombinerTest(settings()) {}
    static Settings settings() {
        Settings s = Rig::settings(Mode::acquire);
        s.combining_buffer_bytes = 8192;  // four pages, and as much under way
        return s;
    }
};

TEST_F(SmallWriteCombinerTest, WhenThereIsNoRoomTheyLeaveEarlier) {
    for (std::uint64_t i = 0; i < 4096; ++i)
        EXPECT_FALSE(put(1 + static_cast<Rank>(i / 64 % 2), 8 * i, 8));
    EXPECT_GT(rig.local_flushes, 0u);  // what was under way had to leave first
    EXPECT_LT(rig.put_messages, 200u);
    EXPECT_EQ(rig.library_flushes, 0u);
    rig.flush_all();
    expect_there(1);
    expect_there(2);
}

TEST_F(SmallWriteCombinerTest, WhereNothingCanBeFlushedTheRestGoesAlone) {
    rig.window.locks().change_epochs([](EpochTracker& epochs) { epochs.set_all(Epoch::active); });
    std::uint64_t alone = 0;
    for (std::uint64_t i = 0; i < 4096; ++i)
        alone += put(1, 8 * ((i * 509) % 4096), 8) ? 1 : 0;
    EXPECT_GT(alone, 0u);
    EXPECT_EQ(rig.local_flushes, 0u);
    rig.flush(1);
    expect_there(1);
}

TEST(WriteCombinerModes, OffAndTransparentCollectNothing) {
    for (const Mode mode : {Mode::off, Mode::transparent}) {
        Rig rig(Rig::settings(mode), 2, 4096);
        rig.window.describe_memory(std::vector<TargetMemory>(2, {.extent_bytes = 4096}));
        unsigned char byte = 1;
        for (int i = 0; i < 1000; ++i)
            rig.put(1, static_cast<std::uint64_t>(i), 1, &byte);
        EXPECT_EQ(rig.put_messages, 1000u);
        EXPECT_EQ(rig.window.counters().puts_combined, 0u);
    }
}

TEST(WriteCombinerModes, WhileTheyAreSentAnErrorHandlerMayAccessOtherTargets) {
    constexpr Rank ranks = 64, combined = 8;
    Rig rig(Rig::settings(Mode::acquire), ranks, 64);
    rig.window.describe_memory(std::vector<TargetMemory>(ranks, {.extent_bytes = 64}));
    unsigned char byte = 1;
    for (Rank target = 0; target < combined; ++target)
        rig.put(target, 0, 1, &byte);
    std::vector<unsigned char> to(1);
    Rank next = combined;
    rig.on_put = [&] {
        for (int i = 0; i < 4; ++i)
            rig.get(next++, 0, 1, to.data());
    };
    EXPECT_EQ(rig.send_combined(all_targets), 0);
    EXPECT_EQ(rig.put_messages, static_cast<std::uint64_t>(combined));
    rig.flush_all();
    for (Rank target = 0; target < combined; ++target)
        EXPECT_EQ(rig.memory[static_cast<std::size_t>(target)][0], byte);
}

/// A window that combines where that pays, in simulated time.
struct WriteCombinerBreakerTest : ::testing::Test {
    WriteCombinerBreakerTest() {
        simulated_ticks = &clock;
        rig.window.describe_memory(std::vector<TargetMemory>(2, {.extent_bytes = 4096}));
    }
    ~WriteCombinerBreakerTest() override { simulated_ticks = nullptr; }
    static Settings settings() {
        Settings free = Rig::settings(Mode::acquire);
        free.bypass = Bypass::on;
        return free;
    }
    /// One for each flush: combining saves nothing.
    void put_and_flush(std::uint64_t times) {
        for (std::uint64_t i = 0; i < times; ++i) {
            rig.put(1, i % 4096, 1, &byte);
            rig.flush(1);
        }
    }

    SimulatedTicks clock{.now = 0, .step = 1000};
    Rig rig{settings(), 2, 4096};
    unsigned char byte = 1;
};

TEST_F(WriteCombinerBreakerTest, PutsAreSentAloneUntilTheirCostIsKnown) {
    for (std::uint64_t i = 0; i < 100; ++i)
        rig.put(1, i, 1, &byte);
    EXPECT_EQ(rig.put_messages, 8u);
    put_and_flush(400);
    bool started = false;
    rig.put(1, 0, 1, &byte, &started);
    EXPECT_TRUE(started);
    // Nothing is combined for this process itself, whose memory is local.
    rig.put(0, 0, 1, &byte, &started);
    EXPECT_TRUE(started);
}

TEST_F(WriteCombinerBreakerTest, OneOf32PutsThatAreSentAloneIsTimed) {
    put_and_flush(2000);
    const std::uint64_t now = clock.now;
    put_and_flush(512);
    // That reads the clock twice; nothing else does.
    EXPECT_GE((clock.now - now) / clock.step, 2 * 512 / 32);
}

}  // namespace
}  // namespace nearfetch

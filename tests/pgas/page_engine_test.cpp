// SPDX-License-Identifier: Apache-2.0
#include "pgas/page_engine.hpp"

#include <gtest/gtest.h>

#include <array>
#include <nearfetch/detail/base/error.hpp>

#include "pgas/direct_engine.hpp"
#include "scripted_transport.hpp"

namespace nearfetch {
namespace {

class PageEngineTest : public ::testing::Test {
  protected:
    static PageCacheConfig config() {
        PageCacheConfig config;
        config.capacity_bytes = 16 << 10;
        config.dirty_pages = 2;
        config.operations = 8;
        return config;
    }
    long get(std::uint64_t address, Rank rank = 1) {
        long value = -1;
        EXPECT_EQ(engine.get(task, rank, address, sizeof value, reinterpret_cast<std::byte*>(&value)), 0);
        return value;
    }
    int put(std::uint64_t address, long value, Rank rank = 1) {
        return engine.put(rank, address, sizeof value, reinterpret_cast<const std::byte*>(&value));
    }
    long there(std::uint64_t address, Rank rank = 1) {
        long value;
        std::memcpy(&value, net.at(rank, address), sizeof value);
        return value;
    }
    void set(std::uint64_t address, long value, Rank rank = 1) {
        std::memcpy(net.at(rank, address), &value, sizeof value);
    }

    testing::ScriptedTransport net{2, 1 << 16};
    PageEngine engine{config(), net};
    TaskClock task;
};

TEST_F(PageEngineTest, AGetFetchesALineAndItsNeighboursHit) {
    set(64, 7);
    set(72, 8);
    EXPECT_EQ(get(64), 7);
    EXPECT_EQ(get(72), 8);
    EXPECT_EQ(net.gets, 1);
    EXPECT_EQ(engine.cache().counters().hits, 1u);
}

TEST_F(PageEngineTest, PutsAreCollectedAndLeaveAtTheRelease) {
    for (long i = 0; i < 100; ++i)
        EXPECT_EQ(put(static_cast<std::uint64_t>(8 * i), i), 0);
    EXPECT_EQ(net.puts, 0);
    EXPECT_EQ(get(8), 1) << "a process sees its own writes";
    EXPECT_EQ(engine.release(), 0);
    EXPECT_EQ(net.puts, 1);
    EXPECT_EQ(there(8 * 99), 99);
}

TEST_F(PageEngineTest, AnAcquireFetchesAnew) {
    EXPECT_EQ(get(0), 0);
    set(0, 5);
    EXPECT_EQ(get(0), 0) << "nothing was acquired";
    engine.acquire(task);
    EXPECT_EQ(get(0), 5);
    set(0, 6);
    engine.acquire(1, {0, 8});
    EXPECT_EQ(get(0), 6);
}

TEST_F(PageEngineTest, PrefetchedBytesNeedNoFurtherMessage) {
    set(4096, 3);
    engine.prefetch(task, 1, 4096, 8);
    EXPECT_EQ(net.gets, 1);
    EXPECT_EQ(net.waits, 0);
    EXPECT_EQ(get(4096), 3);
    EXPECT_EQ(net.gets, 1);
    engine.prefetch(task, 1, (1 << 16) - 8, 4096);  // clipped to the addressable memory
    EXPECT_EQ(get((1 << 16) - 8), 0);
    engine.prefetch(task, 1, 1 << 20, 8);
    engine.prefetch(task, 9, 0, 8);
    EXPECT_EQ(net.gets, 2);
}

TEST_F(PageEngineTest, OutsideOfTheSegmentIsAStatus) {
    std::array<std::byte, 16> bytes;
    EXPECT_EQ(engine.get(task, 1, (1 << 16) - 8, 16, bytes.data()), transport_status::outside);
    EXPECT_EQ(engine.put(1, (1 << 16) - 8, 16, bytes.data()), transport_status::outside);
    EXPECT_EQ(engine.get(task, 5, 0, 16, bytes.data()), transport_status::outside);
    EXPECT_EQ(net.gets + net.puts, 0);
}

TEST_F(PageEngineTest, PendingGetsOverlap) {
    std::array<std::vector<std::byte>, 3> to;
    set(0, 1);
    set(8192, 2);
    set(16384, 3);
    {
        std::vector<std::unique_ptr<PageEngine::Get>> gets;
        for (std::size_t i = 0; i < to.size(); ++i) {
            to[i].resize(4096);
            gets.push_back(std::make_unique<PageEngine::Get>(
                engine, task, engine.get_request(1, 8192 * i, 4096, to[i].data())));
            EXPECT_FALSE(gets.back()->test());
        }
        EXPECT_EQ(net.under_way(), 3u);
        net.newest_first = true;
        EXPECT_EQ(gets[1]->wait(), 0);
        EXPECT_EQ(gets[0]->wait(), 0);
    }
    for (std::size_t i = 0; i < to.size(); ++i)
        EXPECT_EQ(to[i][0], static_cast<std::byte>(i + 1));
}

TEST_F(PageEngineTest, ARefusedGetIsItsStatusAndNothingIsKept) {
    net.refuse_gets = 42;
    long value;
    EXPECT_EQ(engine.get(task, 1, 0, 8, reinterpret_cast<std::byte*>(&value)), 42);
    net.refuse_gets = 0;
    set(0, 9);
    EXPECT_EQ(get(0), 9);
}

TEST_F(PageEngineTest, AReleaseThatFailsLosesNothing) {
    for (const bool at_start : {true, false}) {
        SCOPED_TRACE(at_start);
        (at_start ? net.refuse_puts : net.fail_puts) = 13;
        EXPECT_EQ(put(0, 1), 0);
        EXPECT_EQ(put(4096, 2), 0);
        EXPECT_EQ(engine.release(), 13);
        EXPECT_EQ(engine.release(), 13) << "it is still there to be tried";
        // While the PUT is outstanding, the bytes can be read only after it.
        long value = 0;
        EXPECT_EQ(engine.get(task, 1, 4096, 8, reinterpret_cast<std::byte*>(&value)), 13);
        EXPECT_EQ(value, 0);
        net.refuse_puts = net.fail_puts = 0;
        EXPECT_EQ(engine.release(), 0);
        EXPECT_EQ(there(0), 1);
        EXPECT_EQ(there(4096), 2);
        set(0, 0);
        set(4096, 0);
        engine.acquire(task);
    }
}

TEST_F(PageEngineTest, PutsOverATransportThatFailsEndWithItsStatus) {
    net.fail_puts = 13;
    int status = 0;
    std::uint64_t written = 0;
    for (; status == 0 && written < 64; ++written)
        status = put(1024 * written, static_cast<long>(written) + 1);
    EXPECT_EQ(status, 13) << "all operations hold bytes that could not be written";
    net.fail_puts = 0;
    EXPECT_EQ(engine.release(), 0);
    for (std::uint64_t i = 0; i + 1 < written; ++i)
        EXPECT_EQ(there(1024 * i), static_cast<long>(i) + 1);
}

TEST_F(PageEngineTest, AnotherTaskMayUseTheCacheWhileOneWaits) {
    TaskClock other;
    set(0, 1);
    set(8, 2);
    set(8192, 3);
    long same_line = 0, elsewhere = 0;
    net.while_waiting = [&] {
        EXPECT_EQ(engine.get(other, 1, 8, 8, reinterpret_cast<std::byte*>(&same_line)), 0);
        EXPECT_EQ(engine.get(other, 1, 8192, 8, reinterpret_cast<std::byte*>(&elsewhere)), 0);
        EXPECT_EQ(engine.release(), 0);
    };
    EXPECT_EQ(put(16384, 4), 0);
    EXPECT_EQ(get(0), 1);
    EXPECT_EQ(same_line, 2);
    EXPECT_EQ(elsewhere, 3);
    EXPECT_EQ(there(16384), 4);
    EXPECT_EQ(net.gets, 2);
    EXPECT_EQ(net.under_way(), 0u);
}

TEST_F(PageEngineTest, ItsEndWaitsForWhatIsUnderWay) {
    {
        PageEngine brief(config(), net);
        brief.prefetch(task, 1, 0, 8);
        EXPECT_EQ(net.under_way(), 1u);
    }
    EXPECT_EQ(net.under_way(), 0u);
}

TEST_F(PageEngineTest, BadSettingsAreErrors) {
    PageCacheConfig bad = config();
    bad.line_bytes = 48;
    EXPECT_THROW(PageEngine(bad, net), Error);
}

TEST(DirectEngine, EveryGetAndPutIsAMessage) {
    testing::ScriptedTransport net(2, 4096);
    DirectEngine engine(net);
    long value = 5;
    EXPECT_EQ(DirectEngine::Pending(engine, 1, 8, 8, reinterpret_cast<const std::byte*>(&value)).wait(), 0);
    for (int i = 0; i < 3; ++i) {
        long read = 0;
        EXPECT_EQ(DirectEngine::Pending(engine, 1, 8, 8, reinterpret_cast<std::byte*>(&read)).wait(), 0);
        EXPECT_EQ(read, 5);
    }
    net.refuse_gets = 3;
    EXPECT_EQ(DirectEngine::Pending(engine, 1, 8, 8, reinterpret_cast<std::byte*>(&value)).wait(), 3);
    EXPECT_EQ(engine.counters().get_messages, 4u);
    EXPECT_EQ(engine.counters().put_message_bytes, 8u);
}

}  // namespace
}  // namespace nearfetch

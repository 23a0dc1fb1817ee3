// SPDX-License-Identifier: Apache-2.0
//
// What processes of one node share: the rules of docs/node-level.md by hand.

#include <gtest/gtest.h>

#include <barrier>
#include <memory>
#include <random>
#include <thread>

#include "replay/own_node_buffer.hpp"
#include "rig.hpp"

namespace nearfetch {
namespace {

using testing::Rig;
using Buffer = std::vector<unsigned char>;

constexpr std::size_t memory_bytes = 1 << 16;

/// A process with a window of three ranks. Rank 2 is of its own node.
struct Process {
    Process(const NodeBuffer& buffer, const Settings& settings)
        : rig(settings, 3, memory_bytes, false, state) {
        std::vector<TargetMemory> memory(3, {.extent_bytes = memory_bytes});
        memory[0].is_on_this_node = memory[2].is_on_this_node = true;
        rig.window.describe_memory(memory);
        rig.window.open_node_level(buffer);
    }

    Buffer read(Rank target, std::uint64_t offset, std::uint64_t size) {
        Buffer to(size, 0xee);
        EXPECT_EQ(rig.get(target, offset, size, to.data()), 0);
        rig.flush(target);
        return to;
    }
    /// Whether the network is asked, for what the memory has.
    bool fetches(Rank target, std::uint64_t offset, std::uint64_t size) {
        const std::uint64_t before = rig.messages;
        EXPECT_EQ(read(target, offset, size), there(target, offset, size));
        return rig.messages != before;
    }
    Buffer there(Rank target, std::uint64_t offset, std::uint64_t size) const {
        const auto begin =
            rig.memory[static_cast<std::size_t>(target)].begin() + static_cast<std::ptrdiff_t>(offset);
        return {begin, begin + static_cast<std::ptrdiff_t>(size)};
    }
    void acquire() { state.acquires.acquire(); }
    RangeCacheCounters counters() const { return rig.window.counters(); }

    ProcessState state;
    Rig rig;
};

Settings settings_of(Mode mode) {
    Settings settings = Rig::settings(mode);
    settings.read_ahead_bytes = 0;
    return settings;
}

/// Two processes of a node. Each has a copy of the targets' memory, as if the network read the same.
struct NodeLevelTest : ::testing::Test {
    static constexpr std::uint64_t record_bytes = 4 << 20;

    NodeLevelTest() { make(settings_of(Mode::acquire)); }
    void make(const Settings& settings) {
        const NodeBuffer buffer = shared.buffer();
        one = std::make_unique<Process>(buffer, settings);
        other = std::make_unique<Process>(buffer, settings);
        for (std::size_t i = 0; i < 3 * memory_bytes; ++i)
            write(static_cast<Rank>(i / memory_bytes), i % memory_bytes, static_cast<unsigned char>(i * 7));
    }
    /// A third process writes.
    void write(Rank target, std::size_t offset, unsigned char value) {
        for (Process* process : {one.get(), other.get()})
            process->rig.memory[static_cast<std::size_t>(target)][offset] = value;
    }

    OwnNodeBuffer shared{record_bytes};
    std::unique_ptr<Process> one, other;
};

TEST_F(NodeLevelTest, WhatOneHasFetchedServesTheOther) {
    EXPECT_TRUE(one->fetches(1, 64, 200));
    EXPECT_FALSE(other->fetches(1, 64, 200));
    EXPECT_FALSE(other->fetches(1, 64, 100));
    EXPECT_TRUE(other->fetches(1, 300, 8));
    EXPECT_FALSE(one->fetches(1, 300, 8));
    const RangeCacheCounters counted = other->counters();
    EXPECT_EQ(counted.node_hits, 1u);
    EXPECT_EQ(counted.bytes_from_node, 200u);
    EXPECT_EQ(counted.node_offers, 1u);
    // It is in the other one's own cache now.
    EXPECT_EQ(counted.hits, 2u);
    EXPECT_EQ(counted.gets, 3u);
    EXPECT_EQ(counted.node_lookups, 2u);
}

TEST_F(NodeLevelTest, NothingIsFoundBeforeItsGetIsComplete) {
    Buffer to(64);
    one->rig.get(1, 0, 64, to.data());
    EXPECT_TRUE(other->fetches(1, 0, 64));
}

/// One process is fetching what the other one wants, who waits.
struct WaitingTest : NodeLevelTest {
    static constexpr std::uint64_t size = 64;

    WaitingTest() {
        other->rig.while_waiting = [this] { return ++moments < 1000; };
    }
    void start(std::uint64_t offset) { one->rig.get(1, offset, size, to.data()); }
    /// Whether the other one waits for what is being fetched. The machine may be too slow for it, at times.
    bool waits() {
        for (std::uint64_t offset = 0; offset < 100 * size && moments == 0; offset += size) {
            start(offset);
            last = offset;
            fetched = other->fetches(1, offset, size);
            one->rig.flush(1);
        }
        return moments != 0;
    }

    Buffer to = Buffer(size);
    std::uint64_t moments = 0, last = 0;
    bool fetched = true;
};

TEST_F(WaitingTest, WhatIsBeingFetchedIsWaitedFor) {
    other->rig.while_waiting = [this] {
        one->rig.flush(1);
        return ++moments != 0;
    };
    EXPECT_TRUE(waits());
    EXPECT_FALSE(fetched);
    EXPECT_EQ(moments, 1u);
    EXPECT_EQ(other->counters().node_hits, 1u);
}

TEST_F(WaitingTest, AfterAWaitThatBringsNothingAProcessFetchesAndBacksOff) {
    EXPECT_TRUE(waits());
    EXPECT_TRUE(fetched);
    const std::uint64_t waited = moments;
    start(last + size);
    EXPECT_TRUE(other->fetches(1, last + size, size));
    EXPECT_EQ(moments, waited);
}

TEST_F(WaitingTest, NobodyWaitsForWhatWasIssuedBeforeItsAcquire) {
    start(0);
    other->acquire();
    EXPECT_TRUE(other->fetches(1, 0, size));
    EXPECT_EQ(moments, 0u);
}

TEST_F(WaitingTest, NobodyWaitsWhileSomethingElseIsOnItsWay) {
    Buffer beside(size);
    for (std::uint64_t offset = 0; offset < 100 * size; offset += size) {
        start(offset);
        other->rig.get(1, 1 << 15, size, beside.data());
        EXPECT_TRUE(other->fetches(1, offset, size));
        other->acquire();
    }
    EXPECT_EQ(moments, 0u);
}

TEST_F(WaitingTest, NobodyWaitsForWhatIsNotGoingToBeOffered) {
    for (std::uint64_t offset = 0; offset < 100 * size; offset += size) {
        unsigned char value = 1;
        one->rig.put(1, offset, 1, &value);
        start(offset);
        EXPECT_TRUE(other->fetches(1, offset, size));
    }
    EXPECT_EQ(moments, 0u);
}

TEST_F(WaitingTest, NobodyWaitsForWhatIsTooLargeToBeOffered) {
    constexpr std::uint64_t large = record_bytes / 64 / 4;
    Buffer all(large);
    for (int i = 0; i < 100; ++i) {
        one->rig.get(1, 0, large, all.data());
        EXPECT_TRUE(other->fetches(1, 0, large));
        one->rig.flush(1);
        one->acquire();
        other->acquire();
    }
    EXPECT_EQ(moments, 0u);
}

/// A process whose own cache is too small for a get.
struct SmallCacheTest : NodeLevelTest {
    static constexpr std::uint64_t size = 8192;

    SmallCacheTest() {
        Settings settings = settings_of(Mode::acquire);
        settings.buffer_bytes = 4096;
        make(settings);
    }
};

TEST_F(SmallCacheTest, WhatItHasNoRoomForServesTheOther) {
    EXPECT_TRUE(one->fetches(1, 0, size));
    EXPECT_TRUE(one->counters().failing == 1 && one->counters().node_offers == 1);
    EXPECT_FALSE(other->fetches(1, 0, size));
    one->fetches(1, size, 8);
    EXPECT_FALSE(one->fetches(1, 0, size)) << "what it has offered itself serves it, too";
}

TEST_F(SmallCacheTest, TheSameGetAgainIsNoAcquire) {
    one->fetches(1, 0, size);
    one->fetches(1, size, 8);
    EXPECT_FALSE(other->fetches(1, 0, size));
    EXPECT_TRUE(other->fetches(1, 0, size)) << "a poll, and the bytes are the same";
    EXPECT_FALSE(other->fetches(1, size, 8));
}

TEST_F(SmallCacheTest, WhatAPutOvertakesIsNotOffered) {
    Buffer to(size);
    unsigned char value = 200;
    one->rig.get(1, 0, size, to.data());
    one->rig.put(1, 8, 1, &value);
    one->rig.flush(1);
    EXPECT_EQ(one->counters().node_offers, 0u);
}

TEST_F(SmallCacheTest, WhatComesToTheSameOriginIsNotOffered) {
    Buffer to(2 * size);
    one->rig.get(1, 0, size, to.data());
    one->rig.get(2, 0, size, to.data() + 100);  // of its own node
    one->rig.flush(2);
    one->rig.flush(1);
    EXPECT_TRUE(other->fetches(1, 0, size));
}

TEST_F(SmallCacheTest, WhatFailsIsNotOffered) {
    Buffer to(size);
    one->rig.get(1, 0, size, to.data());
    one->rig.window.completions().complete(1, one->rig.window.completions().now(), FlushKind::full, 1, 0);
    one->rig.flush(1);
    EXPECT_EQ(one->counters().node_offers, 0u);
}

TEST_F(NodeLevelTest, AfterAnAcquireNothingServesThatWasIssuedBefore) {
    one->fetches(1, 0, 64);
    write(1, 0, 99);
    other->acquire();
    EXPECT_TRUE(other->fetches(1, 0, 64));
    // What it has fetched then may serve the first one, whose last acquire is older.
    one->acquire();
    write(1, 100, 98);
    EXPECT_TRUE(one->fetches(1, 100, 8));
    EXPECT_FALSE(other->fetches(1, 100, 8));
}

TEST_F(NodeLevelTest, WhatWasIssuedBeforeAnAcquireAndCompletedAfterItServesNobody) {
    Buffer to(64);
    one->rig.get(1, 0, 64, to.data());
    one->rig.arrive(1);
    write(1, 0, 99);
    other->acquire();
    one->rig.flush(1);
    EXPECT_TRUE(other->fetches(1, 0, 64));
}

TEST_F(NodeLevelTest, AnAcquireOfTheOtherProcessTakesNothingAway) {
    one->fetches(1, 0, 64);
    one->acquire();
    one->fetches(1, 64, 64);
    EXPECT_FALSE(other->fetches(1, 0, 64));
}

TEST_F(NodeLevelTest, AProcessSeesItsOwnPuts) {
    one->fetches(1, 0, 64);
    one->fetches(1, 64, 64);
    one->fetches(1, 512, 8);
    unsigned char value[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    other->rig.put(1, 8, 8, value);
    EXPECT_TRUE(other->fetches(1, 64, 64));  // nothing of that target while a put is under way
    other->rig.flush(1);
    for (std::size_t i = 0; i < 8; ++i)
        write(1, 8 + i, value[i]);
    EXPECT_TRUE(other->fetches(1, 0, 64));
    EXPECT_TRUE(other->fetches(1, 512, 8));
}

TEST_F(NodeLevelTest, AProcessSeesItsPutsToATargetThatItHasNotRead) {
    Settings settings = settings_of(Mode::acquire);
    settings.write_combining_bytes = 0;
    make(settings);
    unsigned char value[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    other->rig.put(1, 8, 8, value);
    one->fetches(1, 0, 64);  // before the put is there
    other->rig.flush(1);
    EXPECT_TRUE(other->fetches(1, 0, 64));
}

TEST_F(NodeLevelTest, WhatAPutOvertakesIsNotOffered) {
    Buffer to(64);
    unsigned char value = 200;
    one->rig.get(1, 0, 64, to.data());
    one->rig.put(1, 8, 1, &value);
    one->rig.flush(1);
    EXPECT_EQ(one->counters().node_offers, 0u);
    // Nor is what is fetched while the put is under way.
    one->rig.late_puts = true;
    one->rig.put(1, 80, 1, &value);
    one->rig.get(1, 64, 64, to.data());
    one->rig.flush(1);
    EXPECT_EQ(one->counters().node_offers, 0u);
}

TEST_F(NodeLevelTest, APollGoesToTheTarget) {
    one->fetches(1, 0, 8);
    EXPECT_FALSE(other->fetches(1, 0, 8));
    write(1, 0, 99);
    EXPECT_TRUE(other->fetches(1, 0, 8));  // the same get again
}

TEST_F(NodeLevelTest, TargetsOfTheSameNodeAreLeftOut) {
    one->fetches(2, 0, 64);
    EXPECT_TRUE(other->fetches(2, 0, 64));
    EXPECT_EQ(one->counters().node_offers, 0u);
    EXPECT_EQ(other->counters().node_lookups, 0u);
}

TEST_F(NodeLevelTest, AModeThatKeepsNothingSharesNothing) {
    for (const Mode mode : {Mode::off, Mode::transparent}) {
        make(settings_of(mode));
        one->fetches(1, 0, 64);
        EXPECT_TRUE(other->fetches(1, 0, 64));
        EXPECT_EQ(one->counters().node_offers, 0u);
        EXPECT_EQ(other->counters().node_lookups, 0u);
    }
}

TEST_F(NodeLevelTest, InModeUserDefinedAnInvalidationCounts) {
    make(settings_of(Mode::user_defined));
    one->fetches(1, 0, 64);
    EXPECT_FALSE(other->fetches(1, 0, 64));
    one->fetches(1, 64, 64);
    write(1, 64, 99);
    other->rig.window.acquire();
    EXPECT_TRUE(other->fetches(1, 64, 64));
}

TEST_F(NodeLevelTest, PartsOfAGetAreFoundEach) {
    one->fetches(1, 0, 64);
    one->fetches(1, 128, 64);
    EXPECT_TRUE(other->fetches(1, 64, 64));
    EXPECT_TRUE(other->fetches(1, 96, 200));  // what is missing of it begins elsewhere
    Buffer to(128);
    const ByteRun runs[] = {{0, 64, reinterpret_cast<std::byte*>(to.data())},
                            {128, 64, reinterpret_cast<std::byte*>(to.data()) + 64}};
    const std::uint64_t before = other->rig.messages;
    other->rig.get(1, runs);
    EXPECT_EQ(other->rig.messages, before);
    EXPECT_EQ(other->rig.begun, Begun::from_node);
    EXPECT_EQ(Buffer(to.begin(), to.begin() + 64), other->there(1, 0, 64));
    EXPECT_EQ(Buffer(to.begin() + 64, to.end()), other->there(1, 128, 64));
}

TEST_F(NodeLevelTest, AStaleHitSaysWhetherAnotherProcessHadFetchedIt) {
    Settings settings = settings_of(Mode::always_cache);
    settings.check_hits = 1;
    make(settings);
    std::vector<bool> from_node;
    other->rig.on_stale_hit = [&](const StaleHit& stale) { from_node.push_back(stale.from_node); };
    one->fetches(1, 0, 64);
    write(1, 8, 99);
    other->read(1, 0, 64);
    EXPECT_EQ(from_node, std::vector{true});
    other->read(1, 0, 64);
    EXPECT_EQ(from_node, (std::vector{true, false})) << "it is in its own cache now";
    EXPECT_EQ(other->counters().stale_hits, 2u);
}

TEST_F(NodeLevelTest, RegionsThatAreReadAheadAreShared) {
    Settings settings = settings_of(Mode::acquire);
    settings.read_ahead_bytes = 4096;
    make(settings);
    for (std::uint64_t i = 0; i < 8; ++i)
        one->fetches(1, 8 * i, 8);
    const std::uint64_t messages = one->rig.messages;
    for (std::uint64_t i = 0; i < 8; ++i)
        EXPECT_FALSE(other->fetches(1, 8 * i, 8));
    // The first get of a region comes alone, and the second one with the rest of it.
    EXPECT_EQ(messages, 2u);
    EXPECT_EQ(other->rig.messages, 0u);
    // The first alone, the second in its region, the third with all of that.
    EXPECT_EQ(other->counters().node_hits, 3u);
}

TEST_F(NodeLevelTest, WhereNothingIsFoundItIsSoonNotAsked) {
    const std::uint64_t gets = 4000;
    for (std::uint64_t i = 0; i < gets; ++i)
        one->read(1, i * 8, 8);
    EXPECT_LT(one->counters().node_lookups, 4 * 256u);
    EXPECT_LT(one->counters().node_offers, 4 * 256u);
}

/// In each phase a third process has written, and all have acquired since. While they read what the others
/// offer, each finds what is there since then.
TEST(NodeLevelThreads, ThreadsThatStandForProcessesFindWhatIsThereSinceTheirAcquire) {
    constexpr std::ptrdiff_t count = 3;
    constexpr int phases = 50, gets = 500;
    const OwnNodeBuffer shared(1 << 17);  // overwritten in each phase
    std::vector<std::unique_ptr<Process>> processes;
    for (std::ptrdiff_t i = 0; i < count; ++i) {
        processes.push_back(std::make_unique<Process>(shared.buffer(), settings_of(Mode::acquire)));
        processes.back()->rig.network_ticks = 1'000'000;  // that sharing pays
    }
    unsigned char phase = 0;
    std::barrier all_have_acquired(count);
    std::barrier written(count, [&]() noexcept {
        ++phase;
        for (const auto& process : processes)
            for (std::size_t i = 0; i < memory_bytes; ++i)
                process->rig.memory[1][i] = static_cast<unsigned char>(i * 7 + phase);
    });
    std::vector<std::jthread> threads;
    for (const auto& process : processes)
        threads.emplace_back([&, own = process.get(), seed = threads.size()] {
            std::mt19937_64 random(seed);
            for (int i = 0; i < phases * gets; ++i) {
                if (i % gets == 0) {
                    written.arrive_and_wait();
                    own->acquire();
                    all_have_acquired.arrive_and_wait();
                }
                own->fetches(1, random() % 128 * 64, 1 + random() % 300);
            }
        });
    threads.clear();
    std::uint64_t hits = 0;
    for (const auto& process : processes)
        hits += process->counters().node_hits;
    EXPECT_GT(hits, 50u) << "who is always the first finds nothing, and soon does not look";
}

}  // namespace
}  // namespace nearfetch

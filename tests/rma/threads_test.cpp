// SPDX-License-Identifier: Apache-2.0

// Several threads on one window (MPI_THREAD_MULTIPLE). Run under TSan this is also a search for data races.
// The network is a lock-protected copy at the start of each transfer: what a real one may do at the earliest.

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include "rig.hpp"
#include "rma/window_cache.hpp"

namespace nearfetch {
namespace {

constexpr std::size_t memory_bytes = 16384;
constexpr int thread_count = 4;

class Starter final : public GetStarter {
  public:
    Starter(const std::vector<unsigned char>& memory, std::span<const ByteRun> whole)
        : memory_(memory), whole_(whole) {}
    int start_whole() override { return start_runs(whole_); }
    int start_runs(std::span<const ByteRun> runs) override {
        for (const ByteRun& p : runs)
            std::memcpy(p.origin, memory_.data() + p.offset, p.size);
        return 0;
    }

  private:
    const std::vector<unsigned char>& memory_;
    std::span<const ByteRun> whole_;
};

/// What is put is what is there already.
class Network final : public WindowTransfers, public WindowListener {
  public:
    explicit Network(const std::vector<unsigned char>& memory) : memory_(memory) {}
    int start_get(Rank, std::span<const ByteRun> runs) override {
        for (const ByteRun& p : runs)
            std::memcpy(p.origin, memory_.data() + p.offset, p.size);
        return 0;
    }
    int start_put(Rank, std::span<const ByteRun> runs) override {
        for (const ByteRun& p : runs) {
            EXPECT_EQ(std::memcmp(p.origin, memory_.data() + p.offset, p.size), 0);
            bytes_put.fetch_add(p.size, std::memory_order_relaxed);
        }
        return 0;
    }
    int flush_local(Rank) override { return 0; }
    void progress() override {}

    std::atomic<std::uint64_t> bytes_put{0};

  private:
    const std::vector<unsigned char>& memory_;
};

struct Program {
    WindowCache& window;
    Network& network;
    const std::vector<unsigned char>& memory;
    std::atomic<std::uint64_t>& gets;
    bool read_only = false;

    void operator()(std::uint64_t seed) const {
        std::mt19937_64 random(seed);
        std::vector<unsigned char> buffer(2048);
        for (int round = 0; round < 3000; ++round) {
            const std::uint64_t size = 1 + random() % 512;
            const std::uint64_t offset = random() % (memory_bytes - 512);
            const ByteRun run{offset, size, reinterpret_cast<std::byte*>(buffer.data())};
            const auto target = static_cast<Rank>(1 + random() % 2);
            const RangeGet get{target, offset, size, run.origin};
            if (window.gets().try_get(get) != Served::hit) {
                Starter starter(memory, {&run, 1});
                Begun begun{};
                ASSERT_EQ(window.gets().get({target, {&run, 1}, size, 0}, starter, begun), 0);
            }
            gets.fetch_add(1, std::memory_order_relaxed);
            complete(target, random());
            ASSERT_EQ(std::memcmp(buffer.data(), memory.data() + offset, size), 0) << "seed " << seed;
            if (random() % 4 == 0 && !read_only) {
                testing::PutWhole starter(network, target, {&run, 1});
                ASSERT_EQ(window.updates().put(target, {&run, 1}, starter, true), 0);
            }
            if (random() % 64 == 0 && !read_only) {
                ASSERT_EQ(window.updates().send_combined(target), 0);
                window.updates().update_started(target, {&run, 1});
            }
            if (random() % 128 == 0) window.acquire();
            if (random() % 256 == 0) window.counters();
            if (random() % 16 == 0) window.progress().request_served();
        }
    }

    void complete(Rank target, std::uint64_t choice) const {
        if (choice % 4 == 0) {
            if (window.completions().flush_all(FlushKind::full) != Flush::needed) return;
            const Moment since = window.completions().now();
            ASSERT_EQ(window.updates().send_combined(all_targets), 0);
            window.completions().complete_all(since, FlushKind::full, 0, 0);
        } else {
            const Flush flush = window.completions().flush(target, FlushKind::full);
            if (choice % 8 == 1) std::this_thread::yield();  // to what others start meanwhile
            const Moment since = window.completions().now();
            ASSERT_EQ(window.updates().send_combined(target), 0);
            if (flush == Flush::needed) window.completions().complete(target, since, FlushKind::full, 0, 0);
            if (flush == Flush::needed_bypassed)
                window.completions().complete_bypassed_flush(target, since, FlushKind::full);
        }
    }
};

class RmaThreads : public ::testing::TestWithParam<Mode> {};

Settings small_cache(Mode mode) {
    Settings s;
    s.mode = mode;
    s.buffer_bytes = 8192;
    s.index_entries = 64;
    s.bypass = Bypass::off;
    return s;
}

/// Runs the threads on a window of these settings; what it counted.
RangeCacheCounters run(const Settings& settings, bool read_only) {
    std::vector<unsigned char> memory(memory_bytes);
    std::mt19937_64 random(5);
    for (auto& b : memory)
        b = static_cast<unsigned char>(random());
    Network network(memory);
    ProcessState process;
    WindowCache window(settings, 3, 0, true, process, network, network);
    window.locks().change_epochs([](EpochTracker& epochs) { epochs.set_all(Epoch::passive); });
    window.describe_memory(std::array<TargetMemory, 3>{
        {{.extent_bytes = memory_bytes}, {.extent_bytes = memory_bytes}, {.extent_bytes = memory_bytes}}});
    std::atomic<std::uint64_t> gets{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < thread_count; ++t)
        threads.emplace_back(Program{window, network, memory, gets, read_only}, t + 1);
    for (auto& t : threads)
        t.join();
    EXPECT_EQ(window.counters().gets, gets.load());
    return window.counters();
}

TEST_P(RmaThreads, EveryThreadSeesTheMemory) { run(small_cache(GetParam()), false); }

TEST(RmaThreadsWriteCombiner, PutsOfAllThreadsLeaveTogether) {
    Settings s = small_cache(Mode::acquire);
    s.combining_buffer_bytes = 8192;
    const RangeCacheCounters c = run(s, false);
    EXPECT_GT(c.puts_combined, 100u);
    EXPECT_GT(c.put_messages, 0u);
}

TEST(RmaThreadsReadOnly, ReadAhead) {
    Settings s = small_cache(Mode::always_cache);
    s.read_ahead_bytes = 2048;
    EXPECT_GT(run(s, true).read_aheads, 0u);
}

TEST_P(RmaThreads, BreakersThatOpenAndClose) {
    Settings s = small_cache(GetParam());
    s.bypass = Bypass::on;
    EXPECT_GT(run(s, false).bypassed, 0u);
}

INSTANTIATE_TEST_SUITE_P(Modes, RmaThreads,
                         ::testing::Values(Mode::off, Mode::transparent, Mode::always_cache,
                                           Mode::user_defined));

}  // namespace
}  // namespace nearfetch

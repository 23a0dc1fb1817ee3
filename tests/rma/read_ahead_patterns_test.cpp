// SPDX-License-Identifier: Apache-2.0
//
// Whether reading ahead helps programs that read remote memory in different ways, in simulated time: so what
// they take is the same in each run. A get that goes to the network takes 15 us and a ns for each byte.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "base/ticks.hpp"
#include "rig.hpp"

namespace nearfetch {
namespace {

using testing::Rig;

constexpr std::uint64_t mebibyte = 1 << 20;
constexpr std::uint64_t latency_ns = 15000;

struct Access {
    std::uint64_t offset;
    std::uint64_t size;
};

struct Program {
    std::uint64_t memory_bytes;
    std::uint64_t buffer_bytes;
    std::vector<Access> gets;
    std::size_t gets_to_acquire = 0;  ///< 0: there is none
};

/// How many times faster than without a cache.
double speed_up(const Program& program, std::uint64_t read_ahead_bytes) {
    SimulatedTicks clock{1, 5};
    simulated_ticks = &clock;
    Settings settings;
    settings.mode = Mode::acquire;
    settings.adaptive = false;
    settings.buffer_bytes = program.buffer_bytes;
    settings.read_ahead_bytes = read_ahead_bytes;
    Rig rig(settings, 2, program.memory_bytes);
    rig.window.describe_memory(std::vector<TargetMemory>(2, {.extent_bytes = program.memory_bytes}));
    rig.window.completions().complete_all(rig.window.completions().now(), FlushKind::full, 0, 0);
    std::vector<unsigned char> to(mebibyte);
    std::uint64_t plain_ns = 0;
    const std::uint64_t begin_ns = clock.now;
    for (std::size_t i = 0; i < program.gets.size(); ++i) {
        const auto [offset, size] = program.gets[i];
        const std::uint64_t messages = rig.messages, bytes = rig.bytes;
        rig.get(1, offset, size, to.data());
        rig.network_ticks = (rig.messages - messages) * latency_ns + rig.bytes - bytes;
        clock.now += rig.network_ticks;
        rig.flush(1);
        plain_ns += latency_ns + size;
        if (program.gets_to_acquire != 0 && (i + 1) % program.gets_to_acquire == 0) rig.window.acquire();
    }
    simulated_ticks = nullptr;
    return static_cast<double>(plain_ns) / static_cast<double>(clock.now - begin_ns);
}

class Draws {
  public:
    std::uint64_t below(std::uint64_t count) { return random_() % count; }
    /// By Zipf's law; which are the popular ones is random, too.
    std::vector<std::uint64_t> popular(std::uint64_t count, double exponent, std::size_t draws) {
        std::vector<std::uint64_t> which(count);
        std::vector<double> sums(count);
        double sum = 0;
        for (std::uint64_t i = 0; i < count; ++i) {
            which[i] = i;
            std::swap(which[i], which[below(i + 1)]);
            sums[i] = sum += std::pow(static_cast<double>(i + 1), -exponent);
        }
        std::vector<std::uint64_t> drawn(draws);
        for (std::uint64_t& each : drawn) {
            const double at = static_cast<double>(random_() >> 11) * 0x1p-53 * sum;
            each = which[static_cast<std::size_t>(std::upper_bound(sums.begin(), sums.end(), at) -
                                                  sums.begin())];
        }
        return drawn;
    }

  private:
    std::mt19937_64 random_{1};
};

Program anywhere(std::uint64_t memory_bytes, std::uint64_t buffer_bytes, std::size_t gets_to_acquire) {
    Program program{memory_bytes, buffer_bytes, {}, gets_to_acquire};
    Draws draw;
    for (int i = 0; i < 100'000; ++i)
        program.gets.push_back({draw.below(memory_bytes / 8) * 8, 8});
    return program;
}

Program popular_items(std::uint64_t memory_bytes, std::uint64_t size) {
    Program program{memory_bytes, memory_bytes / 8, {}};
    for (const std::uint64_t item : Draws().popular(memory_bytes / size, 1.0, 200'000))
        program.gets.push_back({item * size, size});
    return program;
}

TEST(ReadAheadPatterns, MemoryThatFitsComesInTwoMessagesForEachBlock) {
    EXPECT_GT(speed_up(anywhere(mebibyte, 4 * mebibyte, 0), 4096), 150);
}

// Each is long enough for a block or part of it, and never comes again: a full cache has to let it in.
TEST(ReadAheadPatterns, RunsThatAreReadOnce) {
    Program program{32 * mebibyte, mebibyte, {}};
    Draws draw;
    for (int run = 0; run < 3000; ++run) {
        const std::uint64_t first = draw.below(program.memory_bytes / 8 - 64);
        for (std::uint64_t i = 0; i < 64; ++i)
            program.gets.push_back({(first + i) * 8, 8});
    }
    EXPECT_GT(speed_up(program, 4096), 20);
}

// Four gets or so for each block between two acquires; and none or one, which reading ahead cannot help.
TEST(ReadAheadPatterns, MemoryThatGoesStale) {
    EXPECT_GT(speed_up(anywhere(mebibyte, 4 * mebibyte, 1000), 4096), 2);
    EXPECT_GT(speed_up(anywhere(mebibyte, 4 * mebibyte, 100), 4096), 0.99);
}

TEST(ReadAheadPatterns, PopularBlocksInABufferForAQuarterOfThem) {
    Program program{4 * mebibyte, mebibyte, {}};
    Draws draw;
    for (const std::uint64_t block : draw.popular(1024, 0.8, 100'000))
        program.gets.push_back({block * 4096 + draw.below(512) * 8, 8});
    EXPECT_GT(speed_up(program, 4096), 2.2);
    EXPECT_LT(speed_up(program, 0), 1.3);
}

// What is near a popular item is no more popular than anything else.
TEST(ReadAheadPatterns, ItemsWithoutNeighboursLoseLittle) {
    for (const std::uint64_t size : {16, 96}) {
        const Program program = popular_items(size == 16 ? 2 * mebibyte : 8 * mebibyte, size);
        EXPECT_GT(speed_up(program, 4096), 0.95 * speed_up(program, 0)) << size;
    }
}

TEST(ReadAheadPatterns, GetsWithoutReuseLoseNothing) {
    EXPECT_GT(speed_up(anywhere(64 * mebibyte, 4 * mebibyte, 0), 4096), 1);
}

}  // namespace
}  // namespace nearfetch

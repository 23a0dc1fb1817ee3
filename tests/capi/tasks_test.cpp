// SPDX-License-Identifier: Apache-2.0

// Several tasks of one thread on one cache, which is re-entered while it waits, over a network that delays,
// reorders, refuses and fails. Every read is compared with a model, as is the final memory.
//
// Each task owns 8-byte slots interleaved with those of others, so that all share lines and pages, and a
// range for bulk transfers. Another process increments counters: a task may read any value since its last
// acquire.

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <map>
#include <tuple>

#include "tasking.hpp"

namespace nearfetch::testing {
namespace {

constexpr int ranks = 2;
constexpr int tasks = 5;
constexpr std::uint64_t slots = 300;  ///< of each task, per rank
constexpr std::uint64_t blocks_begin = slots * tasks * 8;
constexpr std::uint64_t block_bytes = 6000;
constexpr std::uint64_t counters_begin = blocks_begin + tasks * block_bytes;
constexpr std::uint64_t counters = 37;
constexpr std::uint64_t segment_bytes = counters_begin + counters * 8;  // ends within a line

/// How other tasks run during calls of the network: on other stacks in a wait, or also in a start; or on top
/// of a wait.
enum class Way { fibres, fibres_at_starts, on_top };

struct Case {
    std::uint64_t seed;
    Way way;
    bool push;
    bool failing;
};

class World {
  public:
    explicit World(const Case& its_case)
        : way(its_case.way),
          network({its_case.seed, 25, its_case.failing ? 4u : 0, its_case.failing ? 6u : 0, its_case.push},
                  ranks, segment_bytes),
          scheduler(its_case.seed),
          random(its_case.seed * 77) {
        nearfetch_cache_settings settings;
        EXPECT_EQ(nearfetch_cache_settings_default(&settings, sizeof settings), NEARFETCH_OK);
        // Small enough for conflicts of every kind.
        settings.page_bytes = 256;
        settings.line_bytes = 32;
        settings.capacity_bytes = 256u << (its_case.seed % 3 + 2);
        settings.dirty_pages = 2;
        settings.operations = 2 + its_case.seed % 5;
        settings.bulk_bytes = 700;
        settings.read_ahead_items = 4;
        settings.policy = its_case.seed % 2 == 0 ? "2q" : "s3fifo";
        const nearfetch_transport table = network.table();
        EXPECT_EQ(nearfetch_cache_create(&settings, &table, &cache), NEARFETCH_OK) << nearfetch_last_error();
        network.at_tick = [this] {
            if (random() % 4 != 0) return;
            const int rank = static_cast<int>(random() % ranks);
            const std::uint64_t at = counters_begin + random() % counters * 8;
            std::uint64_t value = 0;
            std::memcpy(&value, network.memory(rank).data() + at, 8);
            ++value;
            std::memcpy(network.memory(rank).data() + at, &value, 8);
        };
        network.while_waiting = [this] {
            if (way != Way::on_top)
                scheduler.yield();
            else if (random() % 8 == 0)
                scheduler.run_on_top();
        };
        // Every second program has regions, of which the runtime knows some.
        if (its_case.seed % 2 == 0)
            for (int rank = 0; rank < ranks; ++rank) {
                std::vector<SimulatedNetwork::Region> regions;
                for (std::uint64_t at = 0, end = 0; at < segment_bytes; at = end) {
                    end = std::min(at + 1 + random() % 4000, segment_bytes);
                    regions.push_back({at, end, random() % 3 != 0});
                }
                network.set_regions(rank, regions);
            }
        network.while_starting = [this] {
            if (way == Way::fibres_at_starts && random() % 2 == 0) {
                network.at_tick();
                scheduler.yield();
            }
        };
    }

    Way way;
    SimulatedNetwork network;
    Tasks scheduler;
    std::mt19937_64 random;
    nearfetch_cache* cache = nullptr;
    std::uint64_t refused_calls = 0;  ///< that returned NEARFETCH_TRANSFER_FAILED
};

/// A task, with a model of its bytes.
class Worker {
  public:
    Worker(World& world, int number)
        : world_(world), number_(static_cast<std::uint64_t>(number)), random_(world.random()) {
        for (auto& memory : model_)
            memory.assign(segment_bytes, std::byte{0});
        acquire();
    }

    void run(int operations) {
        for (int i = 0; i < operations && !::testing::Test::HasFailure(); ++i)
            one();
        again([&] { return nearfetch_release(world_.cache); });
    }

    /// At the end the memory has what was put.
    void check_memory() {
        for (int rank = 0; rank < ranks; ++rank)
            for (std::uint64_t at = 0; at < counters_begin; ++at)
                if (mine(at)) {
                    ASSERT_EQ(world_.network.memory(rank)[at], model(rank)[at])
                        << "task " << number_ << ", rank " << rank << ", address " << at;
                }
    }

  private:
    std::vector<std::byte>& model(int rank) { return model_[static_cast<std::size_t>(rank)]; }
    bool mine(std::uint64_t at) const {
        if (at < blocks_begin) return at / 8 % tasks == number_;
        return at >= my_block() && at < my_block() + block_bytes;
    }
    std::uint64_t my_block() const { return blocks_begin + number_ * block_bytes; }
    std::uint64_t below(std::uint64_t bound) { return random_() % bound; }

    /// Retries until it succeeds.
    template <class Call>
    void again(Call&& call) {
        for (int tries = 0; tries < 1000; ++tries) {
            const nearfetch_status status = call();
            if (status == NEARFETCH_OK) return;
            ++world_.refused_calls;
            ASSERT_EQ(status, NEARFETCH_TRANSFER_FAILED) << nearfetch_last_error();
            const int code = nearfetch_last_transport_status();
            ASSERT_TRUE(code == SimulatedNetwork::refused || code == SimulatedNetwork::failed);
        }
        FAIL() << "a network that mostly works never did";
    }

    void one() {
        const int rank = static_cast<int>(below(ranks));
        switch (below(20)) {
            case 0:
                acquire();
                break;
            case 1:
                again([&] { return nearfetch_release(world_.cache); });
                break;
            case 2:
                EXPECT_EQ(
                    nearfetch_prefetch(world_.cache, &task_, rank, below(segment_bytes + 99), below(2000)),
                    NEARFETCH_OK);
                break;
            case 3:
                ranges(rank);
                break;
            case 4:
            case 5:
                read_counter(rank);
                break;
            case 6:
                started_get(rank);
                break;
            case 7:
            case 8:
                block(rank);
                break;
            case 9:
            case 10:
                get(rank, below(blocks_begin - 300), 1 + below(300));
                break;
            case 11:
            case 12:
                get(rank, my_slot(), 8);
                break;
            case 13:
                strided(rank);
                break;
            case 14:
                unordered(rank);
                break;
            default:
                put(rank, my_slot() + below(4), 1 + below(4));
        }
    }

    /// Some of my slots, or a part of my block.
    void strided(int rank) {
        const bool in_slots = below(2) == 0;
        const std::uint64_t first = below(slots - 60), bytes = in_slots ? 1 + below(8) : 1 + below(300);
        const std::uint64_t counts[] = {1 + below(6), 1 + below(4)};
        const auto unit = static_cast<std::int64_t>(in_slots ? tasks * 8 : bytes + below(100));
        const auto row = unit * static_cast<std::int64_t>(counts[0]);
        const std::int64_t remote[] = {below(2) == 0 ? unit : -unit, in_slots ? 2 * row : row + 13};
        const std::int64_t size = static_cast<std::int64_t>(bytes), local[] = {size, size * 7};
        const nearfetch_strides strides{bytes, 2, counts, remote, local};
        const auto extent = static_cast<std::uint64_t>(2 * row * static_cast<std::int64_t>(counts[1]));
        if (!in_slots && extent > block_bytes) return;
        const std::uint64_t begin = in_slots ? (first * tasks + number_) * 8 : my_block();
        const std::uint64_t at = begin + (remote[0] < 0 ? static_cast<std::uint64_t>(row - unit) : 0);
        std::vector<std::byte> memory(bytes * 7 * counts[1]);
        const auto each_block = [&](const auto& visit) {
            for (std::uint64_t j = 0; j < counts[1]; ++j)
                for (std::uint64_t i = 0; i < counts[0]; ++i)
                    visit(model(rank).data() + at + static_cast<std::int64_t>(i) * remote[0] +
                              static_cast<std::int64_t>(j) * remote[1],
                          memory.data() + i * bytes + j * 7 * bytes);
        };
        if (below(2) == 0) {
            again([&] {
                return nearfetch_get_strided(world_.cache, &task_, rank, at, memory.data(), &strides);
            });
            each_block([&](const std::byte* there, const std::byte* here) {
                ASSERT_EQ(std::memcmp(there, here, bytes), 0) << "task " << number_;
            });
        } else {
            for (std::byte& byte : memory)
                byte = static_cast<std::byte>(random_());
            again([&] {
                return nearfetch_put_strided(world_.cache, &task_, rank, at, memory.data(), &strides);
            });
            each_block([&](std::byte* there, const std::byte* here) { std::memcpy(there, here, bytes); });
        }
    }

    /// Gets of the first half of my block, and puts into the second, between fences.
    void unordered(int rank) {
        const std::uint64_t half = block_bytes / 2, size = 1 + below(below(2) == 0 ? 16 : 900);
        const std::uint64_t count = std::min<std::uint64_t>(1 + below(30), half / size);
        std::vector<std::byte> seen(count * size), from(count * size);
        for (std::byte& byte : from)
            byte = static_cast<std::byte>(random_());
        again([&] {
            for (std::uint64_t i = 0; i < count; ++i) {
                EXPECT_EQ(nearfetch_get_unordered(world_.cache, &task_, rank, my_block() + i * size, size,
                                                  seen.data() + i * size),
                          NEARFETCH_OK);
                EXPECT_EQ(nearfetch_put_unordered(world_.cache, &task_, rank, my_block() + half + i * size,
                                                  size, from.data() + i * size),
                          NEARFETCH_OK);
                if (below(4) == 0) get(rank, my_slot(), 8);
            }
            return nearfetch_task_fence(world_.cache, &task_);
        });
        std::memcpy(model(rank).data() + my_block() + half, from.data(), from.size());
        check(rank, my_block(), seen);
    }

    std::uint64_t my_slot() {
        // Mostly in order, as programs do.
        slot_ = below(4) == 0 ? below(slots) : (slot_ + 1) % slots;
        return (slot_ * tasks + number_) * 8;
    }

    void acquire() {
        ASSERT_EQ(nearfetch_acquire(world_.cache, &task_), NEARFETCH_OK);
        for (int rank = 0; rank < ranks; ++rank)
            std::memcpy(least_[static_cast<std::size_t>(rank)].data(),
                        world_.network.memory(rank).data() + counters_begin, counters * 8);
    }

    void ranges(int rank) {
        const std::uint64_t at = below(segment_bytes), bytes = below(3000);
        if (below(2) == 0)
            again([&] { return nearfetch_release_range(world_.cache, rank, at, bytes); });
        else if (below(2) == 0)
            again([&] { return nearfetch_invalidate(world_.cache, rank, at, bytes); });
        else
            EXPECT_EQ(nearfetch_acquire_range(world_.cache, rank, at, bytes), NEARFETCH_OK);
    }

    void read_counter(int rank) {
        const std::uint64_t which = below(counters);
        std::uint64_t seen = 0, now = 0;
        again(
            [&] { return nearfetch_get(world_.cache, &task_, rank, counters_begin + 8 * which, 8, &seen); });
        std::memcpy(&now, world_.network.memory(rank).data() + counters_begin + 8 * which, 8);
        EXPECT_GE(seen, least_[static_cast<std::size_t>(rank)][which]) << "older than the last acquire";
        EXPECT_LE(seen, now);
    }

    void check(int rank, std::uint64_t at, const std::vector<std::byte>& bytes) {
        for (std::uint64_t i = 0; i < bytes.size(); ++i)
            if (mine(at + i)) {
                ASSERT_EQ(bytes[i], model(rank)[at + i])
                    << "task " << number_ << ", rank " << rank << ", address " << at + i;
            }
    }

    void get(int rank, std::uint64_t at, std::uint64_t size) {
        std::vector<std::byte> bytes(size);
        again([&] { return nearfetch_get(world_.cache, &task_, rank, at, size, bytes.data()); });
        check(rank, at, bytes);
    }

    void put(int rank, std::uint64_t at, std::uint64_t size) {
        std::vector<std::byte> bytes(size);
        for (std::byte& byte : bytes)
            byte = static_cast<std::byte>(random_());
        again([&] { return nearfetch_put(world_.cache, &task_, rank, at, size, bytes.data()); });
        std::memcpy(model(rank).data() + at, bytes.data(), size);
    }

    void block(int rank) {
        const std::uint64_t size = 1 + below(below(2) == 0 ? 100 : 2500);
        const std::uint64_t at = my_block() + below(block_bytes - size);
        if (below(2) == 0)
            put(rank, at, size);
        else
            get(rank, at, size);
    }

    /// A non-blocking get of the range, while slots are accessed.
    void started_get(int rank) {
        const std::uint64_t size = 1 + below(2000), at = my_block() + below(block_bytes - size);
        std::vector<std::byte> bytes(size);
        again([&] {
            nearfetch_request* request = nullptr;
            nearfetch_status status =
                nearfetch_start_get(world_.cache, &task_, rank, at, size, bytes.data(), &request);
            if (status != NEARFETCH_OK) return status;
            put(rank, my_slot(), 8);
            int done = 0;
            EXPECT_EQ(nearfetch_test(request, &done), NEARFETCH_OK);
            get(rank, my_slot(), 8);
            status = nearfetch_wait(request);
            return status;
        });
        check(rank, at, bytes);
    }

    World& world_;
    const std::uint64_t number_;
    std::mt19937_64 random_;
    nearfetch_task task_ = NEARFETCH_TASK_INIT;
    std::uint64_t slot_ = 0;
    std::array<std::vector<std::byte>, ranks> model_;
    std::array<std::array<std::uint64_t, counters>, ranks> least_{};
};

class TasksOnOneCache : public ::testing::TestWithParam<std::tuple<Way, bool, bool>> {};

TEST_P(TasksOnOneCache, ReadWhatTheyWrote) {
    const auto [way, push, failing] = GetParam();
    std::uint64_t overtaken = 0, refusals = 0, failures = 0, refused_calls = 0;
    unsigned waiting_most = 0, starting_most = 0;
    std::uint64_t waits_for_starts = 0;
    for (std::uint64_t seed = 1; seed <= 8 && !HasFailure(); ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        World world({seed, way, push, failing});
        ASSERT_NE(world.cache, nullptr);
        std::vector<std::unique_ptr<Worker>> workers;
        for (int t = 0; t < tasks; ++t)
            workers.push_back(std::make_unique<Worker>(world, t));
        for (const auto& worker : workers)
            world.scheduler.add([&] { worker->run(600); });
        world.scheduler.run();
        for (const auto& worker : workers)
            worker->check_memory();
        EXPECT_EQ(nearfetch_cache_destroy(world.cache, HasFailure()), NEARFETCH_OK) << nearfetch_last_error();
        EXPECT_EQ(world.network.under_way(), 0u);
        overtaken += world.network.overtaken;
        refusals += world.network.refusals;
        failures += world.network.failures;
        refused_calls += world.refused_calls;
        waiting_most = std::max(waiting_most, world.network.waiting_most);
        starting_most = std::max(starting_most, world.network.starting_most);
        waits_for_starts += world.network.waits_for_starts;
    }
    // Tasks did wait inside each other's waits, and operations did overtake each other.
    EXPECT_GE(waiting_most, 3u);
    EXPECT_GT(overtaken, 1000u);
    EXPECT_EQ(way == Way::fibres_at_starts, starting_most >= 3 && waits_for_starts > 20) << waits_for_starts;
    EXPECT_EQ(failing, refusals > 100 && failures > 100 && refused_calls > 100);
    if (!failing) {
        EXPECT_EQ(refused_calls, 0u);
    }
}

std::string name_of(const ::testing::TestParamInfo<std::tuple<Way, bool, bool>>& tested) {
    const auto [way, push, failing] = tested.param;
    const char* const ways[] = {"fibres", "fibres_at_starts", "on_top"};
    return ways[static_cast<int>(way)] + std::string() + (push ? "_push" : "_poll") +
           (failing ? "_failing" : "");
}

INSTANTIATE_TEST_SUITE_P(, TasksOnOneCache,
                         ::testing::Combine(::testing::Values(Way::fibres, Way::fibres_at_starts,
                                                              Way::on_top),
                                            ::testing::Bool(), ::testing::Bool()),
                         name_of);

}  // namespace
}  // namespace nearfetch::testing

// SPDX-License-Identifier: Apache-2.0

// Strided and unordered gets and puts of the C API: what they move, in how many messages, and how they fail.

#include <algorithm>
#include <limits>
#include <random>

#include "fixture.hpp"

namespace nearfetch::testing {
namespace {

/// Strides with the memory of their arrays.
struct Shape {
    std::uint64_t bytes;
    std::vector<std::uint64_t> counts;
    std::vector<std::int64_t> remote, local;

    nearfetch_strides strides() const {
        return {bytes, counts.size(), counts.data(), remote.data(), local.data()};
    }
    /// Calls visit(remote, local) with the distances of each element.
    template <class Visitor>
    void for_each(Visitor&& visit) const {
        std::vector<std::uint64_t> index(counts.size());
        for (const std::uint64_t count : counts)
            if (count == 0) return;
        for (bool more = true; more;) {
            std::int64_t there = 0, here = 0;
            for (std::size_t d = 0; d < counts.size(); ++d) {
                there += static_cast<std::int64_t>(index[d]) * remote[d];
                here += static_cast<std::int64_t>(index[d]) * local[d];
            }
            visit(there, here);
            more = false;
            for (std::size_t d = 0; d < counts.size() && !more; ++d) {
                more = ++index[d] < counts[d];
                if (!more) index[d] = 0;
            }
        }
    }
};

class CApiStrided : public CApi {
  protected:
    void SetUp() override {
        for (int rank = 0; rank < 2; ++rank)
            for (std::uint64_t i = 0; i < segment_bytes; ++i)
                network.memory(rank)[i] =
                    static_cast<std::byte>(i * 7 + i / 251 + static_cast<unsigned>(rank));
    }
    nearfetch_status get_strided(std::uint64_t address, const Shape& shape, std::byte* to) {
        const nearfetch_strides strides = shape.strides();
        return nearfetch_get_strided(cache, &task, 1, address, to, &strides);
    }
    nearfetch_status put_strided(std::uint64_t address, const Shape& shape, const std::byte* from) {
        const nearfetch_strides strides = shape.strides();
        return nearfetch_put_strided(cache, &task, 1, address, from, &strides);
    }
    /// A strided get into a buffer that is large enough around its middle.
    void expect_get(std::uint64_t address, const Shape& shape) {
        std::vector<std::byte> to(2 * segment_bytes, std::byte{0x5a}), wanted = to;
        std::byte* const middle = to.data() + segment_bytes;
        ASSERT_EQ(get_strided(address, shape, middle), NEARFETCH_OK) << nearfetch_last_error();
        shape.for_each([&](std::int64_t there, std::int64_t here) {
            const auto* const from = network.memory(1).data() + address + there;
            std::copy(from, from + shape.bytes, wanted.data() + segment_bytes + here);
        });
        EXPECT_TRUE(to == wanted);
    }
};

TEST_F(CApiStrided, AColumnIsFetchedByTheLine) {
    make();
    const Shape column{8, {100}, {800}, {8}};
    expect_get(160, column);
    EXPECT_EQ(network.gets, 100u);
    EXPECT_EQ(network.bytes_got, 6400u);
    EXPECT_LT(network.waiting_most, 2u);
    EXPECT_EQ(statistic("misses"), 100u);
    // The next columns are in the same lines.
    expect_get(168, column);
    expect_get(176, column);
    EXPECT_EQ(network.gets, 100u);
    EXPECT_EQ(statistic("hits"), 200u);
}

TEST_F(CApiStrided, RowsWithSmallGapsAreFetchedInLongMessages) {
    make();
    // Every other element of 32 rows of 4 KiB: each row is a message.
    expect_get(0, {8, {256, 16}, {16, 6000}, {8, 2048}});
    EXPECT_LE(network.gets, 32u);
    EXPECT_EQ(statistic("hints"), 0u);
    // Backwards, as well.
    const std::uint64_t before = network.gets;
    expect_get(98'000, {4, {250}, {-12}, {4}});
    EXPECT_LE(network.gets - before, 2u);
}

TEST_F(CApiStrided, ContiguousElementsAreOne) {
    make();
    expect_get(1000, {8, {10, 50, 1}, {8, 80, 9}, {8, 80, 77}});
    EXPECT_EQ(network.gets, 1u) << "a get of 4000 bytes";
    EXPECT_EQ(network.bytes_got, 4000u);
}

TEST_F(CApiStrided, ManyAreUnderWayAtATime) {
    make();
    network.behaviour().delay_max = 500;
    unsigned most = 0;
    network.while_waiting = [&] { most = std::max(most, static_cast<unsigned>(network.under_way())); };
    expect_get(0, {16, {90}, {1024}, {16}});
    EXPECT_GT(most, 30u);
}

TEST_F(CApiStrided, ALargeOneLeavesThePagesAlone) {
    make([](auto& settings) { settings.capacity_bytes = 64 << 10; });
    for (std::uint64_t at = 0; at < 8192; at += 64)
        get_value(1, at);
    get_value(1, 0);
    const std::uint64_t evictions = statistic("evictions"), bytes = network.bytes_got;
    expect_get(0, {500, {60}, {1500}, {500}});
    EXPECT_EQ(statistic("evictions"), evictions);
    EXPECT_LE(network.bytes_got - bytes, 30'000u) << "exactly what is not resident";
}

TEST_F(CApiStrided, GetsSeeDirtyBytesAndPutsAreWrittenBack) {
    make();
    const Shape column{8, {30}, {512}, {8}};
    std::vector<std::byte> from(240, std::byte{9}), to(240);
    EXPECT_EQ(put_strided(64, column, from.data()), NEARFETCH_OK);
    EXPECT_EQ(network.puts, 0u);
    EXPECT_EQ(get_strided(64, column, to.data()), NEARFETCH_OK);
    EXPECT_TRUE(to == from);
    EXPECT_EQ(nearfetch_release(cache), NEARFETCH_OK);
    EXPECT_EQ(network.bytes_put, 240u);
    for (std::uint64_t i = 0; i < 30; ++i)
        EXPECT_EQ(there(1, 64 + 512 * i), 0x0909090909090909u);
    expect_get(0, {100, {20}, {512}, {100}});
    // Large elements.
    from.assign(60'000, std::byte{4});
    EXPECT_EQ(put_strided(5, {3000, {20}, {4000}, {3000}}, from.data()), NEARFETCH_OK);
    expect_get(0, {7000, {10}, {8000}, {7000}});
}

TEST_F(CApiStrided, RandomOnesAreAsTheirElements) {
    std::mt19937_64 random(5);
    const auto below = [&](std::uint64_t bound) { return random() % bound; };
    for (int round = 0; round < 12; ++round) {
        make([&](auto& settings) {
            settings.capacity_bytes = (8u << 10) << below(4);
            settings.operations = static_cast<std::uint32_t>(2 + below(60));
            settings.dirty_pages = 3;
        });
        network.set_regions(1, {{0, 30'001, below(2) == 0}, {30'001, segment_bytes, below(2) == 0}});
        std::vector<std::byte> model = network.memory(1);
        for (int i = 0; i < 100; ++i) {
            Shape shape{1 + below(below(3) == 0 ? 3000 : 40), {}, {}, {}};
            // Elements of a put do not overlap: each dimension steps over what the inner ones cover.
            std::int64_t span = static_cast<std::int64_t>(shape.bytes), low = 0, high = span, inner = span;
            for (std::uint64_t d = below(4); d > 0; --d) {
                const std::uint64_t count = 1 + below(6);
                const std::int64_t step = span + static_cast<std::int64_t>(below(below(2) == 0 ? 20 : 600));
                const std::int64_t reach = step * static_cast<std::int64_t>(count - 1);
                if (span + reach > 20'000) break;
                const bool back = below(3) == 0;
                (back ? low : high) += back ? -reach : reach;
                shape.counts.push_back(count);
                shape.remote.push_back(back ? -step : step);
                shape.local.push_back(inner);
                inner *= static_cast<std::int64_t>(count);
                span += reach;
            }
            const std::uint64_t address = static_cast<std::uint64_t>(-low) +
                                          below(segment_bytes - static_cast<std::uint64_t>(high - low));
            std::vector<std::byte> bytes(static_cast<std::size_t>(inner));
            if (below(2) == 0) {
                ASSERT_EQ(get_strided(address, shape, bytes.data()), NEARFETCH_OK) << nearfetch_last_error();
                shape.for_each([&](std::int64_t there, std::int64_t here) {
                    ASSERT_EQ(std::memcmp(bytes.data() + here, model.data() + address + there, shape.bytes),
                              0);
                });
            } else {
                for (std::byte& byte : bytes)
                    byte = static_cast<std::byte>(random());
                ASSERT_EQ(put_strided(address, shape, bytes.data()), NEARFETCH_OK) << nearfetch_last_error();
                shape.for_each([&](std::int64_t there, std::int64_t here) {
                    std::copy_n(bytes.data() + here, shape.bytes, model.data() + address + there);
                });
            }
        }
        EXPECT_EQ(nearfetch_release(cache), NEARFETCH_OK);
        EXPECT_TRUE(model == network.memory(1));
        EXPECT_EQ(nearfetch_cache_destroy(cache, 0), NEARFETCH_OK);
        cache = nullptr;
    }
    EXPECT_EQ(network.outside, 0u);
}

TEST_F(CApiStrided, ArgumentsThatCannotBe) {
    make();
    std::vector<std::byte> memory(1000);
    Shape shape{8, {5}, {100}, {8}};
    EXPECT_EQ(nearfetch_get_strided(cache, &task, 1, 0, memory.data(), nullptr), NEARFETCH_BAD_ARGUMENT);
    EXPECT_TRUE(says("the strides are NULL"));
    nearfetch_strides strides = shape.strides();
    strides.remote = nullptr;
    EXPECT_EQ(nearfetch_put_strided(cache, &task, 1, 0, memory.data(), &strides), NEARFETCH_BAD_ARGUMENT);
    EXPECT_TRUE(says("counts, remote or local is NULL"));
    strides.dimensions = NEARFETCH_DIMENSIONS_MAX + 1;
    EXPECT_EQ(nearfetch_put_strided(cache, &task, 1, 0, memory.data(), &strides), NEARFETCH_BAD_ARGUMENT);
    EXPECT_TRUE(says("at most 8 dimensions"));
    EXPECT_EQ(get_strided(0, shape, nullptr), NEARFETCH_BAD_ARGUMENT);
    EXPECT_TRUE(says("a strided get of 40 bytes at address 0 of rank 1 failed (the memory is NULL)"));
    shape.remote[0] = -100;
    EXPECT_EQ(get_strided(399, shape, memory.data()), NEARFETCH_BAD_ADDRESS);
    EXPECT_EQ(get_strided(400, shape, memory.data()), NEARFETCH_OK);
    shape.remote[0] = std::numeric_limits<std::int64_t>::max();
    shape.counts[0] = std::numeric_limits<std::uint64_t>::max();
    EXPECT_EQ(put_strided(0, shape, memory.data()), NEARFETCH_BAD_ADDRESS);
    // No elements.
    shape.counts[0] = 0;
    EXPECT_EQ(put_strided(~std::uint64_t{0}, shape, nullptr), NEARFETCH_OK);
    EXPECT_EQ(get_strided(7, {0, {3}, {1}, {1}}, nullptr), NEARFETCH_OK);
    EXPECT_EQ(nearfetch_release(cache), NEARFETCH_OK);
    EXPECT_EQ(network.puts, 0u);
}

TEST_F(CApiStrided, FailuresAreReportedAndNothingIsUnderWayAfterwards) {
    make();
    std::vector<std::byte> memory(60'000);
    network.behaviour().failures_percent = 20;
    EXPECT_EQ(get_strided(0, {8, {90}, {1000}, {8}}, memory.data()), NEARFETCH_TRANSFER_FAILED);
    EXPECT_TRUE(says("a strided get of 720 bytes")) << nearfetch_last_error();
    EXPECT_EQ(network.under_way(), 0u);
    EXPECT_EQ(put_strided(0, {3000, {20}, {4000}, {3000}}, memory.data()), NEARFETCH_TRANSFER_FAILED);
    EXPECT_TRUE(says("put it again"));
    network.behaviour() = {};
    expect_get(0, {8, {90}, {1000}, {8}});
    EXPECT_EQ(get_strided(segment_bytes - 5000, {8, {10}, {1000}, {8}}, memory.data()),
              NEARFETCH_BAD_ADDRESS);
}

// --- Unordered

TEST_F(CApiStrided, UnorderedGetsAreThereAtTheFence) {
    make();
    std::vector<std::uint64_t> values(500);
    for (std::uint64_t i = 0; i < values.size(); ++i)
        store(1, 160 * i, i * i + 1);
    for (std::uint64_t i = 0; i < values.size(); ++i) {
        EXPECT_EQ(nearfetch_get_unordered(cache, &task, 1, 160 * i, 8, &values[i]), NEARFETCH_OK);
        EXPECT_LE(network.under_way(), 64u);
    }
    EXPECT_EQ(nearfetch_task_fence(cache, &task), NEARFETCH_OK);
    EXPECT_EQ(task.unordered, nullptr);
    for (std::uint64_t i = 0; i < values.size(); ++i)
        EXPECT_EQ(values[i], i * i + 1);
    EXPECT_LE(network.gets, 500u);
    // Hits need no fence.
    std::uint64_t value = 0;
    EXPECT_EQ(nearfetch_get_unordered(cache, &task, 1, 160, 8, &value), NEARFETCH_OK);
    EXPECT_EQ(value, 2u);
    EXPECT_EQ(task.unordered, nullptr);
    EXPECT_EQ(nearfetch_task_fence(cache, &task), NEARFETCH_OK);
}

TEST_F(CApiStrided, UnorderedPutsAreOrdinaryOnesAfterTheFence) {
    make();
    const std::vector<std::byte> large(20'000, std::byte{6});
    std::vector<std::uint64_t> values(300);
    for (std::uint64_t i = 0; i < values.size(); ++i) {
        values[i] = i + 77;
        EXPECT_EQ(nearfetch_put_unordered(cache, &task, 1, 200 * i, 8, &values[i]), NEARFETCH_OK);
    }
    EXPECT_EQ(nearfetch_put_unordered(cache, &task, 1, 70'000, 20'000, large.data()), NEARFETCH_OK);
    EXPECT_EQ(nearfetch_task_fence(cache, &task), NEARFETCH_OK);
    EXPECT_EQ(get_value(1, 200 * 299), 299u + 77u);
    EXPECT_EQ(get_value(1, 80'000), 0x0606060606060606u);
    EXPECT_EQ(nearfetch_release(cache), NEARFETCH_OK);
    for (std::uint64_t i = 0; i < values.size(); ++i)
        EXPECT_EQ(there(1, 200 * i), i + 77);
    EXPECT_EQ(there(1, 89'992), 0x0606060606060606u);
}

TEST_F(CApiStrided, FencesAreEachTasksOwn) {
    make();
    nearfetch_task other = NEARFETCH_TASK_INIT;
    std::uint64_t mine = 0, theirs = 0;
    EXPECT_EQ(nearfetch_get_unordered(cache, &task, 1, 0, 8, &mine), NEARFETCH_OK);
    network.behaviour().failures_percent = 100;
    EXPECT_EQ(nearfetch_get_unordered(cache, &other, 1, 4000, 8, &theirs), NEARFETCH_OK);
    network.behaviour() = {};
    EXPECT_EQ(nearfetch_cache_destroy(cache, 1), NEARFETCH_BUSY);
    EXPECT_TRUE(says("2 tasks have not fenced")) << nearfetch_last_error();
    EXPECT_EQ(nearfetch_task_fence(cache, &task), NEARFETCH_OK);
    EXPECT_EQ(mine, there(1, 0));
    EXPECT_EQ(nearfetch_task_fence(cache, &other), NEARFETCH_TRANSFER_FAILED);
    EXPECT_TRUE(says("an unordered get of 8 bytes at address 4000 of rank 1 failed"))
        << nearfetch_last_error();
    EXPECT_EQ(nearfetch_task_fence(cache, &other), NEARFETCH_OK);
}

TEST_F(CApiStrided, TheFenceHasTheFirstOfManyFailures) {
    make();
    std::vector<std::uint64_t> values(200);
    network.behaviour().failures_percent = 100;
    for (std::uint64_t i = 0; i < values.size(); ++i)
        EXPECT_EQ(nearfetch_get_unordered(cache, &task, 1, 400 * i, 8, &values[i]), NEARFETCH_OK);
    EXPECT_EQ(nearfetch_get_unordered(cache, &task, 1, segment_bytes, 8, &values[0]), NEARFETCH_OK);
    EXPECT_EQ(nearfetch_task_fence(cache, &task), NEARFETCH_TRANSFER_FAILED);
    EXPECT_EQ(nearfetch_last_transport_status(), SimulatedNetwork::failed);
    EXPECT_TRUE(says("200 others failed since the last fence")) << nearfetch_last_error();
    network.behaviour() = {};
    // Alone it is a bad address.
    EXPECT_EQ(nearfetch_get_unordered(cache, &task, 1, segment_bytes, 8, &values[0]), NEARFETCH_OK);
    EXPECT_EQ(nearfetch_task_fence(cache, &task), NEARFETCH_BAD_ADDRESS);
    // Arguments are refused at once, and need no fence.
    EXPECT_EQ(nearfetch_get_unordered(cache, &task, -1, 0, 8, &values[0]), NEARFETCH_BAD_ADDRESS);
    EXPECT_EQ(nearfetch_put_unordered(cache, &task, 1, 0, 8, nullptr), NEARFETCH_BAD_ARGUMENT);
    EXPECT_EQ(nearfetch_get_unordered(cache, nullptr, 1, 0, 8, &values[0]), NEARFETCH_BAD_ARGUMENT);
    EXPECT_EQ(nearfetch_get_unordered(cache, &task, 1, 0, 0, nullptr), NEARFETCH_OK);
    EXPECT_EQ(nearfetch_task_fence(nullptr, &task), NEARFETCH_BAD_ARGUMENT);
    EXPECT_EQ(task.unordered, nullptr);
}

TEST_F(CApiStrided, ATaskThatMovesFencesFirst) {
    make();
    nearfetch_cache* elsewhere = nullptr;
    const nearfetch_transport table = network.table();
    ASSERT_EQ(nearfetch_cache_create(nullptr, &table, &elsewhere), NEARFETCH_OK);
    std::uint64_t value = 0;
    EXPECT_EQ(nearfetch_get_unordered(cache, &task, 1, 0, 8, &value), NEARFETCH_OK);
    EXPECT_EQ(nearfetch_task_fence(elsewhere, &task), NEARFETCH_BAD_ARGUMENT);
    EXPECT_TRUE(says("there before the task moves")) << nearfetch_last_error();
    EXPECT_EQ(nearfetch_get_unordered(elsewhere, &task, 1, 0, 8, &value), NEARFETCH_BAD_ARGUMENT);
    EXPECT_EQ(nearfetch_task_fence(cache, &task), NEARFETCH_OK);
    EXPECT_EQ(nearfetch_get_unordered(elsewhere, &task, 1, 0, 8, &value), NEARFETCH_OK);
    EXPECT_EQ(nearfetch_task_fence(elsewhere, &task), NEARFETCH_OK);
    EXPECT_EQ(nearfetch_cache_destroy(elsewhere, 0), NEARFETCH_OK);
}

}  // namespace
}  // namespace nearfetch::testing

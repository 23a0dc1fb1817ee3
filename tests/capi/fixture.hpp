// SPDX-License-Identifier: Apache-2.0
#pragma once

// A cache of the C API over a simulated network of two ranks, for tests of single promises.

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "tasking.hpp"

namespace nearfetch::testing {

inline constexpr std::uint64_t segment_bytes = 100'000;  // ends within a line

class CApi : public ::testing::Test {
  protected:
    void make(const std::function<void(nearfetch_cache_settings&)>& change = [](auto&) {}) {
        const nearfetch_cache_settings settings = settings_with(change);
        const nearfetch_transport table = network.table();
        ASSERT_EQ(nearfetch_cache_create(&settings, &table, &cache), NEARFETCH_OK) << nearfetch_last_error();
    }
    void TearDown() override { EXPECT_EQ(nearfetch_cache_destroy(cache, 1), NEARFETCH_OK); }

    nearfetch_status get(std::int32_t rank, std::uint64_t address, std::uint64_t bytes) {
        seen.assign(bytes, std::byte{0x5a});
        return nearfetch_get(cache, &task, rank, address, bytes, seen.data());
    }
    std::uint64_t get_value(std::int32_t rank, std::uint64_t address) {
        std::uint64_t value = 0;
        EXPECT_EQ(nearfetch_get(cache, &task, rank, address, 8, &value), NEARFETCH_OK)
            << nearfetch_last_error();
        return value;
    }
    nearfetch_status put_value(std::int32_t rank, std::uint64_t address, std::uint64_t value) {
        return nearfetch_put(cache, &task, rank, address, 8, &value);
    }
    std::uint64_t there(int rank, std::uint64_t address) {
        std::uint64_t value = 0;
        std::memcpy(&value, network.memory(rank).data() + address, 8);
        return value;
    }
    void store(int rank, std::uint64_t address, std::uint64_t value) {
        std::memcpy(network.memory(rank).data() + address, &value, 8);
    }
    std::uint64_t statistic(const char* name) {
        std::uint64_t value = ~std::uint64_t{0};
        EXPECT_EQ(nearfetch_statistic(cache, name, &value), NEARFETCH_OK);
        return value;
    }
    static bool says(const char* what) {
        return std::string(nearfetch_last_error()).find(what) != std::string::npos;
    }

    SimulatedNetwork network{{}, 2, segment_bytes};
    nearfetch_cache* cache = nullptr;
    nearfetch_task task = NEARFETCH_TASK_INIT;
    std::vector<std::byte> seen;
};

}  // namespace nearfetch::testing

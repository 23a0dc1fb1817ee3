// SPDX-License-Identifier: Apache-2.0
#include "base/reserved_memory.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <fstream>
#include <numeric>
#include <string>
#include <vector>

#include "base/error.hpp"

namespace nearfetch {
namespace {

/// Of this process.
std::uint64_t address_space_bytes() {
    std::uint64_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    return pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

TEST(ReservedMemory, GrowsInPlaceAndReadsZeroAfterShrinking) {
    ReservedMemory memory(1 << 20);
    ASSERT_TRUE(memory.resize(5000));
    std::byte* const start = memory.data();
    std::memset(start, 0x5a, 5000);
    ASSERT_TRUE(memory.resize(1 << 20));
    EXPECT_EQ(memory.data(), start);
    EXPECT_EQ(start[4999], std::byte{0x5a});
    EXPECT_EQ(start[(1 << 20) - 1], std::byte{0});
    std::memset(start, 0x11, 1 << 20);
    ASSERT_TRUE(memory.resize(4096));
    ASSERT_TRUE(memory.resize(1 << 20));
    EXPECT_EQ(start[4095], std::byte{0x11});
    EXPECT_EQ(start[4096], std::byte{0}) << "pages beyond the end were not given back";
}

TEST(ReservedMemory, ReservingMuchCostsNothing) {
    ReservedMemory memory(std::uint64_t{1} << 40);
    EXPECT_EQ(memory.reserved_bytes(), std::uint64_t{1} << 40);
    EXPECT_TRUE(memory.resize(1 << 16));
}

TEST(ReservedMemory, PopulatedMemoryIsThereBeforeItIsWritten) {
    const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
    const std::uint64_t step = 16 * page;  // or less, where pages are larger than 4 KiB
    ReservedMemory memory(8 * step);
    ASSERT_TRUE(memory.resize(4 * step));
    const auto resident = [&] {
        std::vector<unsigned char> pages(4 * step / page);
        EXPECT_EQ(mincore(memory.data(), 4 * step, pages.data()), 0);
        return std::accumulate(pages.begin(), pages.end(), 0,
                               [](int sum, int flags) { return sum + (flags & 1); });
    };
    EXPECT_EQ(resident(), 0);
    memory.populate(step + page);
    const int populated = resident();
    if (populated == 0) GTEST_SKIP() << "this system populates no memory";
    EXPECT_GE(populated, 17);
    EXPECT_LE(populated, 34) << "not twice as much";
    memory.populate(page);
    EXPECT_EQ(resident(), populated) << "it is there";
    memory.populate(100 * step);
    EXPECT_EQ(resident(), 64) << "no more than is usable";
    ASSERT_TRUE(memory.resize(step));
    ASSERT_TRUE(memory.resize(4 * step));
    EXPECT_EQ(resident(), 16) << "what was given back is gone";
    memory.populate(4 * step);
    EXPECT_EQ(resident(), 64);
}

TEST(ReservedMemory, LargePagesComeWholeAndAreGivenBack) {
    const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
    constexpr std::uint64_t bytes = 8 << 20;
    ReservedMemory memory(bytes);
    memory.prefer_large_pages(0, bytes);
    ASSERT_TRUE(memory.resize(bytes));
    const auto resident = [&] {
        std::vector<unsigned char> pages(bytes / page);
        EXPECT_EQ(mincore(memory.data(), bytes, pages.data()), 0);
        return std::accumulate(pages.begin(), pages.end(), 0,
                               [](int sum, int flags) { return sum + (flags & 1); });
    };
    memory.data()[bytes / 2] = std::byte{7};
    const int touched = resident();
    EXPECT_EQ(memory.data()[bytes / 2 + page], std::byte{0});
    ASSERT_TRUE(memory.resize(bytes / 4));
    ASSERT_TRUE(memory.resize(bytes));
    EXPECT_EQ(memory.data()[bytes / 2], std::byte{0}) << "it was not given back";
    if (touched == 1) GTEST_SKIP() << "this system has no large pages";
    EXPECT_GE(touched, 16);
    EXPECT_LT(touched, static_cast<int>(bytes / page));
}

TEST(ReservedMemory, LargePagesBeginWhereTheyAreAskedFor) {
    const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
    constexpr std::uint64_t bytes = 8 << 20;
    ReservedMemory memory(bytes);
    memory.prefer_large_pages(bytes / 2, bytes);
    ASSERT_TRUE(memory.resize(bytes));
    memory.data()[0] = std::byte{7};
    std::vector<unsigned char> pages(bytes / 2 / page);
    EXPECT_EQ(mincore(memory.data(), bytes / 2, pages.data()), 0);
    EXPECT_EQ(
        std::accumulate(pages.begin(), pages.end(), 0, [](int sum, int flags) { return sum + (flags & 1); }),
        1);
}

TEST(ReservedMemory, WhatCannotBeReservedIsAnErrorThatSaysWhatToDo) {
    for (const std::uint64_t bytes : {std::uint64_t{1} << 62, ~std::uint64_t{0}}) {
        try {
            ReservedMemory memory(bytes);
            FAIL() << bytes << " bytes were reserved";
        } catch (const Error& error) {
            EXPECT_NE(std::string(error.what()).find("lower memory_bytes"), std::string::npos)
                << error.what();
        }
    }
}

TEST(ReservedMemory, BeginsWithALargePageAndReservesNoMoreThanItSays) {
    constexpr std::uint64_t large = 2 << 20;
    for (const std::uint64_t bytes : {large, large + 1, 10 * large - 1}) {
        const ReservedMemory beside(3 * large / 2);  // it need not end where a large page does
        const std::uint64_t before = address_space_bytes();
        const ReservedMemory memory(bytes);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory.data()) % large, 0u) << bytes;
        EXPECT_EQ(address_space_bytes() - before, memory.reserved_bytes()) << bytes;
    }
}

}  // namespace
}  // namespace nearfetch

// SPDX-License-Identifier: Apache-2.0
#include "base/copy.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace nearfetch {
namespace {

std::byte value(std::uint64_t i) { return static_cast<std::byte>(i * 7 + i / 251 + 1); }

/// Copies and checks all bytes, including those around.
void copies(std::uint64_t size, std::uint64_t from_skew, std::uint64_t to_skew) {
    std::vector<std::byte> from(from_skew + size);
    for (std::uint64_t i = 0; i < size; ++i)
        from[from_skew + i] = value(i);
    constexpr std::byte untouched{0};
    std::vector<std::byte> to(to_skew + size + 64, untouched);
    copy_bytes(to.data() + to_skew, from.data() + from_skew, size);
    for (std::uint64_t i = 0; i < to.size(); ++i) {
        const bool inside = i >= to_skew && i < to_skew + size;
        ASSERT_EQ(to[i], inside ? value(i - to_skew) : untouched) << i << " of " << size;
    }
}

TEST(CopyBytes, SmallSizes) {
    for (std::uint64_t size = 0; size <= 200; ++size)
        copies(size, size % 3, size % 5);
}

TEST(CopyBytes, WhereTheWayOfCopyingChanges) {
    for (const std::uint64_t size :
         {2047, 2048, 2049, 2303, 2304, 2305, 4095, 4096, 4097, 16383, 16384, 16385, 70000})
        for (const std::uint64_t skew : {0, 1, 16, 63})
            copies(size, skew, 63 - skew);
}

// If the destination follows the source closely in page offsets, long copies use another loop.
TEST(CopyBytes, ClosePlacesOfTwoPages) {
    constexpr std::uint64_t page = 4096;
    constexpr std::uint64_t most = 70000;
    std::vector<std::byte> memory(2 * most + 3 * page);
    for (const std::uint64_t size : {std::uint64_t{2049}, std::uint64_t{4096}, most})
        for (const std::uint64_t after : {0, 1, 16, 31, 63, 64, 4095}) {
            const std::uint64_t to = (size + page - 1) / page * page + after;
            for (std::uint64_t i = 0; i < memory.size(); ++i)
                memory[i] = value(i);
            copy_bytes(memory.data() + to, memory.data(), size);
            for (std::uint64_t i = 0; i < memory.size(); ++i)
                ASSERT_EQ(memory[i], value(i >= to && i < to + size ? i - to : i)) << i << " of " << size;
        }
}

}  // namespace
}  // namespace nearfetch

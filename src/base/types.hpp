// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <nearfetch/detail/base/types.hpp>

namespace nearfetch {

/// Bytes [begin, end) of a rank's window memory.
struct ByteRange {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;

    constexpr std::uint64_t size() const noexcept { return end - begin; }
    constexpr bool empty() const noexcept { return begin == end; }
    constexpr bool overlaps(const ByteRange& other) const noexcept {
        return begin < other.end && other.begin < end;
    }
    constexpr bool contains(const ByteRange& other) const noexcept {
        return begin <= other.begin && other.end <= end;
    }
    /// The same for a program's request, which may end beyond 2^64.
    constexpr bool contains(std::uint64_t address, std::uint64_t size_bytes) const noexcept {
        return begin <= address && address <= end && size_bytes <= end - address;
    }
    friend constexpr bool operator==(const ByteRange&, const ByteRange&) noexcept = default;
};

}  // namespace nearfetch

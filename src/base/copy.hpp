// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace nearfetch {

/// Copies n to 2n bytes by two moves that may overlap.
template <std::size_t n>
inline void copy_two(std::byte* to, const std::byte* from, std::uint64_t size) noexcept {
    struct Part {
        std::byte bytes[n];
    } head, tail;
    std::memcpy(&head, from, n);
    std::memcpy(&tail, from + size - n, n);
    std::memcpy(to, &head, n);
    std::memcpy(to + size - n, &tail, n);
}

/// memcpy for more than 2048 bytes. The C library uses the processor's string move there, which blocks the
/// following instructions. A loop of wide moves does not. On AMD Zen 3 the string move is also very slow if
/// the destination is 1 to 31 bytes after the source in page offsets, which is common for page-sized entries.
void copy_many(std::byte* to, const std::byte* from, std::uint64_t size) noexcept;

/// memcpy for mostly small sizes: up to 64 bytes without a call.
inline void copy_bytes(std::byte* to, const std::byte* from, std::uint64_t size) noexcept {
    if (size == 8) [[likely]]
        std::memcpy(to, from, 8);
    else if (size > 2048) [[unlikely]]
        copy_many(to, from, size);
    else if (size > 64) [[unlikely]]
        std::memcpy(to, from, size);
    else if (size > 32)
        copy_two<32>(to, from, size);
    else if (size > 16)
        copy_two<16>(to, from, size);
    else if (size > 8)
        copy_two<8>(to, from, size);
    else if (size >= 4)
        copy_two<4>(to, from, size);
    else
        for (std::uint64_t i = 0; i < size; ++i)
            to[i] = from[i];
}

}  // namespace nearfetch

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

/// memcpy for more than 2048 bytes. For these the C library has the processor move a string, and nothing else
/// is worked on meanwhile; a loop of wide moves lets what comes after begin: a get of 4 KiB that hits takes
/// 32 ns in place of 40 on a Xeon that has AVX-512. An AMD processor (Zen 3) moves a string at a twentieth of
/// its speed, 4 KiB in 1.4 us in place of 0.07, where the destination is 1 to 31 bytes after the source, both
/// counted from where their pages begin; and so are what malloc gives and a cache's entry of whole pages.
void copy_many(std::byte* to, const std::byte* from, std::uint64_t size) noexcept;

/// memcpy for sizes of which most are small, and most of these 8 bytes: up to 64 bytes without a call.
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

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace nearfetch {

/// memcpy for sizes of which most are small: up to 16 bytes without a call, by two moves that may overlap.
inline void copy_bytes(std::byte* to, const std::byte* from, std::uint64_t size) noexcept {
    if (size > 16) [[unlikely]] {
        std::memcpy(to, from, size);
        return;
    }
    if (size >= 8) {
        std::uint64_t head, tail;
        std::memcpy(&head, from, 8);
        std::memcpy(&tail, from + size - 8, 8);
        std::memcpy(to, &head, 8);
        std::memcpy(to + size - 8, &tail, 8);
    } else if (size >= 4) {
        std::uint32_t head, tail;
        std::memcpy(&head, from, 4);
        std::memcpy(&tail, from + size - 4, 4);
        std::memcpy(to, &head, 4);
        std::memcpy(to + size - 4, &tail, 4);
    } else {
        for (std::uint64_t i = 0; i < size; ++i)
            to[i] = from[i];
    }
}

}  // namespace nearfetch

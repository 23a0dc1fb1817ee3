// SPDX-License-Identifier: Apache-2.0
#include "base/copy.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace nearfetch {

#if defined(__x86_64__)

namespace {

__attribute__((target("avx512f"))) void copy_wide(std::byte* to, const std::byte* from,
                                                  std::uint64_t size) noexcept {
    constexpr std::uint64_t step = 256;
    std::uint64_t at = 0;
    for (; at + step <= size; at += step) {
        const __m512i first = _mm512_loadu_si512(from + at);
        const __m512i second = _mm512_loadu_si512(from + at + 64);
        const __m512i third = _mm512_loadu_si512(from + at + 128);
        const __m512i fourth = _mm512_loadu_si512(from + at + 192);
        _mm512_storeu_si512(to + at, first);
        _mm512_storeu_si512(to + at + 64, second);
        _mm512_storeu_si512(to + at + 128, third);
        _mm512_storeu_si512(to + at + 192, fourth);
    }
    if (at < size) std::memcpy(to + at, from + at, size - at);
}

const bool has_wide_moves = __builtin_cpu_supports("avx512f");
constexpr std::uint64_t wide_most = 16384;

}  // namespace

void copy_many(std::byte* to, const std::byte* from, std::uint64_t size) noexcept {
    if (has_wide_moves && size <= wide_most)
        copy_wide(to, from, size);
    else
        std::memcpy(to, from, size);
}

#else

void copy_many(std::byte* to, const std::byte* from, std::uint64_t size) noexcept {
    std::memcpy(to, from, size);
}

#endif

}  // namespace nearfetch

// SPDX-License-Identifier: Apache-2.0
#include "base/copy.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace nearfetch {

#if defined(__x86_64__)

namespace {

__attribute__((target("avx512f"))) void copy_avx512(std::byte* to, const std::byte* from,
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

__attribute__((target("avx2"), always_inline)) inline __m256i load(const std::byte* from) noexcept {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
}

__attribute__((target("avx2"), always_inline)) inline void store(std::byte* to, __m256i moved) noexcept {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), moved);
}

// The loop's destination is aligned, because a move that crosses a line takes twice the time. Overlapping
// moves copy the ends.
__attribute__((target("avx2"))) void copy_avx2(std::byte* to, const std::byte* from,
                                               std::uint64_t size) noexcept {
    constexpr std::uint64_t width = 32;
    constexpr std::uint64_t step = 4 * width;
    const __m256i head = load(from);
    const std::byte* const from_end = from + size;
    const __m256i tail[] = {load(from_end - step), load(from_end - 3 * width), load(from_end - 2 * width),
                            load(from_end - width)};
    for (std::uint64_t at = width - reinterpret_cast<std::uintptr_t>(to) % width; at + step < size;
         at += step) {
        const __m256i first = load(from + at);
        const __m256i second = load(from + at + width);
        const __m256i third = load(from + at + 2 * width);
        const __m256i fourth = load(from + at + 3 * width);
        store(to + at, first);
        store(to + at + width, second);
        store(to + at + 2 * width, third);
        store(to + at + 3 * width, fourth);
    }
    std::byte* const to_end = to + size;
    store(to, head);
    store(to_end - step, tail[0]);
    store(to_end - 3 * width, tail[1]);
    store(to_end - 2 * width, tail[2]);
    store(to_end - width, tail[3]);
}

using Copy = void (*)(std::byte* to, const std::byte* from, std::uint64_t size) noexcept;

Copy copy_of_processor() noexcept {
    if (__builtin_cpu_supports("avx512f")) return copy_avx512;
    if (__builtin_cpu_supports("avx2")) return copy_avx2;
    return nullptr;
}

const Copy copy_wide = copy_of_processor();

// Above, a string move is as fast...
constexpr std::uint64_t wide_most = 16384;

// ...unless the destination is less than a line after the source, in terms of page offsets.
bool follows_closely(const std::byte* to, const std::byte* from) noexcept {
    constexpr std::uint64_t page = 4096;
    constexpr std::uint64_t line = 64;
    return (reinterpret_cast<std::uintptr_t>(to) - reinterpret_cast<std::uintptr_t>(from)) % page < line;
}

}  // namespace

void copy_many(std::byte* to, const std::byte* from, std::uint64_t size) noexcept {
    if (copy_wide != nullptr && (size <= wide_most || follows_closely(to, from)))
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

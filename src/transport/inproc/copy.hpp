// SPDX-License-Identifier: Apache-2.0
#pragma once

// Copies between a segment and a buffer, in the role of a network card. A GET rounded to whole lines may read
// bytes that their owner is writing. That is no race of the program, which never uses these bytes. So the
// copy is hidden from ThreadSanitizer; completions, messages and barriers order accesses for it.

#include <cstddef>
#include <cstdint>

#include "base/copy.hpp"

namespace nearfetch {

#if defined(__SANITIZE_THREAD__)
#define NF_THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define NF_THREAD_SANITIZER 1
#endif
#endif

#ifdef NF_THREAD_SANITIZER
/// As memcpy, hidden: memcpy is intercepted, and a plain loop is compiled to it.
__attribute__((no_sanitize("thread"), noinline)) inline void copy_as_network(std::byte* to,
                                                                             const std::byte* from,
                                                                             std::uint64_t size) {
    volatile std::byte* out = to;
    const volatile std::byte* in = from;
    for (std::uint64_t i = 0; i < size; ++i)
        out[i] = in[i];
}
#else
inline void copy_as_network(std::byte* to, const std::byte* from, std::uint64_t size) {
    copy_bytes(to, from, size);
}
#endif

}  // namespace nearfetch

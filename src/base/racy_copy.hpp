// SPDX-License-Identifier: Apache-2.0
#pragma once

// Copies of bytes that another thread or process may be writing. Who reads so does not use what it has read
// before it knows that nobody wrote. So they are no races of the program, and are hidden from
// ThreadSanitizer, which has to see the order of everything else.

#include <atomic>
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
__attribute__((no_sanitize("thread"), noinline)) inline void copy_racy(std::byte* to, const std::byte* from,
                                                                       std::uint64_t size) {
    volatile std::byte* out = to;
    const volatile std::byte* in = from;
    for (std::uint64_t i = 0; i < size; ++i)
        out[i] = in[i];
}
#else
inline void copy_racy(std::byte* to, const std::byte* from, std::uint64_t size) {
    copy_bytes(to, from, size);
}
#endif

/// What was copied before is read before what is loaded after.
inline void fence_after_racy_read() noexcept {
#ifndef NF_THREAD_SANITIZER  // which knows no fences
    std::atomic_thread_fence(std::memory_order_acquire);
#endif
}
/// What was stored before is seen by whoever sees a byte that is copied after.
inline void fence_before_racy_write() noexcept {
#ifndef NF_THREAD_SANITIZER
    std::atomic_thread_fence(std::memory_order_release);
#endif
}

/// A sequentially consistent fence.
inline void full_fence() noexcept {
#ifdef NF_THREAD_SANITIZER
    std::atomic<int> of_nobody{0};
    of_nobody.fetch_add(1, std::memory_order_seq_cst);
#else
    std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
}

}  // namespace nearfetch

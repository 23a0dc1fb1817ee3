// SPDX-License-Identifier: Apache-2.0
#pragma once

// Memory that a function takes anew at each call, kept for the next one.
//
// A thread_local vector would do, were it not for the end of the process: the main thread's go before static
// objects do and before handlers of atexit() run, and both may still communicate. So what is kept here is
// made again where it is wanted after it went, and then stays.

#include <cstddef>
#include <memory>
#include <new>
#include <utility>

namespace nearfetch {

/// This thread's T for `Use`, a type that names the place where it is used; as the last use has left it.
template <class T, class Use>
T& thread_scratch() {
    struct Memory {
        alignas(T) std::byte bytes[sizeof(T)];
        T* made;
    };
    static constinit thread_local Memory memory{};  // has no destructor: it can be used as long as the thread
    if (memory.made == nullptr) [[unlikely]] {
        struct End {
            ~End() { std::destroy_at(std::exchange(memory.made, nullptr)); }
        };
        memory.made = ::new (static_cast<void*>(memory.bytes)) T();
        [[maybe_unused]] static thread_local End end;  // once: not where it has gone
    }
    return *memory.made;
}

}  // namespace nearfetch

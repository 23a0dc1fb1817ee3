// SPDX-License-Identifier: Apache-2.0
#pragma once

// Memory that a function takes anew at each call, kept for the next one.
//
// A thread_local vector would do, were it not for the end of the process: the main thread's go before static
// objects do and before handlers of atexit() run, and both may still communicate. So what is kept here is
// made again where it is wanted after it went, and then stays.

#include <utility>

namespace nearfetch {

/// This thread's T for `Use`, a type that names the place where it is used; as the last use has left it.
/// A pointer in the thread's own memory: libraries that are loaded late have little of that.
/// \throws std::bad_alloc
template <class T, class Use>
T& thread_scratch() {
    static constinit thread_local T* made = nullptr;  // has no destructor: usable as long as the thread
    if (made == nullptr) [[unlikely]] {
        struct End {
            ~End() { delete std::exchange(made, nullptr); }
        };
        made = new T();
        [[maybe_unused]] static thread_local End end;  // once: not where it has gone
    }
    return *made;
}

}  // namespace nearfetch

// SPDX-License-Identifier: Apache-2.0
#pragma once

// Scratch memory of a function, kept for its next call in the same thread.
//
// A thread_local vector does not suffice: the main thread's objects are destroyed before static objects and
// atexit() handlers, and both may still communicate. So the memory here is made again after its destruction,
// and then kept.

#include <utility>

namespace nearfetch {

/// This thread's T for `Use`, a tag type; in the state of the last use. Only a pointer is in thread-local
/// storage, which is scarce for libraries that are loaded late.
/// \throws std::bad_alloc
template <class T, class Use>
T& thread_scratch() {
    static constinit thread_local T* made = nullptr;  // no destructor: usable as long as the thread
    if (made == nullptr) [[unlikely]] {
        struct End {
            ~End() { delete std::exchange(made, nullptr); }
        };
        made = new T();
        [[maybe_unused]] static thread_local End end;  // destroys it once; not made again afterwards
    }
    return *made;
}

}  // namespace nearfetch

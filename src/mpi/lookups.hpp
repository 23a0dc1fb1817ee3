// SPDX-License-Identifier: Apache-2.0
#pragma once

// What stands behind the handles of a call: its window, and the size of its datatype. Each thread remembers
// what it has looked up; where there is one thread, the last of each are found by one comparison.

#include <mpi.h>

#include <atomic>
#include <cstdint>
#include <functional>

#include "mpi/datatypes/datatype.hpp"
#include "mpi/fast_tls.hpp"
#include "mpi/interposer.hpp"
#include "mpi/window.hpp"

namespace nearfetch {

namespace detail {

/// What this thread has looked up.
struct LastSeen {
    struct KnownWindow {
        MPI_Win win;
        Window* window;  ///< null: none
    };
    struct KnownType {
        MPI_Datatype type;
        std::uint64_t generation;
        std::uint64_t element_bytes;  ///< 0: not known
        bool dense;
        bool predefined;  ///< it never goes
    };
    std::uint64_t generation;  ///< of the windows
    // By a hash of their handles.
    KnownWindow windows[8];
    KnownType types[8];

    KnownWindow& place_of_window(MPI_Win win) noexcept { return windows[place(win)]; }
    KnownType& place_of_type(MPI_Datatype type) noexcept { return types[place(type)]; }

  private:
    template <class Handle>
    static std::size_t place(Handle handle) noexcept {
        // A handle is a small number or an address, and std::hash may leave it as it is.
        return (std::hash<Handle>{}(handle) * 0x9e3779b97f4a7c15ull) >> 61;
    }
};
extern constinit thread_local LastSeen last_seen NEARFETCH_FAST_TLS;

Window* find_window_slowly(MPI_Win win) noexcept;
LastSeen::KnownType find_type_slowly(MPI_Datatype type) noexcept;

inline LastSeen::KnownType find_type(MPI_Datatype type) noexcept {
    const LastSeen::KnownType& known = last_seen.place_of_type(type);
    if (known.type == type && known.generation == datatype_generation()) [[likely]]
        return known;
    return find_type_slowly(type);
}

}  // namespace detail

/// The window behind a handle if it is the most recently used one, else null.
inline Window* mru_window(MPI_Win win) noexcept {
    return interposer.mru.win == win ? interposer.mru.window : nullptr;
}
/// The same as mru_window(), if what is started at that target may go to the library, or be kept back,
/// without asking further: no lock waits, and no other window exposes the memory.
[[gnu::always_inline]] inline Window* undisturbed_window(int target, MPI_Win win) noexcept {
    Window* const window = mru_window(win);
    return window != nullptr && window->has(target) && !window->locks_wait() &&
                   !interposer.has_overlapping_windows()
               ? window
               : nullptr;
}
/// What dense_bytes() says if the datatype is the most recently used one, else 0.
inline std::uint64_t mru_dense_bytes(MPI_Datatype type) noexcept {
    const MruLookups& hand = interposer.mru;
    return hand.type == type && hand.type_generation == datatype_generation() ? hand.dense_bytes : 0;
}
/// Bytes of so many elements, in one run, if they are remembered of a get, else 0.
[[gnu::always_inline]] inline std::uint64_t remembered_bytes(MPI_Datatype type, MPI_Count count) noexcept {
    const MruLookups& hand = interposer.mru;
    return hand.known_type == type && hand.known_count == count ? hand.known_bytes : 0;
}
/// The window behind a handle; null if nearfetch does not look after it.
inline Window* find_window(MPI_Win win) noexcept {
    detail::LastSeen& last = detail::last_seen;
    const detail::LastSeen::KnownWindow& known = last.place_of_window(win);
    const bool valid = last.generation == interposer.window_generation.load(std::memory_order_acquire);
    if (valid && known.win == win && known.window != nullptr) [[likely]]
        return known.window;
    return detail::find_window_slowly(win);
}

/// Bytes of `count` elements; 0 if there is nothing, or more than 64 bits can say.
template <class Count>
[[gnu::always_inline]] inline std::uint64_t bytes_of(std::uint64_t element, Count count) noexcept {
    std::uint64_t size = 0;
    if (count <= 0 || __builtin_mul_overflow(element, static_cast<std::uint64_t>(count), &size)) return 0;
    return size;
}

/// Bytes of one element of a datatype without gaps, so that n elements are n times as many in one run; 0 for
/// others.
inline std::uint64_t dense_bytes(MPI_Datatype type) noexcept {
    const detail::LastSeen::KnownType known = detail::find_type(type);
    return known.dense ? known.element_bytes : 0;
}
/// Bytes of one element of any datatype; 0 where its layout is not known.
inline std::uint64_t element_bytes(MPI_Datatype type) noexcept {
    return detail::find_type(type).element_bytes;
}

/// Makes them the most recently used ones; not a window that is off.
void remember_mru(MPI_Win win, Window* window) noexcept;
void forget_mru(const Window& window) noexcept;
void remember_mru(MPI_Datatype type) noexcept;
/// For remembered_bytes(), if they are of a predefined type and in one run.
void remember_bytes(MPI_Datatype type, MPI_Count count) noexcept;

}  // namespace nearfetch

// SPDX-License-Identifier: Apache-2.0
#pragma once

// What the interposer keeps for the process: its settings, the windows by their handle, the requests under
// way.
//
// It comes to life with the first window and leaves with MPI_Finalize (through an attribute of MPI_COMM_SELF,
// which works from every language). A process without windows pays nothing.

#include <mpi.h>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

#include "base/error.hpp"
#include "base/settings.hpp"
#include "mpi/datatypes/datatype.hpp"
#include "mpi/passthrough.hpp"
#include "mpi/report/report.hpp"
#include "mpi/window.hpp"
#include "mpi/window_habits.hpp"

#if defined(__GNUC__)
#define NEARFETCH_FAST_TLS __attribute__((tls_model("initial-exec")))
#else
#define NEARFETCH_FAST_TLS
#endif

namespace nearfetch {

/// What this process exposes in a window.
struct Exposed {
    std::uint64_t displacement_unit;
    std::uint64_t size_bytes;  ///< 0 if that is not known, or changes
    const void* base;
    bool dynamic;              ///< it may come to expose anything
    bool shared = false;       ///< the program reaches the others' memory, too, by loads and stores
    bool declared = true;      ///< the library has not allocated it: only the program knows how much is there
    bool overlapping = false;  ///< at its creation some process exposed the same memory by another window

    bool overlaps(const Exposed& other) const noexcept {
        if (dynamic || other.dynamic) return true;
        const auto begin = reinterpret_cast<std::uintptr_t>(base), end = begin + size_bytes;
        const auto others = reinterpret_cast<std::uintptr_t>(other.base);
        return begin < others + other.size_bytes && others < end;
    }
};

class Library {
  public:
    static Library& instance();
    /// Whether MPI_COMM_WORLD and MPI_COMM_SELF are there. In a program that knows sessions only they are
    /// not, and nearfetch, which serves others and notices the end by them, looks after no window.
    static bool has_world() noexcept;

    /// Settings of the environment with the `nearfetch_` keys of `info` on top.
    /// \throws Error naming the setting, the value and what is allowed
    Settings settings_for(MPI_Info info);
    /// The same on top of settings that are in force.
    static void apply_info(Settings& settings, MPI_Info info);

    /// Starts to look after a window. Collective over `comm`, like the window's creation.
    /// \return an MPI error code
    int attach(MPI_Win win, MPI_Comm comm, Exposed exposed, const Settings& settings);
    /// Forgets a window and gives back its memory. The window still exists.
    void detach(MPI_Win win);

    Window* find(MPI_Win win) noexcept;
    bool threaded() const noexcept { return threaded_; }
    /// Whether memory may be exposed by two windows, so that what is written through one is an acquire
    /// for the other.
    static bool overlapping() noexcept { return overlapping_.load(std::memory_order_relaxed) != 0; }
    Report& report() noexcept { return report_; }
    /// The least of all windows, as WindowCache has it; nothing unless all of them may pass through.
    std::optional<std::uint64_t> passthrough_budget() noexcept;
    void after_passthrough(std::uint64_t calls) noexcept;
    /// Records the windows that were never freed, and writes what was asked for.
    void finalize() noexcept;

  private:
    Library() = default;
    void start();
    void look_for_threads() noexcept;
    bool overlaps_another(const Exposed& exposed);

    static inline constinit std::atomic<int> overlapping_{
        0};  ///< such windows; put and accumulate look at it
    std::unordered_map<MPI_Win, Exposed> exposed_;
    std::mutex mutex_;
    bool started_ = false;
    bool threaded_ = false;
    Settings settings_;
    std::unordered_map<MPI_Win, std::unique_ptr<Window>> windows_;
    WindowHabits habits_;
    Report report_;
};

/// Raises `error` as an MPI error of class `error_class` whose text is the message, and returns its code.
int raise_on_comm(MPI_Comm comm, int error_class, const Error& error);
int raise_on_window(MPI_Win win, int error_class, const Error& error);

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
extern std::atomic<std::uint64_t> window_generation;

/// The window and the datatype of the last get or flush that took the slow way, for the hot path. One for the
/// process, because calls do not overlap; with MPI_THREAD_MULTIPLE it stays empty.
struct MruLookups {
    MPI_Win win;
    Window* window;  ///< null: none; emptied when a window goes, so that only the handle has to be compared
    MPI_Datatype type;
    std::uint64_t type_generation;
    std::uint64_t dense_bytes;
    // Of the last get that was looked at further, if its type is predefined and has no gaps.
    MPI_Datatype known_type;
    MPI_Count known_count;
    std::uint64_t known_bytes;
};
extern constinit MruLookups mru __attribute__((visibility("hidden")));

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
    return detail::mru.win == win ? detail::mru.window : nullptr;
}
/// Until it is looked up again.
inline void put_window_away() noexcept { detail::mru.window = nullptr; }
/// The same as mru_window(), if what is started at that target may go to the library, or be kept back,
/// without asking further: no lock waits, and no other window exposes the memory.
[[gnu::always_inline]] inline Window* undisturbed_window(int target, MPI_Win win) noexcept {
    Window* const window = mru_window(win);
    return window != nullptr && window->has(target) && !window->locks_wait() && !Library::overlapping()
               ? window
               : nullptr;
}
/// What dense_bytes() says if the datatype is the most recently used one, else 0.
inline std::uint64_t mru_dense_bytes(MPI_Datatype type) noexcept {
    const detail::MruLookups& hand = detail::mru;
    return hand.type == type && hand.type_generation == datatype_generation() ? hand.dense_bytes : 0;
}
/// Bytes of so many elements, in one run, if they are remembered of a get, else 0.
[[gnu::always_inline]] inline std::uint64_t remembered_bytes(MPI_Datatype type, MPI_Count count) noexcept {
    const detail::MruLookups& hand = detail::mru;
    return hand.known_type == type && hand.known_count == count ? hand.known_bytes : 0;
}
/// The window behind a handle; null if nearfetch does not look after it.
inline Window* find_window(MPI_Win win) noexcept {
    detail::LastSeen& last = detail::last_seen;
    const detail::LastSeen::KnownWindow& known = last.place_of_window(win);
    const bool valid = last.generation == detail::window_generation.load(std::memory_order_acquire);
    if (valid && known.win == win && known.window != nullptr) [[likely]]
        return known.window;
    return detail::find_window_slowly(win);
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

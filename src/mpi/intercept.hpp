// SPDX-License-Identifier: Apache-2.0
#pragma once

// What the interposed calls have in common.

#include <mpi.h>

#include <cstdint>

#include "engine/clock.hpp"
#include "mpi/learned.hpp"
#include "mpi/library.hpp"

// MPI-4 has a variant with large counts of every call that takes a count; a library that lacks them is not
// asked for them.
#if MPI_VERSION >= 4
#define NEARFETCH_LARGE_COUNT 1
#else
#define NEARFETCH_LARGE_COUNT 0
#endif

namespace nearfetch {

/// Bytes that `count` elements carry; 0 where the library cannot say.
inline std::uint64_t target_bytes(MPI_Datatype type, MPI_Count count) noexcept {
    if (type == MPI_DATATYPE_NULL || count <= 0) return 0;
    MPI_Count size = 0;
    if (PMPI_Type_size_x(type, &size) != MPI_SUCCESS || size < 0) return 0;
    return static_cast<std::uint64_t>(size) * static_cast<std::uint64_t>(count);
}

/// Before a call of the library on a window that nearfetch may look after: Window::open_locks().
inline int open_locks(Window* window) noexcept {
    return window == nullptr ? MPI_SUCCESS : window->open_locks();
}

/// What was collected has been sent, by the first lines of a call that completes it.
struct Sent {
    int status = MPI_SUCCESS;
    bool news = false;  ///< other windows may expose the same memory: its completion is an acquire for them
};
inline Sent send_before(CachedWindow& cached, int target, FlushKind kind) noexcept {
    if (kind == FlushKind::local) return {};
    const bool news = Library::instance().overlapping() && cached.has_collected(target);
    return {cached.send_collected(target), news};
}

/// Runs a call that completes what was started at `target`, and tells the engine.
/// \return the first error
template <class Call>
int complete_by(Window& window, int target, FlushKind kind, const Call& call) noexcept {
    CachedWindow& cached = window.cached();
    const CachedWindow::Moment since = cached.now();
    const Sent sent = send_before(cached, target, kind);
    const std::uint64_t begin = ticks();
    const int status = call();
    cached.complete(target, since, kind, status, ticks() - begin);
    if (sent.news) acquire_process();
    return sent.status != MPI_SUCCESS ? sent.status : status;
}

/// The same for all targets.
template <class Call>
int complete_all_by(Window& window, FlushKind kind, const Call& call) noexcept {
    CachedWindow& cached = window.cached();
    const CachedWindow::Moment since = cached.now();
    const bool full = kind == FlushKind::full;
    const bool news = full && Library::instance().overlapping() && cached.has_collected();
    const int sent = full ? cached.send_all_collected() : MPI_SUCCESS;
    const std::uint64_t begin = ticks();
    const int status = call();
    cached.complete_all(since, kind, status, ticks() - begin);
    if (news) acquire_process();
    return sent != MPI_SUCCESS ? sent : status;
}

}  // namespace nearfetch

// SPDX-License-Identifier: Apache-2.0

// The synchronisation calls. Each tells the engine which transfers it has completed, and whether an access
// epoch is open. A flush with nothing outstanding does not enter the library, but for the progress that
// others need.

#include <mpi.h>

#include <new>
#include <utility>
#include <vector>

#include "mpi/lookups.hpp"
#include "mpi/window_group.hpp"
#include "mpi/wrappers/intercept.hpp"

namespace nearfetch {

namespace {

/// The window if nearfetch has something to do with it. Where nothing is cached it still has to see the end
/// of fetching atomics, of what may be polls, and of what was started when something was.
Window* active_window(MPI_Win win) noexcept {
    Window* const window = find_window(win);
    if (window == nullptr || !window->off()) return window;
    const CompletionPath& completions = window->cache().completions();
    return completions.must_be_seen() || completions.gets_under_way() ? window : nullptr;
}

/// After lock_all was opened: unless the program has promised that this says nothing.
void acquire_by_lock_all(Window* window) noexcept {
    if (window == nullptr || window->cache().settings().locks != "access")
        acquire_by_lock("MPI_Win_lock_all");
}

using FlushCall = int(int, MPI_Win);

template <FlushKind kind, FlushCall call>
[[gnu::noinline]] int flush_slowly(int target, MPI_Win win) {
    Window* const window = active_window(win);
    const auto library = [&] {
        const int status = open_locks(window);
        return status == MPI_SUCCESS ? call(target, win) : status;
    };
    if (window == nullptr || !window->has(target)) return library();
    remember_mru(win, window);
    switch (window->cache().completions().flush(target, kind)) {
        case Flush::elided:
            break;
        case Flush::elided_progress:
            window->serve_others();
            break;
        case Flush::needed:
            return complete_by(window->cache(), target, kind, library);
        case Flush::needed_bypassed:
            return after_sending(window->cache(), target, kind, [&](Moment since) {
                const int status = library();
                if (status == MPI_SUCCESS)
                    window->cache().completions().complete_bypassed_flush(target, since, kind);
                return status;
            });
    }
    return MPI_SUCCESS;
}

template <FlushKind kind, FlushCall call>
[[gnu::noinline]] int flush_bypassed(Window& window, int target, MPI_Win win) {
    const int status = window.cache().completions().bypass_flush(target, kind, [&] {
        const int opened = window.open_locks();
        return opened == MPI_SUCCESS ? call(target, win) : opened;
    });
    interposer.passthrough.count_bypassed();
    return status;
}

/// Each call ends the function, so that a flush that is elided needs no stack.
template <FlushKind kind, FlushCall call>
[[gnu::always_inline]] inline int flush(int target, MPI_Win win) {
    if (interposer.passthrough.is_on()) [[unlikely]]
        return call(target, win);
    Window* const window = mru_window(win);
    if (window != nullptr && window->has(target)) [[likely]] {
        const Served served = window->cache().completions().try_flush(target, kind);
        if (served == Served::hit) return MPI_SUCCESS;
        if (served == Served::bypass) return flush_bypassed<kind, call>(*window, target, win);
    }
    return flush_slowly<kind, call>(target, win);
}

/// What the first few lines of a lock and of an unlock ask.
[[gnu::always_inline]] inline Window* mru_window_of(int target, MPI_Win win) noexcept {
    Window* const window = mru_window(win);
    return window != nullptr && window->has(target) ? window : nullptr;
}

/// After a lock or unlock of one target: its epoch is open, or closed.
void record_epoch(Window* window, int target, Epoch epoch) noexcept {
    if (window == nullptr || !window->has(target)) return;
    window->cache().locks().change_epochs([=](EpochTracker& epochs) { epochs.set(target, epoch); });
}

/// Calls the library when it has seen all locks.
template <class Call>
auto after_locks(MPI_Win win, const Call& call) noexcept {
    return [win, &call] {
        const int status = open_locks(find_window(win));
        return status == MPI_SUCCESS ? call() : status;
    };
}

/// A shared lock that does not take the fast path.
template <class Call>
int lock_shared(Window& window, int target, int assert, MPI_Win win, const Call& library) {
    const SharedLock lock = window.locks().judge(target, assert);
    const auto acquire = [&](int = MPI_SUCCESS) {
        if (lock.acquires) acquire_by_lock("MPI_Win_lock");
    };
    if (lock.kept_by != SharedLock::Keeper::nobody) {
        acquire();
        window.locks().keep_back(lock.kept_by, target, assert);
        return MPI_SUCCESS;
    }
    const int status = and_then(after_locks(win, library), acquire);
    if (status == MPI_SUCCESS) record_epoch(&window, target, Epoch::passive);
    return status;
}

/// An exclusive lock, or one of no kind or rank.
template <class Call>
int lock_exclusive(Window* window, int target, MPI_Win win, const Call& library) {
    if (window != nullptr && window->has(target))
        if (const int status = window->cache().locks().begin_exclusive(target); status != MPI_SUCCESS)
            return status;
    // What acquires may end the writing where no epoch is open.
    return and_then(after_locks(win, library), [=](int status) {
        if (status == MPI_SUCCESS) record_epoch(window, target, Epoch::passive);
        acquire_by_lock("MPI_Win_lock");
    });
}

/// The library's own call of a lock or unlock in passthrough, and its epoch.
template <class Call>
int pass_lock(int target, MPI_Win win, Epoch epoch, const Call& call) {
    const int status = call();
    Window* window = mru_window(win);
    if (window == nullptr) window = find_window(win);
    if (status == MPI_SUCCESS) record_epoch(window, target, epoch);
    if (window != nullptr && window->cache().locks().is_writer_of_some())
        window->cache().locks().end_writing();
    return status;
}

template <FlushKind kind, int library_call(MPI_Win)>
int flush_all(MPI_Win win) {
    if (interposer.passthrough.is_on()) return library_call(win);
    Window* const window = active_window(win);
    const auto library = [win] { return library_call(win); };
    const auto call = after_locks(win, library);
    if (window == nullptr) [[unlikely]]
        return call();
    const Flush flush = window->cache().completions().flush_all(kind);
    if (flush == Flush::needed) return complete_all_by(window->cache(), kind, call);
    if (flush == Flush::elided_progress) [[unlikely]]
        window->serve_others();
    return MPI_SUCCESS;
}

/// Completes everything; if that went well, what all targets had open is closed.
template <class Call>
int close_all(MPI_Win win, const Call& library_call) {
    Window* const window = find_window(win);
    const auto call = after_locks(win, library_call);
    if (window == nullptr) return call();
    const int status = complete_all_by(window->cache(), FlushKind::full, call);
    if (status == MPI_SUCCESS)
        window->cache().locks().change_epochs([](EpochTracker& epochs) { epochs.set_all(Epoch::none); });
    return status;
}

/// After a fence that went well.
void fenced(Window& window, int assert) noexcept {
    const bool opens = (assert& MPI_MODE_NOSUCCEED) == 0;
    window.cache().locks().change_epochs(
        [=](EpochTracker& epochs) { opens ? epochs.fence() : epochs.set_all(Epoch::none); });
}

}  // namespace

}  // namespace nearfetch

using namespace nearfetch;

extern "C" {

int MPI_Win_lock(int lock_type, int rank, int assert, MPI_Win win) {
    const auto library = [&] { return PMPI_Win_lock(lock_type, rank, assert, win); };
    const bool is_shared = lock_type == MPI_LOCK_SHARED;
    if (interposer.passthrough.is_on() && is_shared) return pass_lock(rank, win, Epoch::passive, library);
    Window* window = mru_window_of(rank, win);
    if (window != nullptr && is_shared && window->cache().locks().is_lock_quick(rank)) {
        const AcquireScope acquires("MPI_Win_lock", true);
        const int status = library();
        if (status == MPI_SUCCESS) window->cache().locks().record_lock(rank);
        return status;
    }
    if (window == nullptr) window = find_window(win);
    if (window == nullptr || !is_shared || !window->has(rank))
        return lock_exclusive(window, rank, win, library);
    return lock_shared(*window, rank, assert, win, library);
}

int MPI_Win_unlock(int rank, MPI_Win win) {
    const auto library = [&] { return PMPI_Win_unlock(rank, win); };
    if (interposer.passthrough.is_on()) return pass_lock(rank, win, Epoch::none, library);
    if (Window* const quick = mru_window_of(rank, win);
        quick != nullptr && !quick->locks_wait() && quick->cache().locks().is_unlock_quick(rank)) {
        const int status =
            and_then(library, [&](int outcome) { quick->cache().locks().record_unlock(rank, outcome); });
        interposer.passthrough.count_bypassed();
        return status;
    }
    Window* const window = find_window(win);
    if (window == nullptr) return library();
    remember_mru(win, window);
    if (bool serves = false; window->locks().elide_unlock(rank, serves)) {
        if (serves) window->serve_others();
        return MPI_SUCCESS;
    }
    const auto call = [&] {
        const int status = window->locks().before_unlock(rank);
        return status == MPI_SUCCESS ? library() : status;
    };
    if (!window->has(rank)) return call();
    int status = complete_by(window->cache(), rank, FlushKind::full, call);
    if (status == MPI_SUCCESS) status = window->locks().after_unlock(rank);
    if (status == MPI_SUCCESS) record_epoch(window, rank, Epoch::none);
    window->cache().locks().end_writing();
    return status;
}

int MPI_Win_lock_all(int assert, MPI_Win win) {
    Window* const window = find_window(win);
    const auto lock = [&] { return PMPI_Win_lock_all(assert, win); };
    const int status = and_then(after_locks(win, lock), [&](int) { acquire_by_lock_all(window); });
    if (window != nullptr && status == MPI_SUCCESS)
        window->cache().locks().change_epochs([](EpochTracker& epochs) { epochs.set_all(Epoch::passive); });
    return status;
}

int MPI_Win_unlock_all(MPI_Win win) {
    return close_all(win, [&] { return PMPI_Win_unlock_all(win); });
}

int MPI_Win_flush(int rank, MPI_Win win) { return flush<FlushKind::full, PMPI_Win_flush>(rank, win); }

int MPI_Win_flush_local(int rank, MPI_Win win) {
    return flush<FlushKind::local, PMPI_Win_flush_local>(rank, win);
}

int MPI_Win_flush_all(MPI_Win win) { return flush_all<FlushKind::full, PMPI_Win_flush_all>(win); }

int MPI_Win_flush_local_all(MPI_Win win) {
    return flush_all<FlushKind::local, PMPI_Win_flush_local_all>(win);
}

int MPI_Win_fence(int assert, MPI_Win win) {
    Window* const window = find_window(win);
    const AcquireScope acquires("MPI_Win_fence");
    const int status = close_all(win, [&] { return PMPI_Win_fence(assert, win); });
    if (window != nullptr && status == MPI_SUCCESS) fenced(*window, assert);
    return status;
}

int MPI_Win_start(MPI_Group group, int assert, MPI_Win win) {
    const AcquireScope acquires("MPI_Win_start");
    const int status = after_locks(win, [&] { return PMPI_Win_start(group, assert, win); })();
    Window* const window = find_window(win);
    if (window == nullptr || status != MPI_SUCCESS) return status;
    try {
        std::vector<Rank> ranks = ranks_of(win, group);
        window->cache().locks().change_epochs([&](EpochTracker& epochs) { epochs.start(std::move(ranks)); });
    } catch (const std::bad_alloc&) {
        // Without it there are no hits in this epoch.
    }
    return status;
}

int MPI_Win_complete(MPI_Win win) {
    const AcquireScope acquires("MPI_Win_complete");
    const int status = close_all(win, [&] { return PMPI_Win_complete(win); });
    Window* const window = find_window(win);
    if (window != nullptr && status == MPI_SUCCESS)
        window->cache().locks().change_epochs([](EpochTracker& epochs) { epochs.complete(); });
    return status;
}

int MPI_Win_sync(MPI_Win win) {
    const AcquireScope acquires("MPI_Win_sync");
    const int status = after_locks(win, [&] { return PMPI_Win_sync(win); })();
    Window* const window = active_window(win);
    if (window != nullptr && window->mode() == Mode::transparent) window->cache().acquire();
    return status;
}
}

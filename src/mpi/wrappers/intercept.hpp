// SPDX-License-Identifier: Apache-2.0
#pragma once

// What the interposed calls have in common.

#include <mpi.h>

#include <cstdint>

#include "base/finally.hpp"
#include "base/ticks.hpp"
#include "mpi/lookups.hpp"
#include "mpi/wrappers/acquire_scope.hpp"
#include "mpi/wrappers/large_count.hpp"

namespace nearfetch {

/// Before a call of the library on a window that nearfetch may look after: Window::open_locks().
inline int open_locks(Window* window) { return window == nullptr ? MPI_SUCCESS : window->open_locks(); }

/// Runs `call(since)`, which completes what was started at `target` until `since`, after what was combined
/// for it has been sent.
/// \return the first error
template <class Call>
int after_sending(WindowCache& cached, int target, FlushKind kind, const Call& call) {
    const Moment since = cached.completions().now();
    if (kind == FlushKind::local) return call(since);
    // Other windows may expose the same memory: then the puts' completion is an acquire for them.
    const bool acquires = interposer.has_overlapping_windows() && cached.updates().has_combined(target);
    const int sent = cached.updates().send_combined(target);
    const int status = and_then([&] { return call(since); },
                                [&](int) {
                                    if (acquires)
                                        interposer.process.acquires.acquire("a put into shared memory");
                                });
    return sent != MPI_SUCCESS ? sent : status;
}

/// Runs a call that completes what was started at `target`, and tells the engine.
template <class Call>
int complete_by(WindowCache& cached, int target, FlushKind kind, const Call& call) {
    return after_sending(cached, target, kind, [&](Moment since) {
        const std::uint64_t begin = ticks();
        return and_then(call, [&](int status) {
            cached.completions().complete(target, since, kind, status, ticks() - begin);
        });
    });
}

/// The same for all targets.
template <class Call>
int complete_all_by(WindowCache& cached, FlushKind kind, const Call& call) {
    if (cached.completions().all_are_bypassed()) {
        const int status =
            and_then(call, [&](int outcome) { cached.completions().complete_all_bypassed(kind, outcome); });
        interposer.passthrough.count_bypassed();
        return status;
    }
    return after_sending(cached, all_targets, kind, [&](Moment since) {
        const std::uint64_t begin = ticks();
        return and_then(call, [&](int status) {
            cached.completions().complete_all(since, kind, status, ticks() - begin);
        });
    });
}

}  // namespace nearfetch

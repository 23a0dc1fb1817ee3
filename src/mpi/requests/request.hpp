// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <atomic>

#include "mpi/window.hpp"
#include "rma/window_cache.hpp"

namespace nearfetch {

/// A number for the next request-based get.
RequestId next_request_id() noexcept;

namespace detail {
/// MPI_REQUEST_NULL where each request has a handle of its own, and until somebody has asked.
extern std::atomic<MPI_Request> complete_handle __attribute__((visibility("hidden")));
extern constinit std::atomic<bool> asked_for_complete_handle __attribute__((visibility("hidden")));
void ask_for_complete_handle(const Window& window);
}  // namespace detail

/// Whether the library completed the request when it made it, for a transfer of `window`: such requests have
/// one handle in common.
inline bool complete_at_once(const Window& window, MPI_Request request) {
    if (!detail::asked_for_complete_handle.load(std::memory_order_relaxed)) [[unlikely]]
        detail::ask_for_complete_handle(window);
    return request == detail::complete_handle.load(std::memory_order_relaxed);
}

/// Remembers that `request` is that get, until it completes or is freed.
/// \param leads if it is a leader: since when, else 0
void track_request(MPI_Request& request, Window& window, int target, RequestId id, Moment leads);

/// A request of a get that waits for a leader (request_table.hpp). \return the library's status
int start_waiting_request(Window& window, int target, RequestId id, Moment leader, MPI_Request* request);
/// The bytes of a request that waits are there.
void request_arrived(RequestId id) noexcept;

/// Remembers of a transfer that nothing is kept of that its end says nothing about what others have written.
void track_silent_request(MPI_Request request, Window& window, RequestId id);
void track_silent_request(MPI_Request request, MPI_Win win);

/// A request that is complete already: the library's own, from a get from nobody. \return the call's status
int completed_request(const Window& window, MPI_Request* request);

/// Forgets the requests of a window that is about to go.
void forget_requests(const Window& window) noexcept;

}  // namespace nearfetch

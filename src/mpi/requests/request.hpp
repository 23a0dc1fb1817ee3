// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include "mpi/window.hpp"
#include "rma/window_cache.hpp"

namespace nearfetch {

/// A number for the next request-based get.
RequestId next_request_id() noexcept;

/// Whether the library completed the request of a transfer of `window` when it made it. All such requests
/// have one handle.
bool complete_at_once(const Window& window, MPI_Request request);

/// Tracks the request of a get until it completes or is freed.
/// \param leads when a leader began to lead; 0 for others
void track_request(MPI_Request& request, Window& window, int target, RequestId id, Moment leads);

/// Makes the request of a get that waits for a leader (request_table.hpp). \return the library's status
int start_waiting_request(Window& window, int target, RequestId id, Moment leader, MPI_Request* request);
/// The bytes of a request that waits have arrived.
void request_arrived(RequestId id) noexcept;

/// Tracks the request of a transfer of which nothing is kept, because its end does not synchronise.
void track_silent_request(MPI_Request request, Window& window, RequestId id);
void track_silent_request(MPI_Request request, MPI_Win win);

/// Makes a request that is complete already: the library's own, of a get from MPI_PROC_NULL.
/// \return the library's status
int completed_request(const Window& window, MPI_Request* request);

/// Forgets the requests of a window that ends.
void forget_requests(const Window& window) noexcept;

}  // namespace nearfetch

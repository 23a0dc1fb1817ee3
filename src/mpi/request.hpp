// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include "engine/cached_window.hpp"
#include "mpi/window.hpp"

namespace nearfetch {

/// A number for the next request-based get.
RequestId next_request_id() noexcept;

/// Remembers that `request` is that get, until it completes or is freed.
void track_request(MPI_Request request, Window& window, int target, RequestId id) noexcept;

/// A request that is complete already: the library's own, from a get from nobody. \return the call's status
int completed_request(MPI_Win win, MPI_Request* request) noexcept;

/// Forgets the requests of a window that is about to go.
void forget_requests(const Window& window) noexcept;

}  // namespace nearfetch

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include "base/error.hpp"

namespace nearfetch {

/// Raises `error` as an MPI error of class `error_class` whose text is the message, and returns its code.
int raise_on_comm(MPI_Comm comm, int error_class, const Error& error);
int raise_on_window(MPI_Win win, int error_class, const Error& error);

}  // namespace nearfetch

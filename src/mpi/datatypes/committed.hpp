// SPDX-License-Identifier: Apache-2.0
#pragma once

// Whether a datatype was committed. The library refuses a get with one that was not, and what it would refuse
// never hits; but MPI has no call that asks. So nothing at all is packed, on a communicator of nearfetch's
// own whose errors only come back.

#include <mpi.h>

namespace nearfetch {

/// Makes the communicator. Until then, and where that fails, every type counts as committed. To be called
/// once.
void start_type_checks() noexcept;
/// While MPI is being finalized.
void end_type_checks() noexcept;

/// \pre a valid datatype
bool is_committed(MPI_Datatype type) noexcept;

}  // namespace nearfetch

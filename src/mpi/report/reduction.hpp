// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "report/run_summary.hpp"

namespace nearfetch {

/// Adds up the summaries of all ranks of the world, which are in MPI_Finalize. Where it is not known that
/// each of them comes here, they are waited for some seconds only: another may not have nearfetch at all.
/// \param all_come that is known
/// \return at rank 0: of all ranks, or of this one alone; elsewhere what it has seen
RunSummary reduce_over_world(RunSummary mine, bool all_come);

}  // namespace nearfetch

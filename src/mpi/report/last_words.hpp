// SPDX-License-Identifier: Apache-2.0
#pragma once

// The statistics of a process that does not come to MPI_Finalize.
//
// A signal handler may do little: no memory, no locks, no formatting. So the text of the file is prepared
// while the program runs, now and then, and the handler only writes what is there: the numbers may be older
// than the end. It then hands the signal to whoever was asked before: to the program's handler, or to the
// default action, so that the process ends as it would have. A handler that the program installs after MPI
// has begun takes our place; if it calls exit(), the file is written by then. Nothing is written by a process
// that is killed (SIGKILL), or calls _exit(), or that the program has forked.

#include <string>

#include "mpi/report/stats_file.hpp"

namespace nearfetch {

/// The text of a file of statistics, a JSON object as dump() makes it, with the reason of the end in front.
std::string with_end(const std::string& end, const std::string& document);

/// If the process is ended by a signal, this is written. The first call installs the handlers.
/// \param document as with_end() has it \throws std::bad_alloc
void prepare_last_words(const StatsOwner& owner, const std::string& document);
/// There is nothing to write any more.
void forget_last_words() noexcept;

}  // namespace nearfetch

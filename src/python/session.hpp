// SPDX-License-Identifier: Apache-2.0
#pragma once

// A program that is no function: the top level of a script is a rank from begin_session() to end_session(),
// in one thread. Its ranks are the processes of an MPI job, or this process alone.

#include <nanobind/nanobind.h>

#include <nearfetch/pgas.hpp>
#include <optional>
#include <string>

#include "python/processes.hpp"

namespace nearfetch::python {

/// Makes the calling thread a rank. Collective over the processes of `place`; without one the thread is the
/// only rank. \pre it is no rank \param site as for launch_threads()
/// \throws Error as start_processes(), or when memory is exhausted
void begin_session(const LaunchOptions& options, const nanobind::callable& site,
                   const std::optional<MpiPlace>& place);
/// Waits for all ranks and ends the program. Nothing happens without one. Collective.
/// \param exits the process ends: views of the rank's memory are not looked at
/// \throws Error if there are such views and they would dangle, and the program goes on
void end_session(bool exits);
/// Prints the text with the rank and ends the job; only prints where the process is the only rank without
/// MPI.
void fail_session(const std::string& text);

}  // namespace nearfetch::python

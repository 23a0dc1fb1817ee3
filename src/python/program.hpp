// SPDX-License-Identifier: Apache-2.0
#pragma once

// Runs a Python function in every rank: threads of this process, or processes of an MPI job.

#include <nanobind/nanobind.h>

#include <nearfetch/pgas.hpp>

#include "python/processes.hpp"

namespace nearfetch::python {

/// Runs main() in each rank. Called with the global lock, which is released meanwhile. An interrupt (Ctrl-C)
/// ends the ranks and is thrown. Ranks that sleep or compute outside of Python are not waited for, and end
/// later.
/// \param site returns the source location of the calling thread
/// \throws as launch_inproc; main() has to report its own exceptions
void launch_threads(const LaunchOptions& options, const nanobind::callable& main,
                    const nanobind::callable& site);

/// The same for this process as one rank of an MPI job. An exception of main() is printed by text(exception)
/// and ends the job. So does an interrupt that main() does not handle.
void launch_processes(const LaunchOptions& options, const nanobind::callable& main,
                      const nanobind::callable& site, const nanobind::callable& text, const MpiPlace& place);

/// A reference point in this module's code; functions are sent as offsets from it.
void code_anchor();
/// Source location of the calling thread's Python, by site(); empty on failure.
std::string place_of(const nanobind::callable& site);

}  // namespace nearfetch::python

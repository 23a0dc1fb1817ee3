// SPDX-License-Identifier: Apache-2.0
#pragma once

// Runs a Python function in every rank: threads of this process, or processes of an MPI job.

#include <nanobind/nanobind.h>

#include <nearfetch/pgas.hpp>
#include <string>

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
/// \param library built for the MPI family \param libmpi loaded before it
void launch_processes(const LaunchOptions& options, const nanobind::callable& main,
                      const nanobind::callable& site, const nanobind::callable& text,
                      const std::string& library, const std::string& libmpi);
/// Loads a library with global symbols, ahead of libraries that are loaded later. Its own dependencies may be
/// loaded later. \throws Error when it cannot be loaded
void load_globally(const std::string& library);
/// Finalises MPI if launch_processes() has initialised it.
void finish_processes();

}  // namespace nearfetch::python

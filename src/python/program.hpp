// SPDX-License-Identifier: Apache-2.0
#pragma once

// Runs a Python function in every rank: threads of this process, or processes of an MPI job.

#include <nanobind/nanobind.h>

#include <nearfetch/pgas.hpp>
#include <string>

namespace nearfetch::python {

/// Runs main() in each of the ranks. To be called with the global lock; it is given up meanwhile. An
/// interrupt (Ctrl-C) ends the ranks and is thrown; those that do not end soon, because they sleep or compute
/// where Python does not look, are left alone and end when they can.
/// \param site gives the place in the program at which the calling thread stands
/// \throws what makes launch_inproc fail; what main() throws it has to tell itself
void launch_threads(const LaunchOptions& options, const nanobind::callable& main,
                    const nanobind::callable& site);

/// The same in this process, one rank of an MPI job. What main() throws ends the job, and is printed with
/// text(exception). So does an interrupt that main() does not handle.
/// \param library built for the MPI family, \param libmpi loaded before it
void launch_processes(const LaunchOptions& options, const nanobind::callable& main,
                      const nanobind::callable& site, const nanobind::callable& text,
                      const std::string& library, const std::string& libmpi);
/// Loads a library whose functions libraries that are loaded later find before others of the same name.
/// What itself needs may come later. \throws Error when it cannot be loaded
void load_globally(const std::string& library);
/// Ends MPI if launch_processes() has started it.
void finish_processes();

}  // namespace nearfetch::python

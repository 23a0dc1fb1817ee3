// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace nearfetch {

/// Sees to it that the functions of the MPI library can be called. The loader looks for PMPI_X where it is
/// first called, among the libraries that all may use, and a name that it does not find is a jump to address
/// 0. A plug-in of a script (mpi4py) loads its libmpi for itself alone: that is given to all here.
///
/// Ends the program, with a sentence, where no library has these functions, or one of another MPI family.
/// To be called before MPI is.
void need_mpi_library() noexcept;

}  // namespace nearfetch

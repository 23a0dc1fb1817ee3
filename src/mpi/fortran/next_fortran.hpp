// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace nearfetch {

/// The Fortran entry point `name` of the MPI library. Ends the program where there is none, which cannot be
/// if the library itself has been loaded: a program has just called it.
void* next_fortran(const char* name) noexcept;

}  // namespace nearfetch

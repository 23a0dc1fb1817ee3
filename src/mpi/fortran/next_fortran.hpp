// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace nearfetch {

/// The MPI library's Fortran entry point `name`. Ends the program if no loaded library has it.
void* next_fortran(const char* name) noexcept;

}  // namespace nearfetch

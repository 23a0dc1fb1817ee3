// SPDX-License-Identifier: Apache-2.0
#pragma once

// Where in the program a call comes from.

#include <span>
#include <string>

namespace nearfetch {

/// Of the calling thread's stack: the addresses in the program that led into this library, innermost first.
/// \return as many as there are, and as fit
std::span<void*> callers(std::span<void*> room) noexcept;

/// The innermost of them that is not in the MPI library (whose Fortran layer may stand between), or null.
void* program_caller() noexcept;

/// `program(function+0x12)`, or `program(+0x1234)` where the name is not known, for addr2line.
std::string place_of(const void* address);

}  // namespace nearfetch

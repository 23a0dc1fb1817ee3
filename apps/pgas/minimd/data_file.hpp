// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "pgas/minimd/crystal.hpp"

namespace nearfetch::programs::minimd {

/// Writes the first state as LAMMPS's read_data reads it (atom style atomic), to compare the two programs.
/// \throws Error when the file cannot be written
void write_data(const Crystal& crystal, const std::string& path);

}  // namespace nearfetch::programs::minimd

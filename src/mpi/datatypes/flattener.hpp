// SPDX-License-Identifier: Apache-2.0
#pragma once

// How a datatype is flattened; datatype.hpp keeps the results.

#include <mpi.h>

#include <cstdint>

#include "mpi/datatypes/datatype.hpp"

namespace nearfetch {

/// False for handles that MPI would call an error, as far as their value shows it.
bool is_datatype(MPI_Datatype type) noexcept;

/// Predefined, with a name or without: such a type is never freed.
bool is_predefined(MPI_Datatype type) noexcept;

/// The layout of a valid datatype, not known if it has more than `run_limit` blocks. Costs time in
/// proportion to the arguments of its constructors and to its blocks, not to its elements.
/// \throws std::bad_alloc
Layout compute_layout(MPI_Datatype type, std::uint64_t run_limit);

/// Appends `count` copies of `pattern`, the first moved by `start`, each other `stride` after the one before;
/// neighbours that continue each other are merged. Costs no more than the blocks it makes.
/// \return false if there would be more than `limit` blocks, or an address would overflow
/// \throws std::bad_alloc
bool repeat(const std::vector<LayoutRun>& pattern, std::int64_t start, std::uint64_t count,
            std::int64_t stride, std::uint64_t limit, std::vector<LayoutRun>& out);

}  // namespace nearfetch

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

#include "base/types.hpp"

namespace nearfetch {

/// The ranks in the window of a group's members; none if the library says an error. \throws std::bad_alloc
inline std::vector<Rank> ranks_of(MPI_Win win, MPI_Group group) {
    MPI_Group all = MPI_GROUP_NULL;
    int size = 0;
    if (PMPI_Group_size(group, &size) != MPI_SUCCESS || PMPI_Win_get_group(win, &all) != MPI_SUCCESS)
        return {};
    std::vector<int> members(static_cast<std::size_t>(size)), ranks(members.size(), MPI_UNDEFINED);
    std::iota(members.begin(), members.end(), 0);
    PMPI_Group_translate_ranks(group, size, members.data(), all, ranks.data());
    PMPI_Group_free(&all);
    std::erase_if(ranks, [](int rank) { return rank < 0; });
    return ranks;
}

}  // namespace nearfetch

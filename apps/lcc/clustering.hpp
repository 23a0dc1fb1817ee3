// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "lcc/distributed_graph.hpp"

namespace nearfetch::lcc {

/// A rank's results and their cost.
struct LocalResult {
    std::vector<std::uint64_t>
        closed_pairs;  ///< of each processed vertex: ordered pairs of joined neighbours
    std::uint64_t remote_gets = 0;
    std::uint64_t remote_vertices = 0;  ///< distinct vertices among them
    std::uint64_t remote_bytes = 0;
    std::uint64_t first_get_bytes = 0;  ///< of the first get of each distinct vertex
    double communication_seconds = 0;   ///< in MPI_Get and the calls that complete it
    double first_get_seconds = 0;       ///< of these, for the first get of each distinct vertex
    double ideal_cache_seconds = 0;     ///< what the best cache would leave of these, where that is known
};

/// Counts the closed pairs of this rank's first `count` vertices.
///
/// For each neighbour u of a vertex the adjacency list of u is read and intersected with the vertex's own
/// (paper 001, section IV-C). A remote list is read by MPI_Get and MPI_Win_flush under MPI_Win_lock_all. As
/// in the paper each list is read each time it is needed, also for a vertex of degree 1. With `lock_each`
/// every MPI_Get has its own MPI_Win_lock and MPI_Win_unlock.
LocalResult count_closed_pairs(const DistributedGraph& graph, std::uint64_t count, bool lock_each,
                               bool progress);

}  // namespace nearfetch::lcc

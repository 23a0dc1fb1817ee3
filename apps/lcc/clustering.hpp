// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "lcc/distributed_graph.hpp"

namespace nearfetch::lcc {

/// What one rank found and what it cost.
struct LocalResult {
    std::vector<std::uint64_t>
        closed_pairs;  ///< of each processed vertex: ordered pairs of joined neighbours
    std::uint64_t remote_gets = 0;
    std::uint64_t remote_vertices = 0;  ///< different vertices among them
    std::uint64_t remote_bytes = 0;
    double communication_seconds = 0;  ///< inside MPI_Get and the calls that complete it
};

/// Counts the closed pairs of the first `count` vertices of this rank.
///
/// For each of their neighbours u the adjacency list of u is read, when another rank owns it by MPI_Get and
/// MPI_Win_flush under MPI_Win_lock_all, and intersected with the vertex's own (paper 001, section IV-C). As
/// there, every neighbour's list is read anew each time it is needed, and also for a vertex of degree 1.
/// With `lock_each` every MPI_Get has an MPI_Win_lock and an MPI_Win_unlock of its own instead.
LocalResult count_closed_pairs(const DistributedGraph& graph, std::uint64_t count, bool lock_each,
                               bool progress);

}  // namespace nearfetch::lcc

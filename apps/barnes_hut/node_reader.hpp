// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <unordered_set>
#include <vector>

#include "barnes_hut/octree.hpp"
#include "barnes_hut/options.hpp"
#include "common/ideal_cache.hpp"
#include "common/mpi_window.hpp"
#include "common/stopwatch.hpp"

namespace nearfetch::barnes_hut {

/// The cost of reading remote nodes.
struct ReadCounts {
    std::uint64_t remote_reads = 0;  ///< remote nodes that the walk asked for
    std::uint64_t remote_gets = 0;
    std::uint64_t remote_bytes = 0;
    std::uint64_t block_hits = 0;    ///< blocks found in the built-in cache
    std::uint64_t block_misses = 0;  ///< blocks fetched into it
    std::uint64_t first_gets = 0;  ///< of nodes that were not got before in the phase; if they are told apart
};

/// Reads nodes by reference: own ones in place, remote ones by MPI_Get and MPI_Win_flush, one node at a time.
///
/// With the built-in cache, whole blocks of remote windows are fetched into a direct-mapped table. This is
/// the "native" competitor of paper 001, section IV-B: a program that optimises its gets itself.
class NodeReader {
  public:
    /// With `tell_first_gets`, which costs time of its own, the gets of a node are counted and timed apart
    /// from the repeated ones.
    NodeReader(int rank, const CacheOptions& cache, bool tell_first_gets);

    /// Reads from `window` from now on; each rank has `window_bytes` in it. Invalidates the cache.
    void begin_phase(const apps::Window& window, std::uint64_t window_bytes);

    const Node& read(Ref ref) {
        if (ref.rank == rank_) return own_[ref.index];
        ++counts_.remote_reads;
        if (cache_.enabled) {
            read_through_cache(ref);
        } else {
            get_node(ref);
        }
        return remote_;
    }

    const ReadCounts& counts() const { return counts_; }
    double communication_seconds() const { return watch_.seconds(); }
    /// Of these, for nodes that had been got before in the phase; 0 if they are not told apart.
    double repeated_seconds() const { return repeated_seconds_; }
    /// What the best cache would save; 0 if first gets are not told apart.
    double ideal_saved_seconds() const { return ideal_.saved_seconds(); }

    /// Window bytes for `nodes` nodes: whole blocks, so that the last block can be fetched like the others.
    std::uint64_t window_bytes(std::uint64_t nodes) const;

  private:
    void get(void* buffer, std::size_t bytes, int target, std::uint64_t offset_bytes);
    void get_node(Ref ref);
    void read_through_cache(Ref ref);
    const std::byte* block(int target, std::uint64_t number);

    int rank_;
    CacheOptions cache_;
    bool tell_first_gets_;
    MPI_Win window_ = MPI_WIN_NULL;
    const Node* own_ = nullptr;
    Node remote_;
    std::uint64_t blocks_per_rank_ = 0;
    std::vector<std::byte> slots_;
    std::vector<std::uint64_t> tags_;         ///< block in each slot plus 1; 0: none
    std::unordered_set<std::uint64_t> seen_;  ///< nodes got in this phase, where first gets are told apart
    ReadCounts counts_;
    double repeated_seconds_ = 0;
    apps::IdealCache ideal_;
    apps::Stopwatch watch_;
};

}  // namespace nearfetch::barnes_hut

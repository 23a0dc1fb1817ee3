// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "barnes_hut/node_reader.hpp"
#include "barnes_hut/octree.hpp"
#include "common/mpi_session.hpp"
#include "common/mpi_window.hpp"

namespace nearfetch::barnes_hut {

/// The bodies and the tree over them, distributed over the ranks. octree.hpp describes the distribution.
class DistributedTree {
  public:
    DistributedTree(const apps::MpiSession& mpi, const apps::WindowOptions& window, const CacheOptions& cache,
                    bool tell_first_gets);
    ~DistributedTree();
    DistributedTree(const DistributedTree&) = delete;
    DistributedTree& operator=(const DistributedTree&) = delete;

    /// Sends each body to the rank of its region, and builds the tree in the windows. Collective; no rank may
    /// still read the previous tree. @throws apps::UsageError on every rank when a body has left the range of
    /// doubles
    void rebuild(std::vector<Body>& bodies);

    const RootCube& cube() const { return cube_; }
    Ref root() const { return root_; }
    const apps::Window& window() const { return *window_; }
    NodeReader& reader() { return reader_; }
    std::uint64_t nodes() const { return nodes_.size(); }

    /// All bodies of all ranks, on every rank.
    std::vector<Body> gather_bodies(const std::vector<Body>& bodies) const;

  private:
    void find_cube(const std::vector<Body>& bodies);
    std::vector<std::uint64_t> count_regions(const std::vector<Body>& bodies) const;
    void exchange(std::vector<Body>& bodies, const std::vector<int>& owners) const;
    std::vector<Region> gather_regions(const std::vector<Region>& regions) const;
    void publish();

    const apps::MpiSession& mpi_;
    apps::WindowOptions window_options_;
    NodeReader reader_;
    MPI_Datatype body_type_ = MPI_DATATYPE_NULL;
    MPI_Datatype region_type_ = MPI_DATATYPE_NULL;
    RootCube cube_{};
    Ref root_;
    std::vector<Node> nodes_;
    std::unique_ptr<apps::Window> window_;
    std::uint64_t window_nodes_ = 0;  ///< capacity of each rank's part of the window
};

}  // namespace nearfetch::barnes_hut

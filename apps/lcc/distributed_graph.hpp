// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "common/mpi_session.hpp"
#include "common/mpi_window.hpp"
#include "graph/csr.hpp"

namespace nearfetch::lcc {

/// A graph with one-dimensional distribution (paper 001, section IV-C).
///
/// Vertices are in contiguous blocks of equal size (the last ones may be shorter). A rank holds the adjacency
/// lists of its vertices, 4 bytes per neighbour, in a window. Every rank also knows where each list begins, 8
/// bytes per vertex of the whole graph. So a list is read by one get, without a get for its position.
class DistributedGraph {
  public:
    /// Distributes rank 0's `whole`; other ranks pass an empty graph. Collective.
    DistributedGraph(const apps::MpiSession& mpi, graph::Csr whole, const apps::WindowOptions& window);

    std::uint64_t vertices() const { return offsets_.size() - 1; }
    std::uint64_t edges() const { return offsets_.back() / 2; }
    std::uint64_t first_vertex(int rank) const;
    std::uint64_t first_local() const { return first_vertex(rank_); }
    std::uint64_t local_vertices() const { return first_vertex(rank_ + 1) - first_vertex(rank_); }
    int owner(graph::Vertex v) const { return static_cast<int>(v / block_); }
    bool is_local(graph::Vertex v) const { return owner(v) == rank_; }
    std::uint64_t degree(std::uint64_t v) const { return offsets_[v + 1] - offsets_[v]; }
    std::uint64_t largest_degree() const;

    /// Adjacency list of a vertex of this rank.
    std::span<const graph::Vertex> local_neighbours(std::uint64_t v) const;

    /// Start of a remote list in its window, in ids.
    MPI_Aint displacement(graph::Vertex v) const;

    MPI_Win window() const { return window_->handle(); }

  private:
    void deal_out(const graph::Csr& whole);

    int rank_;
    int ranks_;
    std::uint64_t block_ = 1;
    std::vector<std::uint64_t> own_offsets_;
    std::span<const std::uint64_t> offsets_;
    std::unique_ptr<apps::Window> window_;  ///< goes first: no rank reads the offsets once all have freed it
};

}  // namespace nearfetch::lcc

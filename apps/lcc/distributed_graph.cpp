// SPDX-License-Identifier: Apache-2.0
#include "lcc/distributed_graph.hpp"

#include <algorithm>
#include <utility>

#include "common/mpi_support.hpp"

namespace nearfetch::lcc {

using graph::Vertex;

DistributedGraph::DistributedGraph(const apps::MpiSession& mpi, graph::Csr whole,
                                   const apps::WindowOptions& window)
    : rank_(mpi.rank()),
      ranks_(mpi.ranks()),
      own_offsets_(std::move(whole.offsets)),
      offsets_(apps::replicate(own_offsets_)) {
    const auto ranks = static_cast<std::uint64_t>(ranks_);
    block_ = std::max<std::uint64_t>((vertices() + ranks - 1) / ranks, 1);
    const std::uint64_t local_entries = offsets_[first_vertex(rank_ + 1)] - offsets_[first_vertex(rank_)];
    window_ = std::make_unique<apps::Window>(local_entries * sizeof(Vertex), static_cast<int>(sizeof(Vertex)),
                                             window);
    deal_out(whole);
    MPI_Barrier(MPI_COMM_WORLD);
}

void DistributedGraph::deal_out(const graph::Csr& whole) {
    const auto begin = [this](int rank) { return offsets_[first_vertex(rank)]; };
    const std::uint64_t bytes = (begin(rank_ + 1) - begin(rank_)) * sizeof(Vertex);
    if (rank_ == 0) {
        window_->fill(rank_, 0, whole.targets.data(), bytes);
        for (int rank = 1; rank < ranks_; ++rank) {
            apps::send_bytes(whole.targets.data() + begin(rank),
                             (begin(rank + 1) - begin(rank)) * sizeof(Vertex), rank);
        }
        return;
    }
    std::vector<Vertex> part(bytes / sizeof(Vertex));
    apps::receive_bytes(part.data(), bytes, 0);
    window_->fill(rank_, 0, part.data(), bytes);
}

std::uint64_t DistributedGraph::first_vertex(int rank) const {
    return std::min(static_cast<std::uint64_t>(rank) * block_, vertices());
}

std::uint64_t DistributedGraph::largest_degree() const {
    std::uint64_t largest = 0;
    for (std::uint64_t v = 0; v < vertices(); ++v)
        largest = std::max(largest, degree(v));
    return largest;
}

std::span<const Vertex> DistributedGraph::local_neighbours(std::uint64_t v) const {
    const auto* lists = static_cast<const Vertex*>(window_->memory());
    return {lists + (offsets_[v] - offsets_[first_local()]), static_cast<std::size_t>(degree(v))};
}

MPI_Aint DistributedGraph::displacement(Vertex v) const {
    return static_cast<MPI_Aint>(offsets_[v] - offsets_[first_vertex(owner(v))]);
}

}  // namespace nearfetch::lcc

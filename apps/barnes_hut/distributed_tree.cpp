// SPDX-License-Identifier: Apache-2.0
#include "barnes_hut/distributed_tree.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace nearfetch::barnes_hut {

namespace {

MPI_Datatype bytes_type(std::size_t bytes) {
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Type_contiguous(static_cast<int>(bytes), MPI_BYTE, &type);
    MPI_Type_commit(&type);
    return type;
}

std::vector<int> starts_of(const std::vector<int>& counts) {
    std::vector<int> starts(counts.size());
    std::exclusive_scan(counts.begin(), counts.end(), starts.begin(), 0);
    return starts;
}

/// The items of all ranks, in rank order, on every rank.
template <typename Item>
std::vector<Item> gather_everywhere(const std::vector<Item>& items, MPI_Datatype type, int ranks) {
    std::vector<int> counts(static_cast<std::size_t>(ranks));
    const auto own = static_cast<int>(items.size());
    MPI_Allgather(&own, 1, MPI_INT, counts.data(), 1, MPI_INT, MPI_COMM_WORLD);
    const std::vector<int> starts = starts_of(counts);
    std::vector<Item> all(static_cast<std::size_t>(starts.back() + counts.back()));
    MPI_Allgatherv(items.data(), own, type, all.data(), counts.data(), starts.data(), type, MPI_COMM_WORLD);
    return all;
}

}  // namespace

DistributedTree::DistributedTree(const apps::MpiSession& mpi, const apps::WindowOptions& window,
                                 const CacheOptions& cache, bool tell_first_gets)
    : mpi_(mpi),
      window_options_(window),
      reader_(mpi.rank(), cache, tell_first_gets),
      body_type_(bytes_type(sizeof(Body))),
      region_type_(bytes_type(sizeof(Region))) {}

DistributedTree::~DistributedTree() {
    MPI_Type_free(&body_type_);
    MPI_Type_free(&region_type_);
}

void DistributedTree::find_cube(const std::vector<Body>& bodies) {
    // Lower bounds and negated upper bounds, so that one minimum serves both.
    std::array<double, 6> box;
    box.fill(std::numeric_limits<double>::infinity());
    int finite = 1;
    for (const Body& body : bodies) {
        for (std::size_t k = 0; k < 3; ++k) {
            if (!(std::abs(body.position[k]) < 1e100)) finite = 0;
            box[k] = std::min(box[k], body.position[k]);
            box[k + 3] = std::min(box[k + 3], -body.position[k]);
        }
    }
    MPI_Allreduce(MPI_IN_PLACE, &finite, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (finite == 0) {
        throw apps::UsageError(
            "a body has flown off to infinity (the time step is too long for such close encounters): "
            "make --dt smaller or --softening larger");
    }
    MPI_Allreduce(MPI_IN_PLACE, box.data(), 6, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD);
    cube_ = RootCube::around({box[0], box[1], box[2]}, {-box[3], -box[4], -box[5]});
}

std::vector<std::uint64_t> DistributedTree::count_regions(const std::vector<Body>& bodies) const {
    std::vector<std::uint64_t> counts(kRegions, 0);
    for (const Body& body : bodies)
        ++counts[region_of(body.key)];
    MPI_Allreduce(MPI_IN_PLACE, counts.data(), static_cast<int>(kRegions), MPI_UINT64_T, MPI_SUM,
                  MPI_COMM_WORLD);
    return counts;
}

void DistributedTree::exchange(std::vector<Body>& bodies, const std::vector<int>& owners) const {
    const auto by_place = [](const Body& a, const Body& b) {
        return a.key != b.key ? a.key < b.key : a.id < b.id;
    };
    // In curve order the bodies for each rank are consecutive.
    std::sort(bodies.begin(), bodies.end(), by_place);
    const auto ranks = static_cast<std::size_t>(mpi_.ranks());
    std::vector<int> sent(ranks, 0);
    for (const Body& body : bodies)
        ++sent[static_cast<std::size_t>(owners[region_of(body.key)])];
    std::vector<int> received(ranks);
    MPI_Alltoall(sent.data(), 1, MPI_INT, received.data(), 1, MPI_INT, MPI_COMM_WORLD);
    const std::vector<int> sent_starts = starts_of(sent);
    const std::vector<int> received_starts = starts_of(received);
    std::vector<Body> arrived(static_cast<std::size_t>(received_starts.back() + received.back()));
    MPI_Alltoallv(bodies.data(), sent.data(), sent_starts.data(), body_type_, arrived.data(), received.data(),
                  received_starts.data(), body_type_, MPI_COMM_WORLD);
    std::sort(arrived.begin(), arrived.end(), by_place);
    bodies = std::move(arrived);
}

std::vector<Region> DistributedTree::gather_regions(const std::vector<Region>& regions) const {
    return gather_everywhere(regions, region_type_, mpi_.ranks());
}

std::vector<Body> DistributedTree::gather_bodies(const std::vector<Body>& bodies) const {
    return gather_everywhere(bodies, body_type_, mpi_.ranks());
}

void DistributedTree::publish() {
    std::uint64_t needed = nodes_.size();
    MPI_Allreduce(MPI_IN_PLACE, &needed, 1, MPI_UINT64_T, MPI_MAX, MPI_COMM_WORLD);
    if (needed > window_nodes_) {
        // Spare room, so that the window, and its cache, live for many steps.
        window_nodes_ = needed + needed / 2;
        window_.reset();
        const std::uint64_t bytes = reader_.window_bytes(window_nodes_);
        window_ = std::make_unique<apps::Window>(bytes, 1, window_options_);
        window_->clear(mpi_.rank(), bytes);
    }
    window_->fill(mpi_.rank(), 0, nodes_.data(), nodes_.size() * sizeof(Node));
    reader_.begin_phase(*window_, reader_.window_bytes(window_nodes_));
    MPI_Barrier(MPI_COMM_WORLD);
}

void DistributedTree::rebuild(std::vector<Body>& bodies) {
    find_cube(bodies);
    for (Body& body : bodies)
        body.key = cube_.key(body.position);
    const std::vector<std::uint64_t> counts = count_regions(bodies);
    const std::vector<int> owners = assign_regions(counts, mpi_.ranks());
    exchange(bodies, owners);
    const TopTree top(counts, owners);
    nodes_.assign(top.cells_of(mpi_.rank()), Node{});
    const std::vector<Region> regions = gather_regions(build_regions(bodies, mpi_.rank(), nodes_));
    root_ = top.build(regions, mpi_.rank(), nodes_).root;
    publish();
}

}  // namespace nearfetch::barnes_hut
